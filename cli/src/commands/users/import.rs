//! `licctl users import`.

use clap::{Args, ValueHint};
use common::CreateUser;

use crate::bulk::{self, BulkFlags};
use crate::commands::bulk_view;
use crate::context::Context;
use crate::error::Result;
use crate::output::View;

/// Create or update users from a file
///
/// CSV with a header line, or JSON lines. Columns: userId (or externalId), email,
/// name, and metadata.KEY for each entry of the metadata. Every row is checked before the first is
/// sent.
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl users import users.csv --yes
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
    let run = ("Import", format!("users import at {}", client.label()));
    let finished = bulk::run(ctx, &args.bulk, &args.file, run, |row, _| async move {
        let (email, name, metadata) = (row.email, row.name, row.metadata);
        let body = CreateUser { external_id: row.user, email, name, metadata };
        let written = client.users().create(&body).await?;
        Ok(serde_json::to_value(written.map(|written| written.data)).unwrap_or_default())
    })
    .await?;
    bulk_view(&finished)
}
