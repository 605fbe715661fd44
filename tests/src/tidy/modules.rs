//! The modules of licd and licctl, and which of them names which: in `use` lines, and by paths that
//! begin with `crate::` or `super::` elsewhere. Tests are left out, as they may look at anything.

use std::collections::{BTreeMap, BTreeSet};

use super::{Source, sources};

/// A module's path: `auth::gate`. The library itself is the empty path, and what only the
/// program has begins with `bin`.
type Module = String;

/// The sources of licd and of licctl.
pub const LICD: &str = "server/src";
pub const LICCTL: &str = "cli/src";

/// One module names another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    pub from: Module,
    pub to: Module,
}

/// A `use` with all of its parts: the path, and the name it has from then on.
struct Import {
    path: Vec<String>,
    name: String,
    is_public: bool,
}

pub struct Modules {
    all: BTreeSet<Module>,
    /// Items of other modules that a module exports under a name of its own.
    exports: BTreeMap<(Module, String), Vec<String>>,
}

/// Returns the uses between modules in the sources of this folder, server/src or cli/src.
pub fn uses(folder: &str) -> BTreeSet<Use> {
    let files = sources();
    let files = files.iter().filter_map(|source| module(source, folder));
    let files: Vec<(Module, String)> = files.collect();
    let all: BTreeSet<Module> = files.iter().map(|(module, _)| module.clone()).collect();
    let mut modules = Modules { all, exports: BTreeMap::new() };
    let mut imports = Vec::new();
    for (from, code) in &files {
        let (found, rest) = imports_of(code);
        for import in found {
            if import.is_public {
                modules.exports.insert((from.clone(), import.name), import.path.clone());
            }
            imports.push((from, import.path));
        }
        imports.extend(paths_in(&rest).into_iter().map(|path| (from, path)));
    }
    let named = imports.iter().filter_map(|(from, path)| {
        let to = modules.find(from, path)?;
        (to != **from).then(|| Use { from: (*from).clone(), to })
    });
    let uses: BTreeSet<Use> = named.collect();
    assert!(uses.len() > 200, "the rules must look at something");
    uses
}

/// A file of the folder as a module and its code without tests and comments.
fn module(source: &Source, folder: &str) -> Option<(Module, String)> {
    let path = source.path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    if path.split('/').any(|name| name == "tests") {
        return None;
    }
    let module = match path.replace('/', "::").as_str() {
        "lib" => String::new(),
        "main" => "bin".to_owned(),
        program if folder == LICD && ["commands", "log"].contains(&room(program)) => {
            format!("bin::{program}")
        }
        library => library.to_owned(),
    };
    let code: Vec<&str> = source.code().map(|(_, line)| line).collect();
    let code = code.join("\n");
    let code = code.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    Some((module, code.to_owned()))
}

/// The outermost module that this one is in.
pub fn room(module: &str) -> &str {
    module.split("::").next().unwrap_or_default()
}

/// The module that one is in; none for the library.
pub fn parent(module: &str) -> Option<&str> {
    match module.rsplit_once("::") {
        Some((parent, _)) => Some(parent),
        None => (!module.is_empty()).then_some(""),
    }
}

fn join(module: &str, name: &str) -> Module {
    if module.is_empty() { name.to_owned() } else { format!("{module}::{name}") }
}

/// Whether the line begins a `use`, and whether others may use what it names.
fn is_import(line: &str) -> Option<bool> {
    let line = line.trim_start();
    match line.strip_prefix("pub") {
        Some(rest) => rest
            .trim_start_matches("(crate)")
            .trim_start_matches("(super)")
            .starts_with(" use ")
            .then_some(true),
        None => line.starts_with("use ").then_some(false),
    }
}

/// The imports of a file, and its other code.
fn imports_of(code: &str) -> (Vec<Import>, String) {
    let (mut imports, mut rest, mut open) = (Vec::new(), String::new(), None::<(bool, String)>);
    for line in code.lines() {
        if let (None, Some(is_public)) = (&open, is_import(line)) {
            open = Some((is_public, String::new()));
        }
        let Some((is_public, text)) = &mut open else {
            rest += line;
            rest.push('\n');
            continue;
        };
        *text += line.trim();
        if line.ends_with(';') {
            let tree = text.split_once("use ").map_or("", |(_, tree)| tree.trim_end_matches(';'));
            spread(&mut Vec::new(), tree, *is_public, &mut imports);
            open = None;
        }
    }
    (imports, rest)
}

/// Takes `a::{b, c::{d, e as f}}` apart.
fn spread(before: &mut Vec<String>, tree: &str, is_public: bool, imports: &mut Vec<Import>) {
    let length = before.len();
    let (path, branches) = match tree.split_once('{') {
        Some((path, branches)) => (path, branches.strip_suffix('}')),
        None => (tree, None),
    };
    let (path, alias) = path.split_once(" as ").map_or((path, None), |(path, to)| (path, Some(to)));
    let segments = path.split("::").filter(|segment| !segment.is_empty() && *segment != "self");
    before.extend(segments.map(|segment| segment.trim().to_owned()));
    match branches {
        Some(branches) => {
            for branch in split(branches) {
                spread(before, branch, is_public, imports);
            }
        }
        None => {
            let name = alias.or(before.last().map(String::as_str)).unwrap_or_default().to_owned();
            imports.push(Import { path: before.clone(), name, is_public });
        }
    }
    before.truncate(length);
}

/// At the commas that are in no braces of their own.
fn split(branches: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, character) in branches.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(branches[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(branches[start..].trim());
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

/// The paths in code that say from where they lead.
fn paths_in(code: &str) -> Vec<Vec<String>> {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    let words = code.split(|character: char| !is_name(character) && character != ':');
    let roots = ["crate::", "super::", "licd::"];
    let paths = words.filter(|word| roots.iter().any(|root| word.starts_with(root)));
    paths.map(|path| path.split("::").map(str::to_owned).collect()).collect()
}

impl Modules {
    /// The module in which a path ends that is written in `from`; none for another crate's.
    fn find(&self, from: &str, path: &[String]) -> Option<Module> {
        let (first, mut rest) = path.split_first()?;
        let mut module = match first.as_str() {
            "crate" if room(from) == "bin" => "bin".to_owned(),
            "crate" | "licd" => String::new(),
            "super" => parent(from)?.to_owned(),
            child => Some(join(from, child)).filter(|child| self.all.contains(child))?,
        };
        while let Some((name, further)) = rest.split_first() {
            let inner = join(&module, name);
            if name == "super" {
                module = parent(&module)?.to_owned();
            } else if self.all.contains(&inner) {
                module = inner;
            } else if let Some(path) = self.exports.get(&(module.clone(), name.clone())) {
                // An item that a module exports under its own name belongs to the module.
                return self.find(&module, path).or(Some(module));
            } else {
                break;
            }
            rest = further;
        }
        Some(module)
    }
}

#[test]
fn imports_are_taken_apart() {
    let code =
        "pub use a::{b, c::{self, d as e}};\nuse crate::{\n    f,\n};\nlet x = super::g::h();";
    let (imports, rest) = imports_of(code);
    let imports: Vec<String> = imports
        .iter()
        .map(|import| format!("{} {} {}", import.path.join("::"), import.name, import.is_public))
        .collect();
    assert_eq!(imports, ["a::b b true", "a::c c true", "a::c::d e true", "crate::f f false"]);
    assert_eq!(paths_in(&rest), [["super", "g", "h"]]);
}
