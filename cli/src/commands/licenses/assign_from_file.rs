//! `licctl licenses assign --from`: a license for each user of a file, or one for all of them.

use std::rc::Rc;

use clap::ValueHint;
use common::{AssignLicense, CreateLicense, CreateUser, LicenseId, Open, Plan, Status, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use super::LicenseArg;
use crate::bulk::{
    self, BulkFlags, BulkTask, ERROR_FIELD, LINE_FIELDS, NewUserFlags, Report, ReportLine,
    RowState, UserRow,
};
use crate::client::{Client, new_idempotency_key};
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
    let finished = if let Some(given) = &args.plan {
        let plan = &noun::plan(ctx, given, args.product.as_deref(), Purpose::Write).await?;
        let name = format!("licenses assign --plan {}", plan.id);
        let verb = "Create and assign licenses to";
        let task = BulkTask { verb, name, always_reports: true, new_users };
        bulk::run(ctx, &args.bulk, file, task, |row, report| async move {
            if !args.another
                && report.unfinished(row.user.as_str()).is_none()
                && let Some(held) = held_license(client, plan, &row, ctx.now).await?
            {
                return Ok((RowState::Skipped, json!({ "licenseId": held })));
            }
            let license = own_license(client, plan, &row, &report).await?;
            assign(ctx, license, row, common).await
        })
        .await?
    } else {
        let license = license.find(ctx, Purpose::Write).await?.id;
        let (verb, name) = ("Assign the license to", format!("licenses assign {license}"));
        let task = BulkTask { verb, name, always_reports: true, new_users };
        bulk::run(ctx, &args.bulk, file, task, |row, _| async move {
            assign(ctx, Some(license), row, common).await
        })
        .await?
    };
    note_skipped(ctx, &finished.lines);
    let assignment = "licenseId=/answer/licenseId assignedAt=/answer/assignedAt";
    bulk_view(&finished, &[LINE_FIELDS, assignment, ERROR_FIELD])
}

fn note_skipped(ctx: &Context, lines: &[ReportLine]) {
    let which = match lines.iter().filter(|line| line.state == RowState::Skipped).count() {
        0 => return,
        1 => "the skipped user has",
        _ => "the skipped users have",
    };
    ctx.note(&format!("{which} a license of the plan already; --another gives one more"));
}

/// A row's own metadata takes precedence over the flags. A user whom the row creates gets its email
/// and name; a user who exists keeps theirs.
async fn assign(
    ctx: &Context,
    license: Option<LicenseId>,
    row: UserRow,
    common: &Common,
) -> Result<(RowState, Value)> {
    let client = ctx.client().await?;
    let license = license.map_or_else(|| "NEW-LICENSE".to_owned(), |id| id.to_string());
    if (row.email.is_some() || row.name.is_some())
        && noun::find_user(ctx, row.user.as_str()).await?.is_none()
    {
        let (external_id, email, name) = (row.user.clone(), row.email, row.name);
        let user = CreateUser { external_id, email, name, metadata: None, merge_metadata: None };
        client.users().create(&user).await?;
    }
    let own = Some(row.metadata).filter(|own| !own.is_empty());
    let MetadataChange { replaced: metadata, merged: merge_metadata } =
        own.unwrap_or_else(|| common.metadata.clone());
    let body = AssignLicense { user_id: row.user, metadata, merge_metadata, first: common.first };
    let written = client.licenses().assign(&license, &body).await?;
    let answer = serde_json::to_value(written.map(|written| written.data));
    Ok((RowState::Done, answer.unwrap_or_default()))
}

/// Returns a license of the plan that the user has already and that is in force or suspended, so
/// that a second run over the same file gives no user a second license.
async fn held_license(
    client: &Client,
    plan: &ApiRecord<Plan>,
    row: &UserRow,
    now: Timestamp,
) -> Result<Option<LicenseId>> {
    let filters = Query::of("planId", plan.id).with("userId", Some(&row.user));
    let held = client.licenses().list(filters).await?;
    let stands = |state| matches!(state, Open::Known(Status::Active | Status::Suspended));
    Ok(held.iter().find(|license| stands(license.effective_status(now))).map(|license| license.id))
}

/// Creates the row's license, unless an earlier attempt did. The idempotency key is in the report
/// before the request is sent: a resumed run sends the same key and gets the same license.
async fn own_license(
    client: &Client,
    plan: &ApiRecord<Plan>,
    row: &UserRow,
    report: &Rc<Report>,
) -> Result<Option<LicenseId>> {
    let name = match report.unfinished(row.user.as_str()) {
        Some(line) if line.state == RowState::Partly => {
            let id = line.answer["licenseId"].as_str().and_then(|id| id.parse().ok());
            return id
                .map(Some)
                .ok_or_else(|| Error::usage("The report has no license id for this user."));
        }
        Some(line) => match line.answer["idempotencyKey"].as_str() {
            Some(name) if is_remembered(name) => name.to_owned(),
            _ => return Err(in_doubt(plan, row)),
        },
        None => {
            let name = new_idempotency_key();
            let noted = json!({ "idempotencyKey": name });
            report.write(&ReportLine::new(row, RowState::Begun, noted))?;
            name
        }
    };
    let body = CreateLicense {
        plan_id: plan.id,
        expires_in_days: None,
        expires_at: None,
        name: None,
        metadata: None,
    };
    let made = client.licenses().create_once(&body, &name).await?;
    let Some(made) = made else { return Ok(None) };
    let id = made.data.id;
    report.write(&ReportLine::new(row, RowState::Partly, json!({ "licenseId": id })))?;
    Ok(Some(id))
}

/// The service keeps an idempotency key for a week. The key contains its time; one hour is left
/// for clocks that differ.
fn is_remembered(name: &str) -> bool {
    let made = Uuid::parse_str(name).ok().and_then(|name| name.get_timestamp());
    let Some(made) = made.map(|made| made.to_unix().0) else { return false };
    Timestamp::now().millis() / 1000 < made + (7 * 24 - 1) * 60 * 60
}

/// The error for a key that has lapsed: a retry could create a second license.
fn in_doubt(plan: &Plan, row: &UserRow) -> Error {
    let message = "An earlier run may have created a license for this user.";
    Error::new(Exit::Rejected, "in_doubt", message)
        .because(format!(
            "Look for a license without users with licctl licenses list --plan {}",
            plan.id
        ))
        .fix(format!("licctl licenses assign LICENSE {}", row.user))
}
