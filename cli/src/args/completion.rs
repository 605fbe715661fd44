//! Completion of command lines: commands and flags from their definitions, ids and names from the
//! cache. It sends no request.

use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use common::ApiKey;

use crate::context::Endpoint;
use crate::error::{Error, Exit, Result};
use crate::noun::{self, CachedName};
use crate::output::{Column, normalized};
use crate::profile::{Config, Folder};
use crate::terminal::{Env, env};

/// The shells that have a completion script.
pub const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// Kind of value to complete, from the modules above, which use this one.
#[derive(Clone, Copy)]
pub struct Definitions {
    pub grammar: fn() -> Command,
    /// The topics of the help, each with what it is about.
    pub topics: fn() -> Vec<(&'static str, &'static str)>,
    /// The columns of the table that a command line prints.
    pub columns: fn(&[String]) -> Vec<Column>,
}

/// Set by [`respond`], on behalf of which completers are called.
static DEFINITIONS: OnceLock<Definitions> = OnceLock::new();

/// A shell sets this variable when it requests completions.
const COMPLETE_VARIABLE: &str = "LICCTL_COMPLETE";

/// The name of a file that zsh loads is the function that it calls, also for the first completion.
const ZSH_FIRST_CALL: &str = r#"if [[ "${funcstack[1]}" == _licctl ]]; then
    _clap_dynamic_completer_licctl "$@"
else
    compdef _clap_dynamic_completer_licctl licctl
fi"#;

/// The argument with what completes it, which follows from its name.
pub fn completed(arg: Arg) -> Arg {
    let completer = match arg.get_id().as_str() {
        "product" => of("product"),
        "plan" => of("plan"),
        "license" | "licenses" => of("license"),
        "user" | "users" | "assign" | "external_id" => of("user"),
        "key" => of("key"),
        "profile" => profiles(),
        "columns" => columns(),
        "command" => commands("man"),
        "words" => commands("help"),
        _ => return arg,
    };
    arg.add(completer)
}

fn profiles() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let config = Folder::locate(&Env::of_this_process()).and_then(|it| Config::load(&it));
        let profiles = config.map(|config| config.profiles).unwrap_or_default().into_iter();
        fitting(profiles.map(|(name, profile)| (name, profile.server.to_string())), typed)
    })
}

/// Completes the words of a command, and after `help` also its topics. `verb` is the word before.
fn commands(verb: &'static str) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let Some(definitions) = DEFINITIONS.get() else { return Vec::new() };
        let line: Vec<String> =
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let begin = line.iter().rposition(|word| word == verb).map_or(line.len(), |at| at + 1);
        let words = &line[begin.min(line.len())..line.len().saturating_sub(1).max(begin)];
        let mut command = (definitions.grammar)();
        for word in words.iter().filter(|word| !word.starts_with('-')) {
            match command.find_subcommand(word) {
                Some(below) => command = below.clone(),
                None => return Vec::new(),
            }
        }
        let about = |it: &Command| it.get_about().map(ToString::to_string).unwrap_or_default();
        let below = command.get_subcommands().map(|it| (it.get_name().to_owned(), about(it)));
        let topics = (definitions.topics)().into_iter();
        let topics = topics.filter(|_| verb == "help" && words.is_empty());
        let topics = topics.map(|(name, about)| (name.to_owned(), about.to_owned()));
        fitting(below.chain(topics), typed)
    })
}

/// Completes the last of several names of columns, of the command on the line.
fn columns() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let Some(definitions) = DEFINITIONS.get() else { return Vec::new() };
        let typed = typed.to_string_lossy();
        let (before, last) = match typed.rfind(',') {
            Some(comma) => typed.split_at(comma + 1),
            None => ("", &*typed),
        };
        let line: Vec<String> =
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let titles =
            (definitions.columns)(&line).into_iter().map(|column| normalized(column.title));
        let fitting = titles.filter(|title| title.starts_with(&normalized(last)));
        fitting.map(|title| CompletionCandidate::new(format!("{before}{title}"))).collect()
    })
}

/// Completes the records of this noun that a list has cached.
fn of(noun: &'static str) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let env = Env::of_this_process();
        let quotes = env.get(COMPLETE_VARIABLE).is_some_and(quotes);
        let line: Vec<String> =
            std::env::args_os().map(|word| unquoted(&word.to_string_lossy())).collect();
        let mut known = known(&env, &line, noun).unwrap_or_default();
        // Activating an active license changes nothing, nor does revoking a revoked key.
        for (of, verb, state) in [("license", "activate", "active"), ("key", "revoke", "revoked")] {
            if noun == of && line.iter().any(|word| word == verb) {
                known.retain(|entry| !entry.about.ends_with(state));
            }
        }
        let by_id = noun == "license" && typed.to_string_lossy().starts_with("lic_");
        let words = known.iter().map(|entry| match by_id {
            true => by_its_id(entry),
            false => word(entry, &known, quotes),
        });
        fitting(words.filter(|(word, _)| quotes || is_plain(word)), typed)
    })
}

/// Candidates that begin with what is typed, from words and their descriptions.
fn fitting(
    words: impl Iterator<Item = (String, String)>,
    typed: &OsStr,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let candidate = |(word, about): (String, String)| {
        let about = Some(about).filter(|about| !about.is_empty());
        CompletionCandidate::new(word).help(about.map(Into::into))
    };
    words.filter(|(word, _)| word.starts_with(&*typed)).map(candidate).collect()
}

/// Returns the word that completes a record, and its description: the name, unless two records
/// share it or the shell would break it at a blank.
fn word(entry: &CachedName, all: &[CachedName], quotes: bool) -> (String, String) {
    let CachedName { id, name, about } = entry;
    let is_unique = all.iter().filter(|other| other.name == *name).count() == 1;
    if !name.is_empty() && is_unique && (quotes || is_plain(name)) {
        return (name.clone(), described(id, about));
    }
    // Plans that share a name are qualified with their products.
    let full = |it: &CachedName| format!("{}/{}", it.about, it.name);
    let is_plan = !name.is_empty() && id.starts_with("pln_") && !entry.about.is_empty();
    if is_plan && quotes && all.iter().filter(|other| full(other) == full(entry)).count() == 1 {
        (full(entry), id.clone())
    } else {
        by_its_id(entry)
    }
}

/// The id of a record, described by its name.
fn by_its_id(entry: &CachedName) -> (String, String) {
    (entry.id.clone(), described(&entry.name, &entry.about))
}

fn described(first: &str, about: &str) -> String {
    let parts = [first, about].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" · ")
}

/// Whether every shell takes this as one word.
fn is_plain(word: &str) -> bool {
    word.chars().all(|letter| letter.is_alphanumeric() || "-_.@+".contains(letter))
}

/// The cached records of the server and key that the command line would use.
fn known(env: &Env, line: &[String], noun: &str) -> Option<Vec<CachedName>> {
    let typed = flag(line, "-P", "--profile");
    let endpoint = Endpoint::locate(env, typed, flag(line, "", "--server")).ok()?;
    let keeps_key = endpoint.profile.as_ref().is_some_and(|(_, profile)| profile.key.is_some());
    let given = env.get(env::API_KEY).filter(|_| !(typed.is_some() && keeps_key));
    let owner = match given {
        Some(key) => key.trim().parse::<ApiKey>().ok()?.prefix().to_owned(),
        None => endpoint.profile?.0,
    };
    Some(noun::load(Folder::locate(env).ok()?, &endpoint.server, &owner, noun))
}

/// The value of a flag on an unfinished command line.
fn flag<'a>(line: &'a [String], short: &str, long: &str) -> Option<&'a str> {
    let at = line.iter().rposition(|word| {
        word == long || word == short && !short.is_empty() || is_joined(word, short, long).is_some()
    })?;
    is_joined(&line[at], short, long).or_else(|| line.get(at + 1).map(String::as_str))
}

/// The value in `-Pname` or `--profile=name`.
fn is_joined<'a>(word: &'a str, short: &str, long: &str) -> Option<&'a str> {
    let after_long = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
    let after_short = word.strip_prefix(short).filter(|_| !short.is_empty());
    after_long.or(after_short.filter(|rest| !rest.is_empty()))
}

/// Whether the shell, or its script, quotes what it completes.
fn quotes(shell: &str) -> bool {
    matches!(shell, "bash" | "fish" | "zsh")
}

/// A word without the quotes and backslashes with which it is being typed.
fn unquoted(word: &str) -> String {
    let word = word.strip_prefix(['"', '\'']).unwrap_or(word);
    word.replace('\\', "")
}

/// The script that registers the completion with a shell.
pub fn script(shell: &str) -> Result<String> {
    if shell == "bash" {
        return Ok(include_str!("completion.bash").to_owned());
    }
    let shells = Shells::builtins();
    let known = shells
        .completer(shell)
        .ok_or_else(|| Error::usage(format!("No completions for {shell}.")))?;
    let mut script = Vec::new();
    known
        .write_registration(COMPLETE_VARIABLE, "licctl", "licctl", "licctl", &mut script)
        .map_err(|error| failed(&error))?;
    let script = String::from_utf8(script).map_err(|error| failed(&error.utf8_error()))?;
    Ok(script.replace("compdef _clap_dynamic_completer_licctl licctl", ZSH_FIRST_CALL))
}

/// The completions that a shell requests; none when no shell does.
pub fn respond(env: &Env, args: &[OsString], definitions: Definitions) -> Option<Result<String>> {
    let shells = Shells::builtins();
    let name = env.get(COMPLETE_VARIABLE)?;
    let shell = shells.completer(name)?;
    let Definitions { grammar, .. } = *DEFINITIONS.get_or_init(|| definitions);
    let words = args.iter().skip_while(|word| *word != "--").skip(1);
    let words = words.map(|word| match word.to_str() {
        Some(word) if quotes(name) => unquoted(word).into(),
        _ => word.clone(),
    });
    let words: Vec<OsString> = words.collect();
    let is_flag = words.last().is_some_and(|word| word.to_string_lossy().starts_with('-'));
    let mut lines = Vec::new();
    let folder = std::env::current_dir().ok();
    let written =
        shell.write_complete(&mut in_plural(grammar()), words, folder.as_deref(), &mut lines);
    Some(written.map_err(|error| failed(&error)).map(|()| {
        let lines = String::from_utf8_lossy(&lines);
        if is_flag { lines.into_owned() } else { without_flags(&lines) }
    }))
}

/// The grammar with each noun as the help shows it: its other forms are understood, not offered.
fn in_plural(command: Command) -> Command {
    command.mut_subcommands(|command| {
        let aliases: Vec<&'static str> =
            command.get_visible_aliases().map(|alias| &*alias.to_owned().leak()).collect();
        in_plural(command.visible_alias(None).aliases(aliases))
    })
}

/// Removes flags from the offered words, of which there are many, unless nothing else is offered.
fn without_flags(offered: &str) -> String {
    // Bash's script has words with blanks and line ends apart by this.
    let mark = if offered.contains('\u{b}') { '\u{b}' } else { '\n' };
    let (flags, others): (Vec<&str>, Vec<&str>) =
        offered.split(mark).partition(|word| word.starts_with('-'));
    let is_empty = others.iter().all(|word| word.trim().is_empty());
    if is_empty && !flags.is_empty() { offered.to_owned() } else { others.join(&mark.to_string()) }
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::new(Exit::Internal, "completion", error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn flags_are_read_from_an_unfinished_line() {
        let profile = |words: &[&str]| flag(&line(words), "-P", "--profile").map(str::to_owned);
        for words in [
            &["-P", "live", "plans"][..],
            &["plans", "-Plive"],
            &["--profile=live"],
            &["--profile", "live"],
        ] {
            assert_eq!(profile(words).as_deref(), Some("live"), "{words:?}");
        }
        assert_eq!(profile(&["plans", "--product", "P"]), None);
        assert_eq!(flag(&line(&["--server", "http://a"]), "", "--server"), Some("http://a"));
    }

    #[test]
    fn a_name_that_two_records_have_is_completed_as_ids() {
        let entry = |id: &str, name: &str| CachedName {
            id: id.to_owned(),
            name: name.to_owned(),
            about: String::new(),
        };
        let all = [entry("pln_1", "Pro"), entry("pln_2", "Pro"), entry("pln_3", "Pro annual")];
        let words = |quotes| all.each_ref().map(|one| word(one, &all, quotes).0);
        assert_eq!(words(true), ["pln_1", "pln_2", "Pro annual"]);
        assert_eq!(words(false), ["pln_1", "pln_2", "pln_3"]);
    }

    #[test]
    fn zsh_completes_when_it_loads_the_file() {
        assert!(script("zsh").unwrap().contains(ZSH_FIRST_CALL));
    }
}
