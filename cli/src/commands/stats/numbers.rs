//! `licctl stats plans` and `licctl stats months`: licenses in force, seats sold and active users.

use chrono::NaiveDate;
use common::{MonthNumbers, Numbers, PlanNumbers, month_of};
use serde::Serialize;

use crate::commands::prelude::*;

/// Fields of the numbers, in CSV.
macro_rules! number_fields {
    () => {
        " licenses seats unlimited heldLimited heldUnlimited active full over waiting waitingSeats \
          started ended"
    };
}

#[derive(Subcommand)]
pub enum Verb {
    Plans(PlansArgs),
    Months(MonthsArgs),
}

/// Show licenses, seats and active users by plan
#[derive(Args)]
pub struct PlansArgs {
    /// The day (in UTC), such as 2027-01-31 [default: today]
    #[arg(long, value_name = "DAY")]
    at: Option<NaiveDate>,
    /// Leave out plans of trials
    #[arg(long)]
    no_trials: bool,
}

/// Show licenses, seats, active users and validations by month
#[derive(Args)]
pub struct MonthsArgs {
    /// First month, such as 2027-01 [default: a year before the last]
    #[arg(long, value_name = "MONTH", value_parser = month)]
    from: Option<String>,
    /// Last month [default: the present one]
    #[arg(long, value_name = "MONTH", value_parser = month)]
    to: Option<String>,
    /// Leave out plans of trials
    #[arg(long)]
    no_trials: bool,
}

fn month(text: &str) -> std::result::Result<String, &'static str> {
    month_of(text).map(|_| text.to_owned()).ok_or("must be a month, such as 2027-01")
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::Plans(args) => plans(ctx, args).await,
        Verb::Months(args) => months(ctx, args).await,
    }
}

async fn plans(ctx: &Context, args: PlansArgs) -> Result<View> {
    let query = Query::default().with("at", args.at).with("trial", args.no_trials.then_some(false));
    let statistics = ctx.client().await?.plan_statistics(query).await?;
    let names = NameIndex::for_display(ctx).await;
    let mut rows: Vec<Vec<TextCell>> = Vec::new();
    for PlanNumbers { plan_id, numbers } in &statistics.plans {
        rows.push(row(TextCell::text(names.plan(*plan_id)), numbers, &[]));
    }
    if !rows.is_empty() && ctx.io.terminals.stdout {
        rows.push(row(TextCell::text("total"), &statistics.total, &[]));
    }
    let ids = statistics.plans.iter().map(|plan| plan.plan_id.to_string()).collect();
    let table = Table::new(&columns("PLAN", &[])).with(rows);
    let fields = concat!("planId", number_fields!());
    view(&statistics, ids, &statistics.plans, fields, table)
}

async fn months(ctx: &Context, args: MonthsArgs) -> Result<View> {
    let query = Query::default()
        .with("from", args.from)
        .with("to", args.to)
        .with("trial", args.no_trials.then_some(false));
    let statistics = ctx.client().await?.month_statistics(query).await?;
    let cells = |it: &MonthNumbers| {
        let counts = [it.validations.total, it.validations.total - it.validations.valid];
        row(TextCell::text(&it.month), &it.numbers, &counts)
    };
    let table = Table::new(&columns("MONTH", &["VALIDATIONS", "REFUSED"]))
        .with(statistics.months.iter().map(cells));
    let ids = statistics.months.iter().map(|it| it.month.clone()).collect();
    let fields = concat!(
        "month",
        number_fields!(),
        " validations=/validations/total valid=/validations/valid"
    );
    view(&statistics, ids, &statistics.months, fields, table)
}

fn columns(first: &'static str, more: &[&'static str]) -> Vec<Column> {
    let numbers = ["LICENSES", "SEATS", "HELD", "ACTIVE", "FULL", "OVER", "NEW", "ENDED"];
    let titles = [first].into_iter().chain(numbers).chain(more.iter().copied());
    titles.map(|title| Column::new(title, 0)).collect()
}

fn row(first: TextCell, it: &Numbers, more: &[i64]) -> Vec<TextCell> {
    let numbers =
        [it.licenses, it.seats, it.held(), it.active, it.full, it.over, it.started, it.ended];
    let numbers = numbers.iter().chain(more).map(TextCell::of);
    [first].into_iter().chain(numbers).collect()
}

fn view(
    statistics: &impl Serialize,
    ids: Vec<String>,
    records: &impl Serialize,
    fields: &str,
    table: Table,
) -> Result<View> {
    let records = serde_json::to_value(records).map_err(Error::internal)?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let rows = records.as_array().cloned().unwrap_or_default();
    Ok(View::new(statistics, ids)?.rows(rows, &fields).table(table).or_when_empty(NONE_YET))
}

const NONE_YET: &str =
    "No numbers yet. The server counts them every hour, once there are licenses.";
