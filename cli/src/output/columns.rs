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
            return Err("must be names of columns, as in ID,NAME");
        }
        Ok(Self(names))
    }
}

impl ColumnNames {
    /// Where the named columns stand among `titles`, in the order of the names.
    pub fn places(&self, titles: &[&str]) -> Result<Vec<usize>> {
        let place = |name: &String| {
            let wanted = folded(name);
            titles.iter().position(|title| folded(title) == wanted).ok_or_else(|| {
                Error::usage(format!("There is no column {name}."))
                    .because(format!("The columns are: {}", titles.join(", ")))
            })
        };
        self.0.iter().map(place).collect()
    }
}

/// Folds `External-ID`, `external_id` and `externalId` to the same title.
pub fn folded(title: &str) -> String {
    title.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
