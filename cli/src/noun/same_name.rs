//! A second record of a name: it would make the name ambiguous, so it is refused, or shown in place
//! of a new one.

use common::Name;
use serde::Serialize;
use serde_json::Value;

use super::named::Named;
use super::shown::{Shown, one};
use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::output::{View, shown};

/// Flags of commands that create a record with a name.
#[derive(clap::Args)]
pub struct SameNameFlags {
    /// If a record with this name exists, show it instead
    #[arg(long)]
    if_not_exists: bool,
    /// Create the record even if the name is taken
    #[arg(long, conflicts_with = "if_not_exists")]
    allow_duplicate: bool,
}

impl SameNameFlags {
    /// Whether the records have to be read to look for the name.
    pub fn looks(&self) -> bool {
        !self.allow_duplicate
    }

    /// Returns the output of a command if one of these records has the name of the wanted one: that
    /// record, or an error.
    pub async fn settle<T: Shown>(
        &self,
        ctx: &Context,
        all: &[T],
        name: &Name,
        wanted: &impl Serialize,
    ) -> Result<Option<View>> {
        let Some(known) = all.iter().find(|it| it.name() == name.as_str()) else {
            return Ok(None);
        };
        if !self.if_not_exists {
            let fix =
                "use it with --if-not-exists, choose another --name, or add --allow-duplicate";
            return Err(already_named(known).fix(fix));
        }
        let noun = T::capitalized();
        let differences = differences(known, wanted);
        if differences.is_empty() {
            let sentence = format!("{noun} {name} already exists.");
            return Ok(Some(one(ctx, known).await?.changed(sentence)));
        }
        let message = format!("{noun} {name} exists with different settings.");
        let fix = format!("run licctl {}s update {} with the same flags", T::NOUN, known.id());
        Err(Error::new(Exit::Rejected, "differs", message).because(differences.join("; ")).fix(fix))
    }
}

/// The members that are wanted otherwise than they are, as in `maxSeats: 3 → 5`.
fn differences(known: &impl Serialize, wanted: &impl Serialize) -> Vec<String> {
    let [known, wanted] = [serde_json::to_value(known), serde_json::to_value(wanted)]
        .map(std::result::Result::unwrap_or_default);
    let given = wanted.as_object().into_iter().flatten().filter(|(_, want)| !want.is_null());
    let other = given.filter(|(name, want)| known.get(*name).unwrap_or(&Value::Null) != *want);
    let line = |(name, want): (&String, &Value)| {
        let have = shown(known.get(name).unwrap_or(&Value::Null));
        format!("{name}: {have} → {}", shown(want))
    };
    other.map(line).collect()
}

/// Refuses a new name for the record with this id if another of these records has it.
pub fn refuse_taken_name<T: Named>(all: &[T], id: &str, name: &Name) -> Result<()> {
    let mut others = all.iter().filter(|other| other.id() != id);
    match others.find(|other| other.name() == name.as_str()) {
        Some(other) => {
            Err(already_named(other).fix("choose another --name, or add --allow-duplicate"))
        }
        None => Ok(()),
    }
}

fn already_named<T: Named>(known: &T) -> Error {
    let message = format!("A {} named {} already exists.", T::NOUN, known.name());
    Error::new(Exit::Rejected, "name_taken", message).because(format!("It is {}.", known.id()))
}
