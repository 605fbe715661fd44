//! `licctl licenses renew`.

use std::cell::RefCell;

use chrono::TimeDelta;
use common::{LicenseId, Plan, RenewFrom, RenewLicense, RenewalTerm, Timestamp};

use super::{BeforeAndAfter, FIELDS, LicensesArg, changes};
use crate::bulk::{ItemResults, for_each_item};
use crate::client::{License, LicenseWithSeats};
use crate::commands::nothing_to_do;
use crate::commands::prelude::*;
use crate::output::Days;

/// Renew licenses for another term
///
/// The term is the plan's, --for or --days. It begins when the license expires, also in its days of
/// grace, or now if it has already expired. Expired licenses are reactivated; suspended and revoked
/// ones are not. In a list (several licenses, or -) without either flag, a license that is valid
/// for more than a term is refused, because it was renewed for this term already.
#[derive(Args)]
pub struct RenewArgs {
    #[command(flatten)]
    licenses: LicensesArg,
    /// Length of the term, such as 30 or 1y [default: the plan's term]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    days: Option<Days>,
    /// Term in days, or in months and years of the calendar, such as 30d, 6mo or 1y
    #[arg(long = "for", value_name = "TERM", conflicts_with = "days")]
    term: Option<RenewalTerm>,
    /// Start of the term: the end of a license that has ended, or today
    #[arg(long, value_name = "end or today")]
    from: Option<RenewFrom>,
}

pub async fn run(ctx: &Context, args: RenewArgs) -> Result<View> {
    let is_list = args.licenses.is_list();
    let items = args.licenses.items(ctx).await?;
    if items.is_empty() {
        return nothing_to_do(ctx, FIELDS);
    }
    let question = format!("Renew {} licenses?", items.len());
    ctx.confirm_many(items.len(), &question).await?;
    let from = args.from;
    let terms = match args.term.or(args.days.map(|days| RenewalTerm::Days(days.get()))) {
        Some(term) => Terms::Given(term),
        None => Terms::Plans(noun::plans(ctx, None).await?),
    };
    let (terms, early) = (&terms, &RefCell::new(Vec::new()));
    let renewed = for_each_item(ctx, &items, |item| async move {
        let was = noun::license(ctx, &item, Purpose::Write).await?;
        let is_early = terms.is_renewed(&was, ctx.now)?;
        if let (Some(end), true, Terms::Plans(_)) = (is_early, is_list, terms) {
            return Err(already_renewed(&was, end));
        }
        let renewed = renew(ctx, was, terms, from).await?;
        let id = renewed.as_ref().map(|it| it.now.id);
        early.borrow_mut().extend(id.zip(is_early));
        Ok(renewed)
    })
    .await?;
    note_early(ctx, &early.borrow());
    show(ctx, &renewed)
}

/// The terms by which licenses are renewed.
enum Terms {
    Given(RenewalTerm),
    Plans(Vec<ApiRecord<Plan>>),
}

impl Terms {
    /// The end of a license that is valid for more than a term from now: it was probably renewed
    /// for this term already.
    fn is_renewed(&self, license: &License, now: Timestamp) -> Result<Option<Timestamp>> {
        let Some(end) = license.expires_at else { return Ok(None) };
        // A day more, since a new license may be valid through its last day.
        let term_ends = self.end_of(license, now.plus(TimeDelta::days(1)))?;
        Ok(Some(end).filter(|end| *end > term_ends))
    }

    /// Returns the end of the license if its next term begins at `start`.
    fn end_of(&self, license: &License, start: Timestamp) -> Result<Timestamp> {
        let end = match (self, self.of(license)?) {
            // The server and the dashboard renew by the plan's term in the same way.
            (Self::Plans(_), RenewalTerm::Days(days)) => start.plus_term(days),
            (_, term) => term.after(start),
        };
        end.ok_or_else(|| Error::usage("The license would end after the year 9999."))
    }

    fn of(&self, license: &License) -> Result<RenewalTerm> {
        let plans = match self {
            Self::Given(term) => return Ok(*term),
            Self::Plans(plans) => plans,
        };
        let plan = plans.iter().find(|plan| plan.id == license.plan_id);
        plan.and_then(|plan| plan.expires_in_days).map(RenewalTerm::Days).ok_or_else(|| {
            let name = plan.map_or_else(|| license.plan_id.to_string(), |it| it.name.to_string());
            Error::usage(format!("Licenses of plan {name} have no term."))
                .fix(command(license.id, false))
        })
    }
}

fn already_renewed(license: &License, end: Timestamp) -> Error {
    let message = format!("License {} is valid for more than a term, {}.", license.id, until(end));
    Error::new(Exit::Rejected, "already_renewed", message)
        .because("A list renews each license once a term; a single license is renewed each time")
        .fix(format!("licctl licenses renew {}", license.id))
}

/// Notes the licenses that were renewed although they were valid for more than a term, because a
/// repeated command would look the same.
fn note_early(ctx: &Context, early: &[(LicenseId, Timestamp)]) {
    match early {
        [] => {}
        [(id, end)] => ctx.note(&format!(
            "license {id} was valid {} before; it may have been renewed for this term already",
            until(*end)
        )),
        many => ctx.note(&format!(
            "{} licenses were valid for more than a term before; they may have been renewed already",
            many.len()
        )),
    }
}

/// The command that renews a license, of a plan with a term or without one.
pub fn command(license: LicenseId, has_term: bool) -> String {
    let days = if has_term { "" } else { " --days 365" };
    format!("licctl licenses renew {license}{days}")
}

/// `through` the last valid day, or `until` a moment.
fn until(end: Timestamp) -> String {
    end.last_day().map_or_else(|| format!("until {end}"), |day| format!("through {day}"))
}

async fn renew(
    ctx: &Context,
    was: ApiRecord<LicenseWithSeats>,
    terms: &Terms,
    from: Option<RenewFrom>,
) -> Result<Option<BeforeAndAfter>> {
    if let Some(days) = was.terms.starts_with_days {
        let message = format!("License {} starts with its first use, for {days} days.", was.id);
        let more = match terms.of(&was)? {
            RenewalTerm::Days(more) => more.get(),
            _ => 365,
        };
        let sum = i64::from(days.get()) + i64::from(more);
        return Err(Error::new(Exit::Rejected, "not_started", message)
            .because("A term is added to the days that it waits with")
            .fix(format!("licctl licenses update {} --starts-with-days {sum}", was.id)));
    }
    if was.expires_at.is_none() {
        let message = format!("License {} never expires.", was.id);
        return Err(Error::new(Exit::Rejected, "never_expires", message)
            .fix(format!("licctl licenses update {} --expires-in 1y", was.id)));
    }
    // Licenses of a plan without a term are refused here, where the message has the command.
    let term = match terms {
        Terms::Given(term) => Some(*term),
        Terms::Plans(_) => terms.of(&was).map(|_| None)?,
    };
    let client = ctx.client().await?;
    // Concurrent renewals would begin at the same end, so the second is refused.
    let now = client.licenses().renew(was.id, &RenewLicense { from, term }, was.updated_at).await?;
    Ok(now.map(|now| BeforeAndAfter::new(ctx, was, now.data)))
}

fn show(ctx: &Context, renewed: &ItemResults<BeforeAndAfter>) -> Result<View> {
    let done = renewed.done.as_slice();
    let Some(BeforeAndAfter { now: first, .. }) = done.first() else {
        return Ok(View::planned());
    };
    let view = changes(ctx, renewed, |license, _, now| TextCell::end(license.expires_at, now))?;
    let view = match (done, first.expires_at) {
        ([_], Some(end)) => view.changed(format!("Renewed license {} {}.", first.id, until(end))),
        _ => view.changed(format!("Renewed {} licenses.", done.len())),
    };
    Ok(view.next(format!("licctl licenses get {}", first.id)))
}
