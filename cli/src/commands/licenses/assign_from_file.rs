//! `licctl licenses assign --from`: a license for each user of a file, or one for all of them.

use clap::ValueHint;
use common::{AssignLicense, CreateLicense, NewUser};
use serde_json::{Value, json};

use super::LicenseArg;
use crate::bulk::{
    self, BulkFlags, BulkTask, ERROR_FIELD, LINE_FIELDS, NewUserFlags, ReportLine, RowState,
    UserRow,
};
use crate::client::License;
use crate::commands::bulk_view;
use crate::commands::prelude::*;
use crate::noun::MetadataChange;

/// Flags that assign to the users of a file.
#[derive(Args)]
pub struct FromFile {
    /// Assign to the users in this file: CSV with a column userId or externalId, or JSON lines; -
    /// for stdin
    #[arg(long, value_name = "FILE", conflicts_with = "users", value_hint = ValueHint::FilePath)]
    pub from: Option<String>,
    /// With --from, create a license of this plan for each user
    #[arg(long, requires = "from", conflicts_with = "license")]
    plan: Option<String>,
    /// Product of the plan, by name or id
    #[arg(long, requires = "plan")]
    product: Option<String>,
    /// With --plan, also assign a license to users who already have one of the plan in force; without
    /// this flag they are skipped
    #[arg(long, requires = "plan")]
    another: bool,
    #[command(flatten)]
    pub bulk: BulkFlags,
}

/// Values of the flags that apply to every assignment.
pub struct Common {
    pub metadata: MetadataChange,
    pub first: bool,
}

pub async fn run(
    ctx: &Context,
    license: &LicenseArg,
    args: &FromFile,
    new_users: NewUserFlags,
    file: &str,
    common: &Common,
) -> Result<View> {
    let client = ctx.client().await?;
    let (always_reports, is_repeatable) = (true, !args.another);
    let finished = if let Some(given) = &args.plan {
        let plan = noun::plan(ctx, given, args.product.as_deref(), Purpose::Write).await?.id;
        let another = if args.another { " --another" } else { "" };
        let name = format!("licenses assign --plan {plan}{another}");
        let verb = "Create and assign licenses to";
        let task = BulkTask { verb, name, always_reports, is_repeatable, new_users };
        bulk::run(ctx, &args.bulk, file, task, |row, key| async move {
            let (assign_to, unless_held) = (Some(common.of(row)), !args.another);
            let body =
                CreateLicense { assign_to, unless_held, plan_id: plan, ..CreateLicense::default() };
            let made = client.licenses().create_once(&body, &key).await?;
            Ok(made.map_or((RowState::Done, Value::Null), |made| match made.created {
                true => (RowState::Done, own(&made.data)),
                false => (RowState::Skipped, json!({ "licenseId": made.data.id })),
            }))
        })
        .await?
    } else {
        let license = license.find(ctx, Purpose::Write).await?.id;
        let (verb, name) = ("Assign the license to", format!("licenses assign {license}"));
        let task = BulkTask { verb, name, always_reports, is_repeatable, new_users };
        bulk::run(ctx, &args.bulk, file, task, |row, _| async move {
            let written = client.licenses().assign(license, &common.of(row)).await?;
            let answer = serde_json::to_value(written.map(|written| written.data));
            Ok((RowState::Done, answer.unwrap_or_default()))
        })
        .await?
    };
    note_skipped(ctx, &finished.lines);
    let assignment = "licenseId=/answer/licenseId assignedAt=/answer/assignedAt";
    bulk_view(&finished, &[LINE_FIELDS, assignment, ERROR_FIELD])
}

/// A new license, which was assigned when it was created.
fn own(made: &License) -> Value {
    json!({ "licenseId": made.id, "assignedAt": made.created_at })
}

impl Common {
    /// The assignment of a row. Its own metadata takes precedence over the flags.
    fn of(&self, row: UserRow) -> AssignLicense {
        let (email, name) = (row.email, row.name);
        let new_user = (email.is_some() || name.is_some()).then_some(NewUser { email, name });
        let own = Some(row.metadata).filter(|own| !own.is_empty());
        let MetadataChange { replaced: metadata, merged: merge_metadata } =
            own.unwrap_or_else(|| self.metadata.clone());
        AssignLicense { user_id: row.user, new_user, metadata, merge_metadata, first: self.first }
    }
}

fn note_skipped(ctx: &Context, lines: &[ReportLine]) {
    let which = match lines.iter().filter(|line| line.state == RowState::Skipped).count() {
        0 => return,
        1 => "the skipped user has",
        _ => "the skipped users have",
    };
    ctx.note(&format!("{which} a license of the plan already; --another gives one more"));
}
