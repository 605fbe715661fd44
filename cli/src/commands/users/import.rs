//! `licctl users import`.

use std::cell::Cell;

use clap::{Args, ValueHint};
use common::CreateUser;

use crate::bulk::{self, BulkFlags, BulkTask, ERROR_FIELD, LINE_FIELDS};
use crate::commands::bulk_view;
use crate::context::Context;
use crate::error::Result;
use crate::metadata;
use crate::new_users::NewUserFlags;
use crate::output::{Field, View};

/// Create or update users from a file
///
/// CSV with a header line, separated by commas, semicolons or tabs, or JSON lines. Columns:
/// externalId (or userId), email, name, and metadata as a JSON object, which replaces all metadata,
/// or metadata.KEY for each entry to add or replace; others are ignored. An empty cell changes
/// nothing. So users list -o csv and -o jsonl write files to import. The file is UTF-8, and every
/// row is checked before the first is sent.
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl users import users.csv --yes
  licctl -P live users list -o csv | licctl -P test users import - --yes
  licctl users import users.csv --map userId=login --report import.jsonl --yes
  licctl users import users.csv --resume import.jsonl --yes")]
pub struct ImportArgs {
    /// File to read, - for stdin
    #[arg(value_hint = ValueHint::FilePath)]
    file: String,
    /// Refuse the file if it has users that do not exist yet
    #[arg(long)]
    existing_only: bool,
    #[command(flatten)]
    bulk: BulkFlags,
}

pub async fn run(ctx: &Context, args: ImportArgs) -> Result<View> {
    let client = ctx.client().await?;
    let name = format!("users import at {}", client.label());
    let existing_only = args.existing_only;
    // An import is there to create users, so that these are only counted, by the answers.
    let new_users = NewUserFlags { create_user: !existing_only, existing_only };
    let task = BulkTask { verb: "Import", name, always_reports: true, new_users };
    let created = &Cell::new(0);
    let finished = bulk::run(ctx, &args.bulk, &args.file, task, |row, _| async move {
        let (email, name) = (row.email, row.name);
        let body = CreateUser { external_id: row.user, email, name, metadata: None };
        let written = metadata::create_user(client, body, row.metadata.as_ref()).await?;
        created.update(|count| count + usize::from(written.as_ref().is_some_and(|it| it.created)));
        Ok(serde_json::to_value(written.map(|written| written.data)).unwrap_or_default())
    })
    .await?;
    match created.get() {
        0 => {}
        1 => ctx.note("1 user is new"),
        many => ctx.note(&format!("{many} users are new")),
    }
    let [line, user, state] = LINE_FIELDS;
    let id = Field::at("id", "/answer/id");
    bulk_view(&finished, &[line, user, state, id, ERROR_FIELD])
}
