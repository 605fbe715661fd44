//! The commands, one file for each noun: their arguments, requests and output.

pub mod api;
pub mod catalog;
pub mod claim;
pub mod dashboard;
pub mod doctor;
pub mod events;
pub mod find;
pub mod import;
pub mod keys;
pub mod leases;
pub mod licenses;
pub mod login;
pub mod plans;
mod prelude;
pub mod products;
pub mod profiles;
pub mod refusals;
pub mod signing_keys;
pub mod stats;
pub mod users;
pub mod validate;
pub mod version;
pub mod webhooks;
pub mod whoami;

use common::{Event, LicenseKey, Plan, Product, User};
use serde_json::Value;

use crate::bulk::{BulkResult, ReportLine, RowState};
use crate::client::{ApiRecord, Key, LicenseWithSeats};
use crate::context::Context;
use crate::error::Result;
use crate::noun;
use crate::output::{Column, Table, TextCell, View};

/// The output of a bulk run: all lines as data, and a table of the failed ones. `fields` are the
/// columns of CSV.
pub fn bulk_view(finished: &BulkResult, fields: &[&str]) -> Result<View> {
    const COLUMNS: [Column; 3] =
        [Column::new("LINE", 0), Column::new("USER", 0), Column::new("ERROR", 0)];
    let failed = finished.lines.iter().filter(|line| line.state == RowState::Failed);
    let row = |line: &ReportLine| {
        let why = line.error["message"].as_str().unwrap_or_default();
        vec![TextCell::of(line.line), TextCell::text(line.id()), TextCell::text(why)]
    };
    let done = finished.lines.iter().filter(|line| line.state == RowState::Done);
    let ids = done.map(|line| line.id().to_owned()).collect();
    let table = Table::new(&COLUMNS).with(failed.map(row));
    Ok(View::new(&finished.lines, ids)?.fields(fields).table(table).exit(finished.exit))
}

/// The output for an empty list of items, which is not an error: it may come from a pipeline.
pub fn nothing_to_do(ctx: &Context, fields: &str) -> Result<View> {
    ctx.note("nothing to do");
    Ok(View::new(Vec::<Value>::new(), Vec::new())?.fields(&[fields]))
}

/// The columns of the table that a command line prints; none when they are few or unknown.
pub fn columns_of(line: &[String]) -> Vec<Column> {
    type Columns = fn() -> Vec<Column>;
    const LICENSES: &[&str] = &["licenses", "license"];
    const KEYS: &[&str] = &["keys", "key"];
    let tables: [(&[&[&str]], Columns); 11] = [
        (&[&["usage"]], || licenses::usage::COLUMNS.to_vec()),
        (&[LICENSES, KEYS], noun::columns::<ApiRecord<LicenseKey>>),
        (&[LICENSES], noun::columns::<ApiRecord<LicenseWithSeats>>),
        (&[&["plans", "plan"]], noun::columns::<ApiRecord<Plan>>),
        (&[&["products", "product"]], noun::columns::<ApiRecord<Product>>),
        (&[&["users", "user"]], noun::columns::<ApiRecord<User>>),
        (&[KEYS], noun::columns::<ApiRecord<Key>>),
        (&[&["events", "event"]], noun::columns::<ApiRecord<Event>>),
        (&[&["refusals", "refusal"]], || refusals::COLUMNS.to_vec()),
        (&[&["validate"]], || validate::COLUMNS.to_vec()),
        (&[&["profiles", "profile"]], || profiles::COLUMNS.to_vec()),
    ];
    let is_named = |words: &&[&str]| line.iter().any(|word| words.contains(&word.as_str()));
    let table = tables.iter().find(|(all, _)| all.iter().all(is_named));
    table.map_or_else(Vec::new, |(_, columns)| columns())
}
