//! `licctl licenses`: the verbs and the tables that they share. Each verb has a file of its own for
//! its flags and requests.

mod assign;
mod assign_from_file;
mod assignments;
mod create;
mod create_keys;
mod delete;
mod get;
pub mod keys;
mod list;
mod release;
pub mod renew;
mod status;
mod transfer;
mod update;
pub mod usage;

use common::{LicenseState, Metadata, Name, PlanTerms, Status, Terms, Timestamp};
use serde::Serialize;
use serde_json::json;

use crate::bulk::{ItemResults, read_items};
use crate::client::{License, LicenseDetails, LicenseWithSeats};
use crate::commands::plans::seats;
use crate::commands::prelude::*;
use crate::output::relative;

const CHANGE_COLUMNS: [Column; 3] =
    [Column::new("ID", 0), Column::new("WAS", 0), Column::new("NOW", 0)];
const FIELDS: &str = "id productId planId status maxSeats seatsUsed=/seats/used expiresAt \
    features createdAt updatedAt state name";
/// The member of a new license that waits for its first validation.
const STARTS_WITH: &str = "startsWithDays";
const GRACE: &str = "graceDays";
/// A license that was just made or changed.
impl Shown for ApiRecord<License> {
    const CELLS: Cells<Self> = &[
        (Column::new("ID", 0), |it, _, _| TextCell::of(it.id)),
        (Column::flexible("PLAN", 1), |it, _, names| TextCell::text(names.plan(it.plan_id))),
        (Column::kept("STATUS"), |it, ctx, _| {
            let grace_days =
                it.member(GRACE).and_then(|days| serde_json::from_value(days.clone()).ok());
            status_cell(it, &PlanTerms { grace_days, ..PlanTerms::default() }.into(), ctx.now)
        }),
        (Column::new("SEATS", 3), |it, _, _| TextCell::text(seats(it.max_seats))),
        (Column::new("EXPIRES", 2), |it, ctx, _| match it.member(STARTS_WITH) {
            Some(days) => TextCell::text(format!("{days} days from the first use")),
            None => TextCell::end(it.expires_at, ctx.now),
        }),
    ];
    const FIELDS: &'static str = FIELDS;
    const HAS_NAMES: bool = true;
}

/// A license before and after a change; only the latter is output.
#[derive(Serialize)]
#[serde(transparent)]
struct BeforeAndAfter {
    #[serde(skip)]
    was: ApiRecord<LicenseWithSeats>,
    now: ApiRecord<License>,
}

impl BeforeAndAfter {
    /// Of a change that leaves name and metadata as they were.
    fn new(ctx: &Context, was: ApiRecord<LicenseWithSeats>, now: ApiRecord<License>) -> Self {
        let now =
            with_name(with_state(ctx, now, &was.terms), was.name.as_ref(), was.metadata.as_ref());
        Self { was, now }
    }
}

/// The license that a command is about.
#[derive(Args)]
pub struct LicenseArg {
    /// License id or name, or at least 6 characters from the end of the id
    license: Option<String>,
}

/// The licenses that a command changes.
#[derive(Args)]
pub struct LicensesArg {
    /// License ids or names, or at least 6 characters from the end of an id; - reads stdin
    #[arg(value_name = "LICENSE")]
    licenses: Vec<String>,
}

impl LicenseArg {
    fn is_given(&self) -> bool {
        self.license.is_some()
    }

    /// The license that the argument names, or one from a prompt.
    async fn find(&self, ctx: &Context, purpose: Purpose) -> Result<ApiRecord<LicenseWithSeats>> {
        ctx.prompts.require(&[("LICENSE", self.license.is_some())])?;
        match &self.license {
            Some(given) => noun::license(ctx, given, purpose).await,
            None => choose(ctx).await,
        }
    }
}

impl LicensesArg {
    /// Whether the command may be about several licenses, however many a list on stdin has.
    fn is_list(&self) -> bool {
        self.licenses.len() > 1 || self.licenses.iter().any(|given| given == "-")
    }

    /// The words that name the licenses, or that of one from a prompt.
    async fn items(self, ctx: &Context) -> Result<Vec<String>> {
        ctx.prompts.require(&[("LICENSE", !self.licenses.is_empty())])?;
        match self.licenses.is_empty() {
            true => Ok(vec![choose(ctx).await?.id.to_string()]),
            false => read_items(ctx, &self.licenses).await,
        }
    }
}

/// The record that a change returns, with the name and the metadata, which it leaves out.
fn with_name(
    made: ApiRecord<License>,
    name: Option<&Name>,
    metadata: Option<&Metadata>,
) -> ApiRecord<License> {
    let made = match metadata {
        Some(metadata) => made.with_member("updatedAt", "metadata", json!(metadata)),
        None => made,
    };
    match name {
        Some(name) => made.with_member("updatedAt", "name", name.as_str()),
        None => made,
    }
}

#[derive(Subcommand)]
pub enum Verb {
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    #[command(visible_alias = "show")]
    Get(get::GetArgs),
    #[command(visible_alias = "new")]
    Create(create::CreateArgs),
    Update(update::UpdateArgs),
    Renew(renew::RenewArgs),
    Assign(assign::AssignArgs),
    Unassign(assign::UnassignArgs),
    Release(release::ReleaseArgs),
    Transfer(transfer::TransferArgs),
    Usage(usage::UsageArgs),
    Assignments(assignments::AssignmentsArgs),
    /// Suspend licenses until you reactivate them
    Suspend(LicensesArg),
    /// Activate licenses
    Activate(LicensesArg),
    /// Revoke licenses
    Revoke(LicensesArg),
    /// Expire licenses now, regardless of their date
    Expire(LicensesArg),
    Delete(delete::DeleteArgs),
    /// Manage license keys, with which users claim a license
    #[command(subcommand, visible_alias = "key")]
    Keys(keys::Verb),
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List(args) => list::run(ctx, args).await,
        Verb::Get(args) => get::run(ctx, args).await,
        Verb::Create(args) => create::run(ctx, args).await,
        Verb::Update(args) => update::run(ctx, args).await,
        Verb::Renew(args) => renew::run(ctx, args).await,
        Verb::Assign(args) => assign::assign(ctx, args).await,
        Verb::Unassign(args) => assign::unassign(ctx, args).await,
        Verb::Release(args) => release::run(ctx, args).await,
        Verb::Transfer(args) => transfer::run(ctx, args).await,
        Verb::Usage(args) => usage::run(ctx, args).await,
        Verb::Assignments(args) => assignments::run(ctx, args).await,
        Verb::Suspend(args) => status::set(ctx, args, Status::Suspended).await,
        Verb::Activate(args) => status::set(ctx, args, Status::Active).await,
        Verb::Revoke(args) => status::set(ctx, args, Status::Revoked).await,
        Verb::Expire(args) => status::set(ctx, args, Status::Expired).await,
        Verb::Delete(args) => delete::run(ctx, args).await,
        Verb::Keys(verb) => keys::run(ctx, verb).await,
    }
}

/// The status as a validation treats it: an active license past its date counts as expired, unless
/// its days of grace last.
pub fn status_cell(license: &License, terms: &Terms, now: Timestamp) -> TextCell {
    if let Some(until) = license.in_grace_until(terms, now) {
        return TextCell::word(
            format!("in grace ({} left)", relative(until, now).trim_start_matches("in ")),
            format!("in grace until {until}"),
        )
        .toned(Tone::Warning);
    }
    let word = license.status.to_string();
    match (license.status.known(), past(license, now)) {
        (Some(Status::Active), Some(end)) => TextCell::word(
            format!("{word} (expired {})", relative(end, now)),
            format!("{word} (expired {end})"),
        )
        .toned(Tone::Warning),
        (Some(Status::Active), None) => TextCell::text(word).toned(Tone::Good),
        (Some(Status::Suspended | Status::Expired), _) => TextCell::text(word).toned(Tone::Warning),
        (Some(Status::Revoked), _) => TextCell::text(word).toned(Tone::Bad),
        (None, _) => TextCell::text(word),
    }
}

/// Returns the cell with the end of the license.
fn expires_cell(license: &LicenseDetails, now: Timestamp) -> TextCell {
    match license.terms.starts_with_days {
        Some(days) => TextCell::text(format!("{days} days from the first use")),
        None => TextCell::end(license.expires_at, now),
    }
}

/// The effective status. The member `status` holds what an administrator set.
fn state(license: &License, terms: &Terms, now: Timestamp) -> String {
    match license.is_in_grace(terms, now) {
        true => LicenseState::Grace.to_string(),
        false => license.effective_status(now).to_string(),
    }
}

/// A license as data shows it: with its effective status.
fn with_state(ctx: &Context, license: ApiRecord<License>, terms: &Terms) -> ApiRecord<License> {
    let state = state(&license, terms, ctx.now);
    license.with_member("status", "state", state)
}

/// A license from `GET`, which has its terms, with its effective status.
fn with_its_state(
    ctx: &Context,
    license: ApiRecord<LicenseWithSeats>,
) -> ApiRecord<LicenseWithSeats> {
    let state = state(&license, &license.terms, ctx.now);
    license.with_member("status", "state", state)
}

/// Licenses that were changed, with what `cell` shows of them before and after.
fn changes(
    ctx: &Context,
    changed: &ItemResults<BeforeAndAfter>,
    cell: impl Fn(&License, &Terms, Timestamp) -> TextCell,
) -> Result<View> {
    let row = |it: &BeforeAndAfter| {
        let cell = |license| cell(license, &it.was.terms, ctx.now);
        vec![TextCell::of(it.now.id), cell(&it.was), cell(&it.now)]
    };
    let ids = changed.done.iter().map(|it| it.now.id.to_string()).collect();
    let table = Table::new(&CHANGE_COLUMNS).with(changed.done.iter().map(row));
    Ok(View::new(&changed.done, ids)?.fields(&[FIELDS]).table(table).exit(changed.exit))
}

/// The license's end, if it has passed.
fn past(license: &License, now: Timestamp) -> Option<Timestamp> {
    license.expires_at.filter(|_| license.has_ended(now))
}

/// Prompts for a license.
async fn choose(ctx: &Context) -> Result<ApiRecord<LicenseWithSeats>> {
    let all = ctx.client().await?.licenses();
    let (licenses, names) = tokio::try_join!(all.list(Query::default()), NameIndex::load(ctx))?;
    let label = |license: &ApiRecord<LicenseWithSeats>| {
        let (product, plan) = (names.product(license.product_id), names.plan(license.plan_id));
        let status = status_cell(license, &license.terms, ctx.now).screen;
        let name = license.name.as_ref().map_or_else(String::new, |name| format!("  {name}"));
        let seats = format!("{}/{}", license.seats.used, seats(license.seats.allowed));
        let id = Named::id(license);
        format!("{id}{name}  {product} · {plan}  {status}  seats: {seats}")
    };
    let chosen = noun::choose(ctx, &licenses, "licctl licenses create", label)?;
    ctx.prompts.record(None, &Named::id(chosen));
    Ok(chosen.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_matches_a_validation() {
        let now: Timestamp = "2027-01-31T12:00:00Z".parse().unwrap();
        let license = |status: &str, expires_at: Option<&str>| -> License {
            serde_json::from_value(serde_json::json!({
                "id": "lic_01h455vb4pex5vsknk084sn02q",
                "productId": "prd_01h455vb4pex5vsknk084sn02q",
                "planId": "pln_01h455vb4pex5vsknk084sn02q",
                "status": status,
                "maxSeats": null,
                "expiresAt": expires_at,
                "features": [],
                "createdAt": "2026-01-31T12:00:00Z",
                "updatedAt": "2026-01-31T12:00:00Z",
            }))
            .unwrap()
        };
        for (status, expires_at, screen, plain) in [
            ("active", None, "active", "active"),
            ("active", Some("2027-02-01T12:00:00Z"), "active", "active"),
            (
                "active",
                Some("2027-01-28T12:00:00Z"),
                "active (expired 3d ago)",
                "active (expired 2027-01-28T12:00:00.000Z)",
            ),
            // Valid while now < expiresAt, so not at that very moment.
            (
                "active",
                Some("2027-01-31T12:00:00Z"),
                "active (expired just now)",
                "active (expired 2027-01-31T12:00:00.000Z)",
            ),
            ("revoked", Some("2027-01-28T12:00:00Z"), "revoked", "revoked"),
        ] {
            let cell = status_cell(&license(status, expires_at), &Terms::default(), now);
            assert_eq!((cell.screen.as_str(), cell.plain.as_str()), (screen, plain));
        }
    }
}
