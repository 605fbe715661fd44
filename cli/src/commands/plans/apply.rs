//! `licctl plans apply`: gives the licenses that were sold what their plan says now. What a customer
//! would lose may be what sales agreed with them, so it is applied only when asked for.

use std::fmt::{self, Display};

use clap::builder::PossibleValuesParser;
use common::{LicenseField, LicenseId, MaxSeats, Name, Plan, PlanTerms, Timestamp, UpdateLicense};
use serde::Serialize;

use super::{PlanArgs, given_or_chosen, seats};
use crate::bulk::for_each_item;
use crate::client::LicenseWithSeats;
use crate::commands::prelude::*;
use crate::noun::term_changes;

const COLUMNS: [Column; 4] = [
    Column::new("ID", 0),
    Column::flexible("NAME", 2),
    Column::kept("CHANGES"),
    Column::kept("RESULT"),
];

/// Give sold licenses the seats, features and terms that their plan has now
///
/// A license that would lose any of these stays as it is, because you may have agreed on them with
/// the customer; --with-losses changes it too. Held seats and ends stay. With --dry-run the changes
/// are shown, and the exit code is 10 if a license would lose something.
#[derive(Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// Field to apply (repeatable, or comma-separated) [default: all]
    #[arg(long = "field", value_name = "FIELD", value_delimiter = ',', value_parser = field())]
    fields: Vec<String>,
    /// Change licenses that lose something too
    #[arg(long)]
    with_losses: bool,
}

const MAX_SEATS: &str = "maxSeats";
const FEATURES: &str = "features";

/// The fields that a plan gives to licenses.
fn field() -> PossibleValuesParser {
    PossibleValuesParser::new([&[MAX_SEATS, FEATURES], PlanTerms::NAMES].concat())
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum ApplyOutcome {
    Planned,
    Kept,
    Applied,
}

/// A license that is not as its plan says.
#[derive(Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Difference {
    id: LicenseId,
    name: Option<Name>,
    result: ApplyOutcome,
    changes: Vec<String>,
    /// Returns the changes that remove something.
    losses: Vec<String>,
    #[serde(skip)]
    body: UpdateLicense,
    #[serde(skip)]
    updated_at: Timestamp,
}

impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

pub async fn run(ctx: &Context, args: ApplyArgs) -> Result<View> {
    let plan = given_or_chosen(ctx, &args.plan, Purpose::Write).await?;
    let of_plan = Query::default().with("planId", Some(plan.id));
    let licenses = ctx.client().await?.licenses().list(of_plan).await?;
    let wanted = |field: &str| args.fields.is_empty() || args.fields.iter().any(|it| it == field);
    let all = licenses.iter().map(|it| Difference::between(it, &plan, wanted));
    let mut all: Vec<_> = all.filter(|it| !it.changes.is_empty()).collect();
    for it in all.iter_mut().filter(|it| !it.losses.is_empty() && !args.with_losses) {
        it.result = ApplyOutcome::Kept;
    }
    let loses = all.iter().any(|it| !it.losses.is_empty());
    if ctx.globals.dry_run && !ctx.globals.print_curl {
        let view = view(&plan, &all)?.changed("Dry run: nothing was changed.");
        return Ok(view.exit(if loses { Exit::Negative } else { Exit::Success }));
    }
    let (open, kept): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|it| it.result == ApplyOutcome::Planned);
    confirm(ctx, &plan, &open).await?;
    let client = ctx.client().await?;
    let applied = for_each_item(ctx, &open, |it| async move {
        let answer = client.licenses().update(it.id, &it.body, Some(it.updated_at)).await?;
        Ok(answer.map(|_| Difference { result: ApplyOutcome::Applied, ..it }))
    })
    .await?;
    let kept_as_is = match kept.len() {
        0 => String::new(),
        many => format!(" Kept {} that would lose something; see --with-losses.", counted(many)),
    };
    let done = counted(applied.done.len());
    let shown = [applied.done, kept].concat();
    let view = view(&plan, &shown)?.exit(applied.exit);
    Ok(view.changed(format!("Applied plan {} to {done}.{kept_as_is}", plan.name)))
}

/// Asks before licenses lose something, and before many licenses change.
async fn confirm(ctx: &Context, plan: &Plan, open: &[Difference]) -> Result<()> {
    let losers = open.iter().filter(|it| !it.losses.is_empty()).count();
    let question = format!("Apply plan {} to {}", plan.name, counted(open.len()));
    match losers {
        0 => ctx.confirm_many(open.len(), &format!("{question}?")).await,
        _ => ctx.confirm_loss(&format!("{question}, of which {losers} lose something?")).await,
    }
}

fn view(plan: &Plan, shown: &[Difference]) -> Result<View> {
    let row = |it: &Difference| {
        let result = match it.result {
            ApplyOutcome::Planned => TextCell::text("planned"),
            ApplyOutcome::Kept => TextCell::text("kept, as it would lose").toned(Tone::Warning),
            ApplyOutcome::Applied => TextCell::text("applied").toned(Tone::Good),
        };
        let name = TextCell::maybe(it.name.as_ref());
        vec![TextCell::of(it.id), name, TextCell::text(it.changes.join(", ")), result]
    };
    let ids = shown.iter().map(|it| it.id.to_string()).collect();
    let view = View::new(shown, ids)?.fields(&["id name result changes losses"]);
    let view = view.table(Table::new(&COLUMNS).with(shown.iter().map(row)));
    Ok(view.or_when_empty(format!("All licenses of plan {} are as it says.", plan.name)))
}

impl Difference {
    fn between(
        license: &ApiRecord<LicenseWithSeats>,
        plan: &Plan,
        wanted: impl Fn(&str) -> bool,
    ) -> Self {
        let mut it = Self {
            id: license.id,
            name: license.name.clone(),
            result: ApplyOutcome::Planned,
            changes: Vec::new(),
            losses: Vec::new(),
            body: UpdateLicense::default(),
            updated_at: license.updated_at,
        };
        if wanted(MAX_SEATS) {
            it.compare_seats(license, plan.max_seats);
        }
        if wanted(FEATURES) {
            it.compare_features(license, plan);
        }
        let mut changed = term_changes(&license.terms, &plan.terms);
        changed.retain(|it| wanted(it.field));
        let fields: Vec<&str> = changed.iter().map(|it| it.field).collect();
        for absent in plan.terms.absent::<LicenseField>() {
            it.clear(absent, fields.contains(&absent.as_str()));
        }
        it.body = it.body.with_terms(plan.terms.only(&fields));
        for change in changed {
            it.add(change.sentence, change.is_loss);
        }
        it
    }

    fn compare_seats(&mut self, license: &LicenseWithSeats, now: Option<MaxSeats>) {
        let was = license.max_seats;
        if was == now {
            return;
        }
        let held = i64::from(license.seats.used);
        let over = now.filter(|max| held > i64::from(max.get()));
        let over = over.map_or_else(String::new, |_| format!(" ({held} in use)"));
        let is_loss = now.is_some_and(|now| was.is_none_or(|was| now < was));
        self.add(format!("seats {} → {}{over}", seats(was), seats(now)), is_loss);
        self.body.max_seats = now;
        self.clear(LicenseField::MaxSeats, now.is_none());
    }

    fn compare_features(&mut self, license: &LicenseWithSeats, plan: &Plan) {
        let (was, now) = (&license.features, &plan.features);
        for feature in now.iter().filter(|it| !was.contains(it)) {
            self.add(format!("+{feature}"), false);
            self.body.features = Some(now.clone());
        }
        for feature in was.iter().filter(|it| !now.contains(it)) {
            self.add(format!("-{feature}"), true);
            self.body.features = Some(now.clone());
        }
    }

    fn add(&mut self, change: String, is_loss: bool) {
        if is_loss {
            self.losses.push(change.clone());
        }
        self.changes.push(change);
    }

    fn clear(&mut self, field: LicenseField, is_cleared: bool) {
        if is_cleared {
            self.body.clear.get_or_insert_default().push(field);
        }
    }
}

fn counted(count: usize) -> String {
    if count == 1 { "1 license".to_owned() } else { format!("{count} licenses") }
}
