//! `licctl licenses create`.

use std::cell::Cell;
use std::fmt;

use clap::ValueHint;
use common::{
    AssignLicense, CreateLicense, ExpiresFrom, ExpiresInDays, ExternalId, KeyText, LicenseId, Name,
    Plan, PlanId, Terms,
};

use super::create_keys::{self, KeyedLicenses};
use super::{FIELDS, STARTS_WITH, with_name, with_state};
use crate::bulk::{NewUserFlags, in_order, read_items};
use crate::client::{Client, License, new_idempotency_key};
use crate::commands::prelude::*;
use crate::commands::{nothing_to_do, plans};
use crate::noun::{IdempotencyKey, MetadataFlags};
use crate::output::{Days, Expiry};

const REPEAT: &str = "run the command again with the same --idempotency-key; that is safe";

/// Create licenses from a plan
#[derive(Args)]
pub struct CreateArgs {
    /// Plan of the license, by name or id; Product/Plan if several products share the name
    #[arg(long)]
    plan: Option<String>,
    /// Product of the plan, by name or id
    #[arg(long)]
    product: Option<String>,
    /// Name of the license, such as a customer or an order
    #[arg(long)]
    name: Option<Name>,
    /// Time for which the license is valid, such as 90d or 1y [default: the plan's term]
    #[arg(long, value_name = "SPAN", alias = "expires-in-days", allow_negative_numbers = true)]
    expires_in: Option<Days>,
    /// Time at which the license expires: its last valid day, such as 2027-12-31, or a time such as
    /// 2028-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", conflicts_with = "expires_in")]
    expires_at: Option<Expiry>,
    /// Assign the license to this user, by external id (repeatable); - reads a list from stdin
    #[arg(long, value_name = "USER", conflicts_with = "count")]
    assign: Vec<String>,
    /// Number of licenses to create
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = count)]
    count: Option<u32>,
    /// Give each license a key that users type, and print it once, before the next license is
    /// created; in CSV, in the column licenseKey. Not with --idempotency-key, because the key of a
    /// repeated command could not be shown again: make the keys yourself, and use --keys-from
    #[arg(long, conflicts_with = "idempotency_key")]
    with_key: bool,
    /// Import existing license keys: create a license for each line of this file; - for stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["with_key", "count", "assign", "idempotency_key"])]
    keys_from: Option<String>,
    /// Import keys of only 8 to 11 letters and digits, which are easily guessed
    #[arg(long, requires = "keys_from")]
    allow_short: bool,
    #[command(flatten)]
    metadata: MetadataFlags,
    /// Makes it safe to repeat the command: within a week, the same text and flags return the
    /// same licenses
    #[arg(long, value_name = "TEXT")]
    idempotency_key: Option<IdempotencyKey>,
    #[command(flatten)]
    new_users: NewUserFlags,
}

fn count(text: &str) -> std::result::Result<u32, &'static str> {
    let count = text.parse().ok().filter(|count| (1..=1000).contains(count));
    count.ok_or("must be a whole number from 1 to 1000")
}

/// One request of the command.
enum Step {
    /// With its number, and the key to import.
    Create(u32, Option<KeyText>),
    Assign(ExternalId),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(number, _) => write!(f, "license {number}"),
            Self::Assign(user) => write!(f, "assignment to {user}"),
        }
    }
}

impl CreateArgs {
    /// The licenses to create: with the keys of a file, or as many as are asked for.
    async fn creations(&self, ctx: &Context) -> Result<Vec<Step>> {
        let keys: Vec<Option<KeyText>> = match &self.keys_from {
            Some(file) => create_keys::read(ctx, file).await?.into_iter().map(Some).collect(),
            None => vec![None; self.count.unwrap_or(1) as usize],
        };
        Ok((1..).zip(keys).map(|(number, key)| Step::Create(number, key)).collect())
    }

    fn body(&self, plan_id: PlanId, user: Option<&ExternalId>) -> Result<CreateLicense> {
        Ok(CreateLicense {
            expires_in_days: self.expires_in.map(Days::get),
            expires_at: self.expires_at.map(Expiry::timestamp),
            name: self.name.clone(),
            metadata: self.metadata.read()?.of_new()?,
            assign_to: user.cloned().map(AssignLicense::to),
            plan_id,
            ..CreateLicense::default()
        })
    }
}

pub async fn run(ctx: &Context, args: CreateArgs) -> Result<View> {
    ctx.prompts.require(&[("--plan", args.plan.is_some())])?;
    let plan = match &args.plan {
        Some(given) => noun::plan(ctx, given, args.product.as_deref(), Purpose::Write).await?,
        None => plans::choose(ctx, args.product.as_deref(), Some("--plan")).await?,
    };
    let users = read_items(ctx, &args.assign).await?;
    let users = args.new_users.settle(ctx, users).await?;
    let users = users.iter().map(|user| noun::external_id(user)).collect::<Result<Vec<_>>>()?;
    let mut steps = args.creations(ctx).await?;
    let count = steps.len();
    if count == 0 {
        return nothing_to_do(ctx, FIELDS);
    }
    let question = format!("Create {count} licenses of plan {}?", plan.name);
    ctx.confirm_many(count, &question).await?;
    // The license is created for the first user, and then assigned to the others.
    steps.extend(users.iter().skip(1).cloned().map(Step::Assign));
    let body = args.body(plan.id, users.first())?;
    let keyed = match args.with_key || args.keys_from.is_some() {
        true => Some(KeyedLicenses::new(ctx, &body, args.allow_short, count)?),
        false => None,
    };
    let (client, new) = (ctx.client().await?, Cell::new(None));
    let run = Creation { ctx, client, args: &args, plan: &plan, body: &body, new };
    let take = async |step: &Step| match (step, &keyed) {
        (Step::Create(_, key), Some(keyed)) => Ok(run.noted(keyed.create(key.clone()).await?)),
        (Step::Create(number, _), None) => Ok(run.noted(run.create(*number).await?)),
        (Step::Assign(user), _) => run.assign(user).await,
    };
    let taken = in_order(ctx, &steps, take, |untried| run.advice(untried)).await;
    keyed.iter().try_for_each(KeyedLicenses::end)?;
    let taken = taken?;
    if keyed.is_some() && count > 1 {
        note_days(ctx, &plan, &body);
    }
    let made: Vec<ApiRecord<License>> = taken.done.into_iter().flatten().collect();
    if made.is_empty() {
        return Ok(View::planned());
    }
    let view = match keyed {
        Some(_) => View::printed(),
        None => noun::several(ctx, &made, &NameIndex::of(&[], std::slice::from_ref(&plan)))?,
    };
    Ok(said(view, &users, &plan, &made).exit(taken.exit))
}

/// The requests of a run.
struct Creation<'a> {
    ctx: &'a Context,
    client: &'a Client,
    args: &'a CreateArgs,
    plan: &'a Plan,
    body: &'a CreateLicense,
    /// The last license that was created, to which users are assigned.
    new: Cell<Option<LicenseId>>,
}

impl Creation<'_> {
    fn noted(&self, made: Option<ApiRecord<License>>) -> Option<Option<ApiRecord<License>>> {
        self.new.set(made.as_ref().map(|license| license.id));
        made.map(Some)
    }

    async fn create(&self, number: u32) -> Result<Option<ApiRecord<License>>> {
        let own = self.args.idempotency_key.as_ref().map(|key| key.of(number));
        let key = own.clone().unwrap_or_else(new_idempotency_key);
        let made = self.client.licenses().create_once(self.body, &key).await;
        let made = made.map_err(|error| match own {
            Some(_) => error.fix_in_doubt(REPEAT),
            None => error,
        })?;
        let waits = self.plan.expires_from == Some(ExpiresFrom::FirstValidation);
        let days = self.args.expires_in.map(Days::get).or(self.plan.expires_in_days);
        let days = days.filter(|_| waits);
        let made = made
            .map(|written| waiting(with_state(self.ctx, written.data, &Terms::default()), days));
        Ok(made.map(|made| with_name(made, self.body.name.as_ref(), self.body.metadata.as_ref())))
    }

    async fn assign(&self, user: &ExternalId) -> Result<Option<Option<ApiRecord<License>>>> {
        // On a dry run there is no id yet to put into the path.
        let id = self.new.get().map_or_else(|| "NEW-LICENSE".to_owned(), |id| id.to_string());
        let assigned = self.client.licenses().assign(&id, &AssignLicense::to(user.clone())).await;
        // Repeating the whole command would create another license.
        let fix = format!("licctl licenses assign {id} {}", quote(user.as_str()));
        Ok(assigned.map_err(|error| error.fix_in_doubt(fix))?.map(|_| None))
    }

    /// Returns how to continue after a failure.
    fn advice(&self, untried: &[Step]) -> String {
        match (untried, self.new.get()) {
            ([Step::Create(next, Some(_)), ..], _) => {
                format!("key {next} and those after it were not tried; import them with a new file")
            }
            ([Step::Assign(_), ..], Some(id)) => {
                let users = untried.iter().filter_map(Step::user);
                let users: Vec<_> = users.map(|user| quote(user.as_str())).collect();
                format!("continue with licctl licenses assign {id} {}", users.join(" "))
            }
            _ if self.args.idempotency_key.is_some() => REPEAT.to_owned(),
            _ => format!("create the rest with --count {}", untried.len()),
        }
    }
}

/// Warns that keys for stock lose the days until they are sold.
fn note_days(ctx: &Context, plan: &Plan, body: &CreateLicense) {
    let has_days = body.expires_in_days.or(plan.expires_in_days).is_some();
    let waits = plan.expires_from == Some(ExpiresFrom::FirstValidation);
    if has_days && !waits && body.expires_at.is_none() {
        ctx.note(&format!(
            "the days of these licenses count from today; for keys that are sold later, let them count \
             from the first use: licctl plans update {} --expires-from firstValidation",
            plan.id
        ));
    }
}

/// The record of a new license, which does not say by itself that its days have not begun.
fn waiting(made: ApiRecord<License>, days: Option<ExpiresInDays>) -> ApiRecord<License> {
    match days.filter(|_| made.expires_at.is_none()) {
        Some(days) => made.with_member("expiresAt", STARTS_WITH, days.get()),
        None => made,
    }
}

impl Step {
    fn user(&self) -> Option<&ExternalId> {
        match self {
            Self::Create(..) => None,
            Self::Assign(user) => Some(user),
        }
    }
}

/// Says what was created, and what to do next.
fn said(
    view: View,
    users: &[ExternalId],
    plan: &ApiRecord<Plan>,
    made: &[ApiRecord<License>],
) -> View {
    let what = match made {
        [one] => format!("license {}", one.id),
        _ => format!("{} licenses", made.len()),
    };
    let names: Vec<&str> = users.iter().map(ExternalId::as_str).collect();
    match (users.first(), made.first()) {
        (Some(first), _) => view
            .changed(format!("Created {what} of plan {} for {}.", plan.name, names.join(", ")))
            .next(format!("licctl validate {}", quote(first.as_str()))),
        (None, Some(license)) => view
            .changed(format!("Created {what} of plan {}.", plan.name))
            .next(format!("licctl licenses assign {} USER", license.id)),
        (None, None) => view,
    }
}
