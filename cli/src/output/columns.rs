//! `--columns`: the columns of a table or of CSV, chosen by their names.

use std::str::FromStr;

use crate::error::{Error, Result};

/// The names as they were given.
#[derive(Clone, Debug)]
pub struct ColumnNames(Vec<String>);

impl FromStr for ColumnNames {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        if names.iter().any(String::is_empty) {
            return Err("must be column names such as ID,NAME");
        }
        Ok(Self(names))
    }
}

/// Names of the same value in tables and in CSV or JSON, folded. Each finds the column of the
/// other.
const SYNONYMS: [(&str, &str); 20] = [
    ("product", "productname"),
    ("plan", "planname"),
    ("seats", "seatsused"),
    ("seats", "maxseats"),
    ("maxseats", "seatsallowed"),
    ("validfor", "expiresindays"),
    ("expires", "expiresat"),
    ("created", "createdat"),
    ("updated", "updatedat"),
    ("assigned", "assignedat"),
    ("activated", "activatedat"),
    ("lastchecked", "lastcheckedat"),
    ("lastused", "lastusedat"),
    ("user", "externalid"),
    ("user", "userid"),
    ("license", "licenseid"),
    ("subject", "subjectid"),
    ("by", "actorname"),
    ("times", "count"),
    ("last", "lastat"),
];

impl ColumnNames {
    /// Whether the order is reversed, as in `--sort -expires`.
    pub fn begins_with_minus(&self) -> bool {
        self.0.iter().any(|name| name.starts_with('-'))
    }

    /// The positions of the named columns among `titles`, in the order of the names.
    pub fn places(&self, titles: &[&str]) -> Result<Vec<usize>> {
        let place = |name: &String| {
            let wanted = normalized(name);
            let find = |name: &str| titles.iter().position(|title| normalized(title) == name);
            let other = || {
                let pairs = SYNONYMS.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
                pairs.filter(|(name, _)| *name == wanted).find_map(|(_, other)| find(other))
            };
            find(&wanted).or_else(other).ok_or_else(|| {
                Error::usage(format!("Unknown column {name}."))
                    .because(format!("Columns: {}", titles.join(", ")))
            })
        };
        self.0.iter().map(place).collect()
    }
}

/// Folds `External-ID`, `external_id` and `externalId` to the same title.
pub fn normalized(title: &str) -> String {
    title.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
