//! `--jq`: an expression of the jq language applied to the JSON of an answer.

use jaq_core::data::JustLut;
use jaq_core::load::{Arena, Error as LoadError, File, Loader, parse};
use jaq_core::{Compiler, Ctx, Native, Vars, unwrap_valr};
use jaq_json::{Val, read};
use serde_json::{Deserializer, Map, Value};

use crate::error::{Error, Result};
use crate::escape::clean;
use crate::terminal::{Env, env};

/// Functions of the jq language that the jaq crates lack. There is only one input.
const DEFINITIONS: &str = r#"
def doubled($mark): split($mark) | join($mark + $mark);
def row(text): if isarray | not then error("a row must be an array") end
  | map(if . == null then "" elif isstring then text
        elif isarray or isobject then error("a row must hold plain values") else tojson end);
def @csv: row("\"" + doubled("\"") + "\"") | join(",");
def @tsv: row(doubled("\\") | split("\t") | join("\\t") | split("\n") | join("\\n")
  | split("\r") | join("\\r")) | join("\t");
def env: $ENV;
def input: error("there is only one input, which is .");
def inputs: empty;
"#;
/// The longest reason of a failure, in characters.
const MAX_REASON_CHARS: usize = 160;

type Filter = jaq_core::compile::Filter<Native<JustLut<Val>>>;

/// An expression that has been understood, and the environment for it.
pub struct Jq {
    filter: Filter,
    env: Val,
}

impl Jq {
    /// Compiles an expression before anything is sent, so that a typo costs nothing.
    pub fn compile(code: &str, env: &Env) -> Result<Self> {
        let own = parse(DEFINITIONS, |parser| parser.defs()).unwrap_or_default();
        let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let program = File { code, path: () };
        let loaded = Loader::new(definitions.chain(own)).load(&arena, program);
        let modules = loaded.map_err(|errors| {
            let first = errors.into_iter().next().map(|(_, error)| complaint(&error));
            refused(&first.unwrap_or_default())
        })?;
        let compiler = Compiler::default().with_funs(functions).with_global_vars(["$ENV"]);
        let filter = compiler.compile(modules).map_err(|errors| {
            let unknown = errors.into_iter().flat_map(|(_, errors)| errors).next();
            refused(&unknown.map_or_else(String::new, |(name, _)| format!("{name} is not defined")))
        })?;
        // The key is left out, so that printing the whole environment does not show it.
        let variables = env.iter().filter(|(name, _)| *name != env::API_KEY);
        let variables: Map<String, Value> =
            variables.map(|(name, value)| (name.to_owned(), value.into())).collect();
        Ok(Self { filter, env: value(&Value::Object(variables))? })
    }

    /// The results, one a line: texts bare, everything else as JSON.
    pub fn apply(&self, json: &Value, screen: bool) -> Result<String> {
        let ctx = Ctx::<JustLut<Val>>::new(&self.filter.lut, Vars::new([self.env.clone()]));
        let mut lines = String::new();
        for result in self.filter.id.run((ctx, value(json)?)).map(unwrap_valr) {
            let line = bare(&result.map_err(|error| failed(&bare(&error.into_val())))?);
            // Tabs are harmless, and separate the fields of @tsv.
            let safe = || line.split('\t').map(clean).collect::<Vec<_>>().join("\t");
            lines += &if screen { safe() } else { line };
            lines.push('\n');
        }
        Ok(lines)
    }
}

fn value(json: &Value) -> Result<Val> {
    read::parse_single(json.to_string().as_bytes()).map_err(|error| failed(&error.to_string()))
}

/// A text as it is, and anything else as JSON.
fn bare(value: &Val) -> String {
    match value {
        Val::TStr(text) => String::from_utf8_lossy(text).into_owned(),
        other => other.to_string(),
    }
}

fn complaint(error: &LoadError<&str>) -> String {
    let at = |rest: &str| match rest {
        "" => "at the end".to_owned(),
        rest => format!("at: {rest}"),
    };
    match error {
        LoadError::Lex(errors) => errors
            .first()
            .map(|(expected, rest)| format!("expected {} {}", expected.as_str(), at(rest))),
        LoadError::Parse(errors) => errors
            .first()
            .map(|(expected, found)| format!("expected {} {}", expected.as_str(), at(found))),
        LoadError::Io(_) => Some("files cannot be included".to_owned()),
    }
    .unwrap_or_default()
}

fn refused(why: &str) -> Error {
    let error = Error::usage("Invalid --jq expression.");
    if why.is_empty() { error } else { error.because(short(why)) }
}

fn failed(why: &str) -> Error {
    Error::usage("The --jq expression failed.").because(short(&without_data(why)))
}

/// Replaces arrays and objects with their types: a response may be long, and logs keep errors.
fn without_data(message: &str) -> String {
    let mut reduced = String::new();
    let mut rest = message;
    while let Some(start) = rest.find(['[', '{']) {
        reduced += &rest[..start];
        reduced += if rest[start..].starts_with('[') { "array" } else { "object" };
        let mut values = Deserializer::from_str(&rest[start..]).into_iter::<Value>();
        rest = match values.next() {
            Some(Ok(_)) => &rest[start + values.byte_offset()..],
            _ => "",
        };
    }
    reduced + rest
}

/// One line of a bounded length.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(MAX_REASON_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn apply(code: &str) -> Result<String> {
        let json = json!([{ "name": "A", "seats": 5 }, { "name": "B\u{1b}", "seats": null }]);
        let env = Env::from([("PLAN", "Pro"), (env::API_KEY, "sk_live_secret")]);
        Jq::compile(code, &env)?.apply(&json, true)
    }

    fn why(code: &str) -> String {
        let error = apply(code).unwrap_err();
        let text = error.text(None);
        assert!(text.lines().count() <= 3, "{text}");
        error.reason().unwrap_or_default().to_owned()
    }

    #[test]
    fn texts_come_bare_and_the_rest_as_json() {
        assert_eq!(apply(".[].name").unwrap(), "A\nB\\u{1b}\n");
        assert_eq!(apply("map(.seats) | length, .[0]").unwrap(), "2\n5\n");
        assert_eq!(apply(".[0]").unwrap(), "{\"name\":\"A\",\"seats\":5}\n");
        assert_eq!(apply(".[] | select(.seats) | \"\\(.name): \\(.seats)\"").unwrap(), "A: 5\n");
    }

    #[test]
    fn rows_come_as_csv_and_tsv() {
        assert_eq!(apply(".[0] | [.name, .seats, true, null] | @csv").unwrap(), "\"A\",5,true,\n");
        assert_eq!(apply(r#"["a\"b,c", "d"] | @csv"#).unwrap(), "\"a\"\"b,c\",\"d\"\n");
        assert_eq!(apply(r#"["a\\b", "x", 1.5, null] | @tsv"#).unwrap(), "a\\\\b\tx\t1.5\t\n");
        assert_eq!(apply(r#"["t\tn\nr\r"] | @tsv"#).unwrap(), "t\\tn\\nr\\r\n");
        assert_eq!(why(".[0] | @csv"), "a row must be an array");
        assert_eq!(why("@tsv"), "a row must hold plain values");
    }

    #[test]
    fn the_environment_is_there_but_for_the_key() {
        assert_eq!(apply("$ENV.PLAN, env.PLAN").unwrap(), "Pro\nPro\n");
        assert_eq!(apply("env").unwrap(), "{\"PLAN\":\"Pro\"}\n");
        assert_eq!(apply("[inputs]").unwrap(), "[]\n");
        assert_eq!(why("input"), "there is only one input, which is .");
    }

    #[test]
    fn a_wrong_expression_shows_its_position() {
        for (code, reason) in
            [(".[", "at the end"), (".a b", "at: b"), ("nope", "nope is not defined")]
        {
            assert!(why(code).contains(reason), "{code}: {}", why(code));
        }
        let long = format!(".a {}", "b".repeat(1000));
        assert!(why(&long).chars().count() < 200);
    }

    #[test]
    fn a_failure_shows_no_data() {
        assert_eq!(why(".foo"), "cannot index array with \"foo\"");
        assert_eq!(why(".[0].name.x"), "cannot index \"A\" with \"x\"");
        assert_eq!(why(".[0] + 1"), "cannot calculate object + 1");
        assert_eq!(why("error(.[0])"), "object");
        assert_eq!(why("error(\"[not JSON\")"), "array");
        assert!(why("error(\"x\" * 1000)").chars().count() < 200);
    }
}
