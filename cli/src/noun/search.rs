//! Finds the record that matches an id, a name or a partial id. Inexact matches count only where
//! a wrong match does no harm.

use std::collections::HashSet;

use super::completion_cache::remember;
use super::named::Named;
use crate::client::{ApiRecord, Query, Record};
use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::escape::quote;

/// The shortest partial id that matches.
const MIN_ID_PART_LEN: usize = 6;

/// The most matches that an error lists.
const MAX_LISTED_MATCHES: usize = 5;

/// The most names that an error lists.
const MAX_LISTED_NAMES: usize = 6;

/// Whether the record is read or changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Inexact matches are allowed, as a wrong record would only be shown.
    Read,
    /// Without a prompt, only an id or an exact name matches.
    Write,
}

/// All records, which completion remembers.
pub async fn all<R>(ctx: &Context) -> Result<Vec<ApiRecord<R::Shown>>>
where
    R: Record,
    ApiRecord<R::Shown>: Named,
{
    let client = ctx.client().await?;
    let all = client.of::<R>().list(Query::default()).await?;
    remember(client, &ctx.env, &all);
    Ok(all)
}

/// The record of this id or name.
pub async fn named<R>(ctx: &Context, given: &str, purpose: Purpose) -> Result<ApiRecord<R::Shown>>
where
    R: Record,
    ApiRecord<R::Shown>: Named + Clone,
{
    if given.parse::<R::Id>().is_ok() {
        return ctx.client().await?.of::<R>().get(given).await;
    }
    pick(ctx, given, &all::<R>(ctx).await?, purpose)
}

/// The record that `given` matches. No id or name begins or ends with a space.
pub fn pick<T: Named + Clone>(
    ctx: &Context,
    given: &str,
    all: &[T],
    purpose: Purpose,
) -> Result<T> {
    let given = given.trim();
    let loosely = purpose == Purpose::Read || ctx.prompts.can_ask();
    match search(given, all, loosely) {
        Matches::One(at) => Ok(all[at].clone()),
        Matches::Many(places) if ctx.prompts.can_ask() => {
            let labels: Vec<_> = places.iter().map(|&at| all[at].label()).collect();
            let question = format!("Several {}s match {given}", T::NOUN);
            Ok(all[places[ctx.prompts.choose(&question, &labels)?]].clone())
        }
        Matches::Many(places) => Err(ambiguous(given, all, &places)),
        Matches::None => Err(nothing_matches(given, all, loosely)),
    }
}

fn ambiguous<T: Named>(given: &str, all: &[T], places: &[usize]) -> Error {
    let listed = places.iter().take(MAX_LISTED_MATCHES).map(|&at| all[at].label());
    let mut matches = listed.collect::<Vec<_>>().join("; ");
    if let Some(more) = places.len().checked_sub(MAX_LISTED_MATCHES).filter(|&more| more > 0) {
        matches += &format!("; and {more} more");
    }
    let names: HashSet<_> = places.iter().filter_map(|&at| all[at].full_name()).collect();
    let noun = T::NOUN;
    let fix = match places.first().and_then(|&at| all[at].full_name()) {
        Some(name) if names.len() == places.len() => {
            format!("use its id, or name its product as in {}", quote(&name))
        }
        _ => format!("use the {noun} id"),
    };
    let message = format!("{given} matches {} {noun}s.", places.len());
    Error::new(Exit::NotFound, "ambiguous", message).because(matches).fix(fix)
}

fn nothing_matches<T: Named>(given: &str, all: &[T], loosely: bool) -> Error {
    let error = Error::not_found(format!("No {} matches {given}.", T::NOUN));
    let list = format!("licctl {}s list", T::NOUN.replace(' ', "-"));
    match search(given, all, true) {
        Matches::One(at) if !loosely => error
            .because(format!(
                "Did you mean {}? Writes without prompts require an exact name or id.",
                all[at].label()
            ))
            .fix("use the exact name or id"),
        _ => match suggestion(given, all) {
            Some(hint) => error.because(hint).fix(list),
            None => error.fix(list),
        },
    }
}

/// A hint for the error: the part of an id is too short, or a list of the few existing names.
fn suggestion<T: Named>(given: &str, all: &[T]) -> Option<String> {
    let begins_or_ends = |id: String| id.starts_with(given) || id.ends_with(given);
    if given.len() < MIN_ID_PART_LEN && all.iter().any(|record| begins_or_ends(record.id())) {
        return Some(format!("A partial id needs at least {MIN_ID_PART_LEN} characters."));
    }
    let names: Vec<&str> = all.iter().map(T::name).filter(|name| !name.is_empty()).collect();
    let few = (1..=MAX_LISTED_NAMES).contains(&names.len());
    few.then(|| format!("Existing names: {}", names.join(", ")))
}

enum Matches {
    None,
    One(usize),
    Many(Vec<usize>),
}

/// Matches exact names and ids first; with `loosely` also names in any case and parts of ids.
fn search<T: Named>(given: &str, all: &[T], loosely: bool) -> Matches {
    if given.is_empty() {
        return Matches::None;
    }
    let normalized = given.to_lowercase();
    let exact = |record: &T| {
        let full_name = || record.full_name().is_some_and(|name| name == given);
        record.name() == given || record.id() == given || full_name() || record.is_also(given)
    };
    let nearly = |record: &T| {
        let full_name = || record.full_name().is_some_and(|name| name.to_lowercase() == normalized);
        record.name().to_lowercase() == normalized || full_name()
    };
    let piece = |record: &T| {
        let id = record.id();
        given.len() >= MIN_ID_PART_LEN && (id.starts_with(given) || id.ends_with(given))
    };
    let steps: [&dyn Fn(&T) -> bool; 3] = [&exact, &nearly, &piece];
    for step in &steps[..if loosely { 3 } else { 1 }] {
        let places: Vec<usize> = (0..all.len()).filter(|&at| step(&all[at])).collect();
        match places.as_slice() {
            [] => {}
            [one] => return Matches::One(*one),
            _ => return Matches::Many(places),
        }
    }
    Matches::None
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(&'static str, &'static str);

    impl Named for Thing {
        const NOUN: &str = "small thing";
        fn id(&self) -> String {
            self.0.to_owned()
        }
        fn name(&self) -> &str {
            self.1
        }
    }

    const THINGS: [Thing; 4] = [
        Thing("prd_01aaaa111111", "Studio"),
        Thing("prd_01bbbb222222", "studio"),
        Thing("prd_01cccc333333", "Render Farm"),
        Thing("prd_02dddd333333", "Pro"),
    ];

    fn found(given: &str, loosely: bool) -> Vec<usize> {
        match search(given, &THINGS, loosely) {
            Matches::None => Vec::new(),
            Matches::One(at) => vec![at],
            Matches::Many(places) => places,
        }
    }

    #[test]
    fn commands_have_a_hyphen_in_their_nouns() {
        let error = nothing_matches("other", &THINGS, true);
        assert_eq!(error.message(), "No small thing matches other.");
        assert_eq!(error.advice(), Some("licctl small-things list"));
    }

    #[test]
    fn the_exact_name_wins_over_one_in_other_letters() {
        assert_eq!(found("Studio", true), [0]);
        assert_eq!(found("STUDIO", true), [0, 1]);
        assert_eq!(found("render farm", true), [2]);
    }

    #[test]
    fn a_piece_of_an_id_counts_from_six_characters_at_either_end() {
        assert_eq!(found("prd_01c", true), [2]);
        assert_eq!(found("222222", true), [1]);
        assert_eq!(found("22222", true), [] as [usize; 0]);
        assert_eq!(found("333333", true), [2, 3]);
        assert_eq!(found("cccc33", true), [] as [usize; 0]);
    }

    #[test]
    fn few_existing_names_are_listed() {
        let names = "Existing names: Studio, studio, Render Farm, Pro";
        assert_eq!(suggestion("Stdio", &THINGS).unwrap(), names);
        let short = "A partial id needs at least 6 characters.";
        assert_eq!(suggestion("33333", &THINGS).unwrap(), short);
        assert_eq!(suggestion("Stdio", &[] as &[Thing]), None);
        assert_eq!(
            suggestion("33334", &[Thing("lic_01aaaa111111", "")]),
            None,
            "licenses have no name"
        );
    }

    #[test]
    fn writes_match_exact_names_and_ids_only() {
        assert_eq!(found("render farm", false), [] as [usize; 0]);
        assert_eq!(found("222222", false), [] as [usize; 0]);
        assert_eq!(found("prd_01cccc333333", false), [2]);
        assert_eq!(found("Render Farm", false), [2]);
    }
}
