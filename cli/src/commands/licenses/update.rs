//! `licctl licenses update`.

use common::{
    Feature, GraceDays, LicenseField, MaxSeats, Name, Plan, PlanTerms, Status, UpdateLicense,
};

use super::{GRACE, LicenseArg, with_name, with_state};
use crate::client::{License, LicenseWithSeats};
use crate::commands::prelude::*;
use crate::noun::{Edit, MetadataChange, MetadataFlags, TermFlags, is_empty};
use crate::output::{Days, Expiry, Span};

/// Change the plan, name, metadata, seats, expiry or features of a license
///
/// A limit below the seats in use frees no seats; it only prevents new ones.
#[derive(Args)]
pub struct UpdateArgs {
    #[command(flatten)]
    license: LicenseArg,
    /// New name, such as a customer or an order, or none
    #[arg(long, value_name = "NAME or none")]
    name: Option<Edit<Name>>,
    /// Another plan, by name or id; the license takes its seats, features and terms, except for those
    /// given here, and keeps its end
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// New number of seats, or none for no limit
    #[arg(long, value_name = "N or none", allow_negative_numbers = true)]
    max_seats: Option<Edit<MaxSeats>>,
    /// Number of seats to add to the present limit
    #[arg(long, value_name = "N", conflicts_with = "max_seats", allow_negative_numbers = true)]
    add_seats: Option<MaxSeats>,
    /// End of the license: its last valid day such as 2028-01-31 (in UTC), a time such as
    /// 2028-01-31T12:00:00Z, or never
    #[arg(long, value_name = "TIME or never", conflicts_with = "expires_in")]
    expires_at: Option<Edit<Expiry>>,
    /// Time from now until the license expires, such as 90d or 1y
    #[arg(long, value_name = "SPAN")]
    expires_in: Option<Span>,
    /// New features (repeatable, or comma-separated), or none
    #[arg(long = "feature", value_name = "FEATURE", value_delimiter = ',')]
    features: Vec<Feature>,
    #[command(flatten)]
    terms: TermFlags,
    /// Start with the first validation, and end this long after it, such as 14d
    #[arg(long, value_name = "SPAN", conflicts_with_all = ["expires_at", "expires_in"])]
    starts_with_days: Option<Days>,
    #[command(flatten)]
    metadata: MetadataFlags,
    /// Remove all metadata
    #[arg(long, conflicts_with_all = ["metadata", "metadata_json"])]
    no_metadata: bool,
}

pub async fn run(ctx: &Context, args: UpdateArgs) -> Result<View> {
    let expires_in = args.expires_in.map(|span| ctx.now.plus(span.delta()));
    let MetadataChange { replaced: metadata, merged: merge_metadata } = args.metadata.read()?;
    let plan = match &args.plan {
        Some(given) => Some(noun::plan(ctx, given, None, Purpose::Write).await?),
        None => None,
    };
    let body = UpdateLicense {
        max_seats: Edit::value(&args.max_seats),
        add_seats: args.add_seats,
        expires_at: Edit::value(&args.expires_at).map(Expiry::timestamp).or(expires_in),
        features: noun::changed_features(&args.features)?,
        name: Edit::value(&args.name),
        starts_with_days: args.starts_with_days.map(Days::get),
        clear: args.terms.cleared([
            Edit::clears(&args.name, LicenseField::Name),
            Edit::clears(&args.max_seats, LicenseField::MaxSeats),
            Edit::clears(&args.expires_at, LicenseField::ExpiresAt),
            args.no_metadata.then_some(LicenseField::Metadata),
        ]),
        metadata,
        merge_metadata,
        plan_id: plan.as_ref().map(|plan| plan.id),
        ..UpdateLicense::default().with_terms(args.terms.terms())
    };
    if is_empty(&body) {
        return Err(Error::usage("Nothing to change.").fix("see licctl licenses update --help"));
    }
    let license = args.license.find(ctx, Purpose::Write).await?;
    if let Some(plan) = &plan {
        ask_about_product(ctx, &license, plan).await?;
    }
    let licenses = ctx.client().await?.licenses();
    let updated = licenses.update(license.id, &body, ctx.seen(license.updated_at)).await?;
    let Some(now) = updated else { return Ok(View::planned()) };
    let now = now.data;
    note_seats(ctx, &license, &now, &body);
    if let Some(plan) = &plan {
        note_what_goes(ctx, &license, &now, plan, &body);
    }
    let is_still_expired = now.status == Status::Expired && body.expires_at.is_some();
    if is_still_expired {
        ctx.note(&format!("the status of license {} is still expired", license.id));
    }
    let grace_days = grace_after(&license, plan.as_ref(), &body);
    let now = with_state(ctx, now, &PlanTerms { grace_days, ..PlanTerms::default() }.into());
    let now = match grace_days {
        Some(days) => now.with_member("updatedAt", GRACE, days.get()),
        None => now,
    };
    let now = with_what_stays(now, &license, &body);
    let view = noun::one(ctx, &now).await?.changed(format!("Updated license {}.", license.id));
    let next = if is_still_expired { "activate" } else { "get" };
    Ok(view.next(format!("licctl licenses {next} {}", license.id)))
}

/// The days of grace, which the response leaves out.
fn grace_after(
    before: &LicenseWithSeats,
    plan: Option<&ApiRecord<Plan>>,
    body: &UpdateLicense,
) -> Option<GraceDays> {
    let is_cleared = body.clear.as_ref().is_some_and(|it| it.contains(&LicenseField::GraceDays));
    let kept = match plan {
        Some(plan) => plan.terms.grace_days,
        None => before.terms.grace_days,
    };
    body.grace_days.or(kept.filter(|_| !is_cleared))
}

fn note_seats(ctx: &Context, before: &LicenseWithSeats, now: &License, body: &UpdateLicense) {
    let held = i64::from(before.seats.used);
    if let Some(max) = now.max_seats.filter(|max| held > i64::from(max.get())) {
        ctx.note(&format!(
            "{held} seats are in use; new ones are available once fewer than {max} are"
        ));
    }
    if let Some(idle) = body.seat_idle_minutes {
        let seconds = idle.check_after_seconds();
        ctx.note(&format!(
            "shipped applications must validate each user every {} at least, or lose the seat",
            in_words(seconds)
        ));
    }
}

/// The record with its name and metadata, which the response leaves out. Merged metadata is not
/// known.
fn with_what_stays(
    now: ApiRecord<License>,
    before: &LicenseWithSeats,
    body: &UpdateLicense,
) -> ApiRecord<License> {
    let is_cleared = |field| body.clear.as_ref().is_some_and(|clear| clear.contains(&field));
    let name = before.name.as_ref().filter(|_| !is_cleared(LicenseField::Name));
    let is_kept = !is_cleared(LicenseField::Metadata) && body.merge_metadata.is_none();
    let metadata = before.metadata.as_ref().filter(|_| is_kept);
    with_name(now, body.name.as_ref().or(name), body.metadata.as_ref().or(metadata))
}

/// A plan of another product is another thing to applications.
async fn ask_about_product(
    ctx: &Context,
    license: &ApiRecord<LicenseWithSeats>,
    plan: &Plan,
) -> Result<()> {
    if plan.product_id == license.product_id {
        return Ok(());
    }
    let names = NameIndex::for_display(ctx).await;
    let [from, to] = [license.product_id, plan.product_id].map(|id| names.product(id));
    ctx.confirm_loss(&format!(
        "Plan {} is of product {to}. Applications that ask for product {from} will refuse users of \
         this license. Move it?",
        plan.name
    ))
    .await
}

/// Says what the license had and the plan has not, and that its end stays.
fn note_what_goes(
    ctx: &Context,
    before: &LicenseWithSeats,
    after: &License,
    plan: &Plan,
    body: &UpdateLicense,
) {
    let lost = before.features.iter().filter(|feature| !after.features.contains(feature));
    let lost: Vec<&str> = lost.map(Feature::as_str).collect();
    if !lost.is_empty() {
        ctx.note(&format!("without the former {}: --feature keeps features", lost.join(", ")));
    }
    let had =
        before.terms.grace_days.filter(|_| plan.terms.grace_days.or(body.grace_days).is_none());
    if let Some(days) = had {
        ctx.note(&format!("without the former {days} days of grace: --grace {days}d keeps them"));
    }
    if body.expires_at.is_none() && before.terms.starts_with_days.is_none() {
        ctx.note(&format!("the end stays; set it by licctl licenses renew {}", after.id));
    }
}

fn in_words(seconds: i32) -> String {
    match seconds {
        3600.. => format!("{:.1} hours", f64::from(seconds) / 3600.0),
        _ => format!("{} minutes", seconds / 60),
    }
}
