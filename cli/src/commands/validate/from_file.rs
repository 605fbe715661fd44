//! `licctl validate --from`: validates every user of a file.

use common::{Feature, ProductId, Validate};

use super::answer::{COLUMNS, ValidationResult, judge_validation};
use crate::bulk::{self, BulkFlags, BulkTask, ERROR_FIELD, LINE_FIELDS, NewUserFlags, RowState};
use crate::commands::prelude::*;

/// The columns of an answer; those before and after it are of the row.
const ANSWER_FIELDS: &str = "valid=/answer/valid reason=/answer/reason \
    licenseId=/answer/license/id planId=/answer/license/planId \
    expiresAt=/answer/license/expiresAt features=/answer/features \
    missingFeatures=/answer/missingFeatures";

/// Flags that validate the users of a file.
#[derive(clap::Args)]
pub struct FromFile {
    /// Validate the users in this file: CSV with a column userId or externalId, or JSON lines; -
    /// for stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["users", "explain"])]
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub from: Option<String>,
    #[command(flatten)]
    pub bulk: BulkFlags,
}

pub async fn run(
    ctx: &Context,
    (args, new_users): (&FromFile, NewUserFlags),
    file: &str,
    product: Option<ProductId>,
    (features, expected): (&[Feature], Option<&str>),
) -> Result<View> {
    let client = ctx.client().await?;
    let of_product = product.map_or_else(String::new, |product| format!(" --product {product}"));
    // A report is for one product and one set of required features.
    let required: String = features.iter().map(|feature| format!(" --feature {feature}")).collect();
    let name = format!("validate{of_product}{required} at {}", client.label());
    let (always_reports, is_repeatable) = (false, true);
    let task = BulkTask { verb: "Validate", name, always_reports, is_repeatable, new_users };
    let finished = bulk::run(ctx, &args.bulk, file, task, |row, _| async move {
        let body = Validate { user_id: row.user, product_id: product };
        let written = client.validate(&body).await?;
        let judged = written.map(|written| judge_validation(&written.data, features));
        Ok((RowState::Done, judged.transpose().ok().flatten().unwrap_or_default()))
    })
    .await?;
    // The exit code covers all users of the file, including those of earlier runs.
    let mut lines = [finished.before, finished.lines].concat();
    lines.sort_by_key(|line| line.line);
    let mut table = Table::new(&COLUMNS);
    let mut fits = true;
    for line in &lines {
        let Some(asked) = ValidationResult::reported(line.id(), &line.answer) else {
            let why = line.error["message"].as_str().unwrap_or("not sent");
            let [empty, last] = [TextCell::text(""), TextCell::text("")];
            table.row(vec![
                TextCell::text(line.id()),
                TextCell::text("error"),
                TextCell::text(why),
                empty,
                last,
            ]);
            continue;
        };
        fits &= asked.is_expected(expected);
        table.row(asked.cells());
    }
    let ids = lines.iter().map(|line| line.id().to_owned()).collect();
    let exit = if finished.exit == Exit::Success && !fits { Exit::Negative } else { finished.exit };
    Ok(View::new(&lines, ids)?
        .fields(&[LINE_FIELDS, ANSWER_FIELDS, ERROR_FIELD])
        .table(table)
        .exit(exit))
}
