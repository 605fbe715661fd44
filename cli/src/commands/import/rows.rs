//! The rows that a mapping makes of an export, and the licenses that they describe.

use std::collections::HashMap;

use clap::ValueEnum;
use common::{
    ExpiresFrom, ExpiresInDays, ExternalId, Features, GraceDays, KeyText, Line, MaxSeats, Name,
    Status, Timestamp,
};
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::bulk::{BulkRow, first_of};
use crate::error::{Error, Result};

/// The value of a row that becomes the user id.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum UserIdFrom {
    /// Email address; without one, the id of the user in the old service
    #[default]
    Email,
    /// Id of the user in the old service
    Id,
    /// License key. No license key is created, and everyone who sees a user id sees the key
    Key,
    /// Device, as the old service identified it
    Machine,
}

/// A row of a mapping's output. `docs/moving.md` explains the members.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceRow {
    pub product: Name,
    pub plan: Name,
    pub seats: Option<MaxSeats>,
    pub days: Option<ExpiresInDays>,
    pub expires_from: Option<ExpiresFrom>,
    pub expires: Option<Timestamp>,
    #[serde(default)]
    pub features: Features,
    pub status: Option<Status>,
    pub user: Option<String>,
    pub email: Option<Line>,
    pub name: Option<Name>,
    pub key: Option<KeyText>,
    pub machine: Option<String>,
    pub grace_days: Option<GraceDays>,
    pub last_checked: Option<Timestamp>,
    pub source_id: Option<String>,
    #[serde(default)]
    pub test_mode: bool,
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A user of an imported license.
#[derive(Clone)]
pub struct Holder {
    pub id: ExternalId,
    pub email: Option<Line>,
    pub name: Option<Name>,
    pub last_checked: Option<Timestamp>,
}

/// A license, with the values of its first row.
#[derive(Clone)]
pub struct ImportedLicense {
    /// Number of its first row, from 1.
    pub row: usize,
    /// Id in the old service; otherwise the key; otherwise product, plan and user.
    pub id: String,
    pub terms: SourceRow,
    /// The users, the one who was checked last first.
    pub holders: Vec<Holder>,
    pub notes: Vec<String>,
}

impl BulkRow for ImportedLicense {
    const IS_OF_SOURCE: bool = true;

    fn line(&self) -> usize {
        self.row
    }

    fn id(&self) -> &str {
        &self.id
    }
}

/// Reads the rows and joins those of one license. Fails if any of them is invalid.
pub fn licenses(rows: &str, user_id: UserIdFrom) -> Result<Vec<ImportedLicense>> {
    let (mut found, mut wrong) = (Vec::<ImportedLicense>::new(), Vec::new());
    let mut places = HashMap::new();
    for (number, row) in (1..).zip(rows.lines()) {
        // Read as a value first, since the error of a line would name a column in it.
        let row = serde_json::from_str::<Value>(row).and_then(serde_json::from_value);
        let row = row.map_err(|error| error.to_string());
        if let Err(why) = row.and_then(|row| add(&mut found, &mut places, number, row, user_id)) {
            wrong.push((number, why));
        }
    }
    for license in &mut found {
        license.holders.sort_by_key(|holder| std::cmp::Reverse(holder.last_checked));
        license.notes.sort();
        license.notes.dedup();
    }
    if wrong.is_empty() { Ok(found) } else { Err(refused(&wrong)) }
}

fn add(
    found: &mut Vec<ImportedLicense>,
    places: &mut HashMap<String, usize>,
    number: usize,
    mut row: SourceRow,
    user_id: UserIdFrom,
) -> std::result::Result<(), String> {
    let holder = holder(&row, user_id)?;
    if user_id == UserIdFrom::Key {
        row.key = None;
    }
    let user = holder.as_ref().map_or("", |holder| holder.id.as_str());
    let id = match (&row.source_id, &row.key) {
        (Some(id), _) => id.clone(),
        // Everyone who may read licenses could read the key itself.
        (None, Some(key)) => Uuid::new_v5(&Uuid::NAMESPACE_OID, key.form().as_bytes()).to_string(),
        (None, None) => format!("{}/{}/{user}", row.product, row.plan),
    };
    let place = *places.entry(id.clone()).or_insert(found.len());
    let notes = std::mem::take(&mut row.notes);
    if place == found.len() {
        let holders = Vec::new();
        found.push(ImportedLicense { row: number, id, terms: row, holders, notes: Vec::new() });
    }
    let license = &mut found[place];
    license.notes.extend(notes);
    if let Some(holder) = holder
        && !license.holders.iter().any(|it| it.id == holder.id)
    {
        license.holders.push(holder);
    }
    Ok(())
}

/// The user of a row; `None` if the row has no value for the user id.
fn holder(row: &SourceRow, from: UserIdFrom) -> std::result::Result<Option<Holder>, String> {
    let email = row.email.as_ref().map(ToString::to_string);
    let id = match from {
        UserIdFrom::Email => email.or_else(|| row.user.clone()),
        UserIdFrom::Id => row.user.clone(),
        UserIdFrom::Key => row.key.as_ref().map(|key| key.expose().to_owned()),
        UserIdFrom::Machine => row.machine.clone(),
    };
    let Some(id) = id else { return Ok(None) };
    let id = id.parse().map_err(|error| format!("the user id {id} {error}"))?;
    let (email, name) = (row.email.clone(), row.name.clone());
    Ok(Some(Holder { id, email, name, last_checked: row.last_checked }))
}

fn refused(wrong: &[(usize, String)]) -> Error {
    Error::usage("The mapping's output has invalid rows, so nothing was imported.")
        .because(first_of("row", wrong))
        .fix("correct the export, or change a copy of the mapping: licctl import --print-mapping")
}
