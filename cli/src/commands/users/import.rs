//! `licctl users import`.

use clap::{Args, ValueHint};
use common::CreateUser;

use crate::bulk::{self, BulkFlags, BulkTask, ERROR_FIELD, LINE_FIELDS};
use crate::commands::bulk_view;
use crate::context::Context;
use crate::error::Result;
use crate::output::{Field, View};

/// Create or update users from a file
///
/// CSV with a header line, separated by commas, semicolons or tabs, or JSON lines. Columns:
/// externalId (or userId), email, name, and metadata as a JSON object or metadata.KEY for each of its
/// entries; others are ignored. So users list -o csv and -o jsonl write files to import. The file is
/// UTF-8, and every row is checked before the first is sent.
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
    #[command(flatten)]
    bulk: BulkFlags,
}

pub async fn run(ctx: &Context, args: ImportArgs) -> Result<View> {
    let client = ctx.client().await?;
    let name = format!("users import at {}", client.label());
    let task = BulkTask { verb: "Import", name, always_reports: true };
    let finished = bulk::run(ctx, &args.bulk, &args.file, task, |row, _| async move {
        let (email, name, metadata) = (row.email, row.name, row.metadata);
        let body = CreateUser { external_id: row.user, email, name, metadata };
        let written = client.users().create(&body).await?;
        Ok(serde_json::to_value(written.map(|written| written.data)).unwrap_or_default())
    })
    .await?;
    let [line, user, state] = LINE_FIELDS;
    let id = Field::at("id", "/answer/id");
    bulk_view(&finished, &[line, user, state, id, ERROR_FIELD])
}
