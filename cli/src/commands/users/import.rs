//! `licctl users import`.

use std::cell::Cell;

use clap::ValueHint;
use common::CreateUser;

use crate::bulk::{self, BulkFlags, BulkTask, ERROR_FIELD, LINE_FIELDS, NewUserFlags, RowState};
use crate::commands::bulk_view;
use crate::commands::prelude::*;
use crate::noun::MetadataChange;

/// Create or update users from a file
///
/// The file is CSV with a header line (separated by commas, semicolons or tabs) or JSON lines, in
/// UTF-8, such as users list -o csv and -o jsonl write. Columns: externalId (or userId), email,
/// name, and metadata as a JSON object, which replaces all metadata, or metadata.KEY for single
/// entries. Other columns are ignored, and empty cells change nothing. Every row is checked before
/// the first is sent.
#[derive(Args)]
pub struct ImportArgs {
    /// File to read, - for stdin
    #[arg(value_hint = ValueHint::FilePath)]
    file: String,
    /// Fail if a user does not exist
    #[arg(long)]
    existing_only: bool,
    #[command(flatten)]
    bulk: BulkFlags,
}

pub async fn run(ctx: &Context, args: ImportArgs) -> Result<View> {
    let client = ctx.client().await?;
    let name = format!("users import at {}", client.label());
    let existing_only = args.existing_only;
    // An import creates users on purpose, so they are only counted.
    let new_users = NewUserFlags { create_user: !existing_only, existing_only };
    let (always_reports, is_repeatable) = (true, true);
    let task = BulkTask { verb: "Import", name, always_reports, is_repeatable, new_users };
    let created = &Cell::new(0);
    let finished = bulk::run(ctx, &args.bulk, &args.file, task, |row, _| async move {
        let (email, name) = (row.email, row.name);
        let MetadataChange { replaced: metadata, merged: merge_metadata } = row.metadata;
        let external_id = row.user;
        let body = CreateUser { external_id, email, name, metadata, merge_metadata };
        let written = client.users().create(&body).await?;
        created.update(|count| count + usize::from(written.as_ref().is_some_and(|it| it.created)));
        let answer = serde_json::to_value(written.map(|written| written.data));
        Ok((RowState::Done, answer.unwrap_or_default()))
    })
    .await?;
    match created.get() {
        0 => {}
        1 => ctx.note("1 new user"),
        many => ctx.note(&format!("{many} new users")),
    }
    bulk_view(&finished, &[LINE_FIELDS, "id=/answer/id", ERROR_FIELD])
}
