//! `--jq`: an expression of the jq language applied to the JSON of an answer.

use jaq_core::data::JustLut;
use jaq_core::load::{Arena, Error as LoadError, File, Loader};
use jaq_core::{Compiler, Ctx, Native, Vars, unwrap_valr};
use jaq_json::{Val, read};
use serde_json::Value;

use super::escape::clean;
use crate::error::{Error, Result};

type Filter = jaq_core::compile::Filter<Native<JustLut<Val>>>;

/// An expression that has been understood.
pub struct Jq(Filter);

impl Jq {
    /// Reads an expression before anything is sent, so that a typo costs nothing.
    pub fn compile(code: &str) -> Result<Self> {
        let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
        let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
        let arena = Arena::default();
        let program = File { code, path: () };
        let loaded = Loader::new(definitions).load(&arena, program);
        let modules = loaded.map_err(|errors| {
            let first = errors.into_iter().next().map(|(_, error)| complaint(&error));
            refused(&first.unwrap_or_default())
        })?;
        let compiled = Compiler::default().with_funs(functions).compile(modules);
        compiled.map(Self).map_err(|errors| {
            let unknown = errors.into_iter().flat_map(|(_, errors)| errors).next();
            refused(&unknown.map_or_else(String::new, |(name, _)| format!("{name} is not defined")))
        })
    }

    /// The results, one a line: texts bare, everything else as JSON.
    pub fn apply(&self, json: &Value, screen: bool) -> Result<String> {
        let failed = |why: String| Error::usage("--jq failed on this answer.").because(why);
        let text = json.to_string();
        let input = read::parse_single(text.as_bytes()).map_err(|e| failed(e.to_string()))?;
        let ctx = Ctx::<JustLut<Val>>::new(&self.0.lut, Vars::new([]));
        let mut lines = String::new();
        for result in self.0.id.run((ctx, input)).map(unwrap_valr) {
            let value = result.map_err(|error| failed(error.to_string()))?;
            let line = match &value {
                Val::TStr(text) => String::from_utf8_lossy(text).into_owned(),
                other => other.to_string(),
            };
            lines += if screen { clean(&line) } else { line.into() }.as_ref();
            lines.push('\n');
        }
        Ok(lines)
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
    let error = Error::usage("--jq needs a valid expression.");
    if why.is_empty() { error } else { error.because(why) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn apply(code: &str) -> Result<String> {
        let json = json!([{ "name": "A", "seats": 5 }, { "name": "B\u{1b}", "seats": null }]);
        Jq::compile(code)?.apply(&json, true)
    }

    #[test]
    fn texts_come_bare_and_the_rest_as_json() {
        assert_eq!(apply(".[].name").unwrap(), "A\nB\\u{1b}\n");
        assert_eq!(apply("map(.seats) | length, .[0]").unwrap(), "2\n5\n");
        assert_eq!(apply(".[0]").unwrap(), "{\"name\":\"A\",\"seats\":5}\n");
        assert_eq!(apply(".[] | select(.seats) | \"\\(.name): \\(.seats)\"").unwrap(), "A: 5\n");
    }

    #[test]
    fn a_wrong_expression_shows_its_position() {
        for (code, why) in
            [(".[", "at the end"), (".a b", "at: b"), ("nope", "nope is not defined")]
        {
            let error = apply(code).unwrap_err();
            assert!(error.text(None).contains(why), "{code}: {}", error.text(None));
        }
        assert!(apply(".[0].name.x").unwrap_err().text(None).contains("failed on this answer"));
    }
}
