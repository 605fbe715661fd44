//! `licctl apply`, `diff` and `export`: products and plans as code.

mod difference;
mod manifest;

use clap::{Args, ValueHint};
use common::{Plan, Product};
use serde_json::{Value, json};

use crate::client::ApiRecord;
use crate::context::Context;
use crate::error::{Exit, Result};
use crate::output::View;
use crate::output::cell::{TextCell, Tone};
use crate::resolve;
use difference::{Action, CatalogStep, FieldChange};
use manifest::Manifest;

/// Create and update products and plans from a file
///
/// A product matches by its name, and a plan by its name within the product. Applying deletes
/// nothing, leaves records that the file does not name as they are, and clears fields that the file
/// omits. Applying a file a second time changes nothing. With --dry-run nothing changes: the
/// differences are shown, as by the diff command.
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl export > catalog.yaml
  licctl apply -f catalog.yaml

The file:
  version: 1
  products:
    - name: Acme Studio
      plans:
        - name: Pro annual
          maxSeats: 5
          expiresInDays: 365
          features: [export, sso]")]
pub struct ApplyArgs {
    /// File in YAML or JSON; - for stdin
    #[arg(short, long, value_hint = ValueHint::FilePath)]
    file: String,
}

/// Show the changes that apply would make; exits with 10 if there are any
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl diff -f catalog.yaml   exits 0 without differences, else 10

Signs:
  + create   ~ update (field: have → want)   = same")]
pub struct DiffArgs {
    /// File in YAML or JSON; - for stdin
    #[arg(short, long, value_hint = ValueHint::FilePath)]
    file: String,
}

/// Print all products and plans in the format that apply reads
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl export > catalog.yaml")]
pub struct ExportArgs {}

/// The products and plans of the service.
struct Catalog {
    products: Vec<ApiRecord<Product>>,
    plans: Vec<ApiRecord<Plan>>,
}

impl Catalog {
    async fn load(ctx: &Context) -> Result<Self> {
        let (products, plans) =
            tokio::try_join!(resolve::products(ctx), resolve::plans(ctx, None))?;
        Ok(Self { products, plans })
    }
}

pub async fn diff(ctx: &Context, args: DiffArgs) -> Result<View> {
    let manifest = Manifest::read(ctx, &args.file).await?;
    let catalog = Catalog::load(ctx).await?;
    let steps = difference::between(&catalog, &manifest)?;
    let drift = steps.iter().any(|step| step.action != Action::Same);
    Ok(show(&steps)?.exit(if drift { Exit::Negative } else { Exit::Success }))
}

pub async fn apply(ctx: &Context, args: ApplyArgs) -> Result<View> {
    let manifest = Manifest::read(ctx, &args.file).await?;
    let catalog = Catalog::load(ctx).await?;
    let steps = difference::between(&catalog, &manifest)?;
    if ctx.globals.dry_run {
        return Ok(show(&steps)?.changed("No change was sent."));
    }
    let mut done = 0;
    let mut new_product = None;
    for step in &steps {
        match step.take(ctx, new_product).await {
            Ok(product) => new_product = product.or(new_product),
            Err(error) => {
                ctx.note(&format!(
                    "{done} changes were applied before this error; apply the file again"
                ));
                return Err(error);
            }
        }
        done += usize::from(step.action != Action::Same);
    }
    let sentence = match done {
        0 => "There is nothing to change.".to_owned(),
        1 => "Applied 1 change.".to_owned(),
        many => format!("Applied {many} changes."),
    };
    Ok(show(&steps)?.changed(sentence))
}

pub async fn export(ctx: &Context, _: ExportArgs) -> Result<View> {
    let manifest = Manifest::of(&Catalog::load(ctx).await?);
    View::new(&manifest, Vec::new())?.document()
}

fn show(steps: &[CatalogStep]) -> Result<View> {
    let json: Vec<Value> = steps.iter().map(json_of).collect();
    let ids = steps.iter().filter_map(CatalogStep::id).collect();
    let mut view = View::new(json, ids)?;
    for step in steps {
        let line = format!("{} {} {}", step.action.sign(), step.kind(), step.title());
        let changes: Vec<String> = step.changes.iter().map(FieldChange::to_string).collect();
        let line = if step.action == Action::Update {
            TextCell::text(format!("{line} ({})", changes.join("; "))).toned(Tone::Warning)
        } else if step.action == Action::Create {
            TextCell::text(line).toned(Tone::Good)
        } else {
            TextCell::text(line)
        };
        view = view.line(line);
    }
    Ok(view)
}

fn json_of(step: &CatalogStep) -> Value {
    let changes = step.changes.iter().map(|change| {
        let pair = json!({ "have": change.have, "want": change.want });
        (change.field.to_owned(), pair)
    });
    json!({
        "action": step.action.word(),
        "kind": step.kind(),
        "name": step.title(),
        "id": step.id(),
        "changes": changes.collect::<serde_json::Map<_, _>>(),
    })
}
