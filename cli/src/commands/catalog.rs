//! `licctl apply`, `diff` and `export`: products and plans as code.

mod difference;
mod manifest;

use std::cell::Cell;

use clap::ValueHint;
use common::{Plan, Product};
use serde_json::{Value, json};

use crate::bulk::in_order;
use crate::commands::prelude::*;
use crate::escape::clean;
use difference::{Action, CatalogStep};
use manifest::Manifest;

/// Create and update products and plans from a file
///
/// Products are matched by name, and plans by name within their product. Nothing is deleted:
/// records and fields that the file omits stay as they are, and null clears a field. Applying a
/// file again changes nothing. With --dry-run, only the differences are shown, as by licctl diff. A
/// plan has the fields of the API, such as maxSeats and features; licctl export writes all of them.
#[derive(Args)]
pub struct ApplyArgs {
    /// YAML or JSON file, - for stdin
    #[arg(short, long, value_hint = ValueHint::FilePath)]
    file: String,
}

/// Show the changes that apply would make; exit with 10 if there are any
#[derive(Args)]
pub struct DiffArgs {
    /// YAML or JSON file, - for stdin
    #[arg(short, long, value_hint = ValueHint::FilePath)]
    file: String,
    /// Also list products and plans that exist only on the server, as differences
    #[arg(long)]
    strict: bool,
}

/// Print all products and plans in the format that apply reads
#[derive(Args)]
pub struct ExportArgs {}

/// The products and plans of the service.
struct Catalog {
    products: Vec<ApiRecord<Product>>,
    plans: Vec<ApiRecord<Plan>>,
}

impl Catalog {
    async fn load(ctx: &Context) -> Result<Self> {
        let (products, plans) =
            tokio::try_join!(noun::all::<Product>(ctx), noun::plans(ctx, None))?;
        Ok(Self { products, plans })
    }
}

pub async fn diff(ctx: &Context, args: DiffArgs) -> Result<View> {
    let manifest = Manifest::read(ctx, &args.file).await?;
    let catalog = Catalog::load(ctx).await?;
    let steps = difference::between(&catalog, &manifest)?;
    let drift = steps.iter().any(|step| is_difference(step.action, args.strict));
    Ok(preview(&steps, args.strict)?.exit(if drift { Exit::Negative } else { Exit::Success }))
}

fn is_difference(action: Action, is_strict: bool) -> bool {
    action.is_change() || is_strict && action == Action::Unlisted
}

pub async fn apply(ctx: &Context, args: ApplyArgs) -> Result<View> {
    let manifest = Manifest::read(ctx, &args.file).await?;
    let catalog = Catalog::load(ctx).await?;
    let steps = difference::between(&catalog, &manifest)?;
    if ctx.globals.print_curl {
        return planned_steps(ctx, &steps).await;
    }
    if ctx.globals.dry_run {
        return Ok(preview(&steps, false)?.changed("Dry run: nothing was changed."));
    }
    let client = ctx.client().await?;
    let new_product = Cell::new(None);
    let open: Vec<&CatalogStep> = steps.iter().filter(|step| step.action.is_change()).collect();
    confirm(ctx, &open).await?;
    let take = async |step: &&CatalogStep| {
        let taken = step.take(client, &new_product).await;
        // If a request without a response took effect, applying again finds the record by name.
        taken.map_err(|error| error.fix_in_doubt("apply the file again; that is safe"))
    };
    let advice = |_: &[&CatalogStep]| "apply the file again to continue".to_owned();
    let taken = in_order(ctx, &open, take, advice).await?;
    let sentence = match taken.done.len() {
        1 => "Applied 1 change.".to_owned(),
        many => format!("Applied {many} changes."),
    };
    // The steps were taken in this order, each with its record's id.
    let mut ids = taken.done.into_iter();
    let mut shown = Vec::new();
    for step in steps.iter().filter(|step| step.action != Action::Unlisted) {
        let id = if step.action.is_change() { ids.next() } else { step.id.clone() };
        shown.extend(id.map(|id| (step, Some(id))));
    }
    let view = show(&shown, false)?.or_when_empty("Nothing to change.");
    Ok(view.changed(sentence).exit(taken.exit))
}

/// Shows a person the changes, and asks before they are made in live mode.
async fn confirm(ctx: &Context, open: &[&CatalogStep]) -> Result<()> {
    if open.is_empty() || !ctx.confirms_in_live_mode().await? {
        return Ok(());
    }
    open.iter().for_each(|step| ctx.io.say(&format!("{}\n", clean(&step.line()))));
    let question = match open {
        [_] => "Apply this change?",
        _ => "Apply these changes?",
    };
    ctx.confirm_loss(question).await
}

/// The requests of the steps, as far as they can be known before the first is sent.
async fn planned_steps(ctx: &Context, steps: &[CatalogStep]) -> Result<View> {
    let client = ctx.client().await?;
    let no_product = Cell::new(None);
    for step in steps.iter().filter(|step| step.action.is_change()) {
        if step.needs_new_product() {
            return Err(Error::usage("Cannot print the requests for this file.")
                .because(format!(
                    "The request for {step} needs the id of a product that does not exist yet."
                ))
                .fix("use --dry-run to see the differences"));
        }
        step.take(client, &no_product).await?;
    }
    Ok(View::planned())
}

pub async fn export(ctx: &Context, _: ExportArgs) -> Result<View> {
    let manifest = Manifest::of(&Catalog::load(ctx).await?)?;
    Ok(View::new(&manifest, Vec::new())?.document())
}

/// The steps before any is taken, with their number. Text names what is only on the server if that
/// counts as a difference, as it may be much.
fn preview(steps: &[CatalogStep], is_strict: bool) -> Result<View> {
    let shown: Vec<_> = steps.iter().map(|step| (step, step.id.clone())).collect();
    let count = |action| steps.iter().filter(|step| step.action == action).count();
    let mut summary = format!(
        "{} to create, {} to update, {} the same",
        count(Action::Create),
        count(Action::Update),
        count(Action::Same),
    );
    if count(Action::Unlisted) > 0 {
        summary += &format!(", {} only on the server", count(Action::Unlisted));
        summary += if is_strict { "" } else { " (diff --strict lists them)" };
    }
    Ok(show(&shown, is_strict)?.line(TextCell::text(summary)))
}

/// The steps with the ids of their records; text leaves out those that are no difference.
fn show(steps: &[(&CatalogStep, Option<String>)], is_strict: bool) -> Result<View> {
    let json: Vec<Value> = steps.iter().map(|(step, id)| json_of(step, id.as_deref())).collect();
    let ids = steps.iter().filter_map(|(_, id)| id.clone()).collect();
    let mut view = View::new(json, ids)?.fields(&["action kind name id changes"]);
    for (step, _) in steps.iter().filter(|(step, _)| is_difference(step.action, is_strict)) {
        let line = TextCell::text(step.line());
        view = view.line(match step.action {
            Action::Update => line.toned(Tone::Warning),
            Action::Unlisted => line,
            Action::Create | Action::Same => line.toned(Tone::Good),
        });
    }
    Ok(view)
}

fn json_of(step: &CatalogStep, id: Option<&str>) -> Value {
    let changes = step.changes.iter();
    let changes =
        changes.map(|(field, have, want)| (field.clone(), json!({ "have": have, "want": want })));
    json!({
        "action": step.action.names().1,
        "kind": step.kind,
        "name": step.title,
        "id": id,
        "changes": changes.collect::<serde_json::Map<_, _>>(),
    })
}
