//! `licctl import`: moves products, plans, licenses, users and license keys from another service. A
//! jq program turns the export into rows, and this importer turns rows into records.

mod catalog;
mod compare;
mod license;
mod rows;
mod sources;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::ValueHint;
use common::Mode;
use serde_json::json;

use crate::bulk::{self, BulkResult, BulkTask, NewUserFlags, RowState};
use crate::commands::bulk_view;
use crate::commands::prelude::*;
use crate::output::IdleTime;
use crate::terminal::read_file;
use catalog::Catalog;
use license::{Imported, LicenseImport};
use rows::{ImportedLicense, UserIdFrom, licenses};
use sources::{MemberColumn, Source};

const COLUMNS: [Column; 6] = [
    Column::flexible("PRODUCT", 2),
    Column::flexible("PLAN", 1),
    Column::new("LICENSES", 0),
    Column::new("NEW", 0),
    Column::new("USERS", 0),
    Column::new("KEYS", 0),
];
/// The columns of CSV.
const FIELDS: &str = "line sourceId state licenseId=/answer/licenseId error=/error/message";

/// Import licenses, users and license keys from another service
///
/// Reads the export of the other service: JSON or CSV files, or folders of them. A second run creates
/// only what is new in the export and changes nothing else, so licenses that you have changed in licd
/// stay. --dry-run shows what would be created, and what has no place in licd.
#[derive(Args)]
pub struct ImportArgs {
    /// Files of the export, or folders of them
    #[arg(value_hint = ValueHint::AnyPath, required_unless_present = "print_mapping")]
    paths: Vec<PathBuf>,
    /// Service that wrote the export
    #[arg(long, required_unless_present_any = ["mapping", "print_mapping"])]
    from: Option<Source>,
    /// jq program of your own that turns the export into rows
    #[arg(long, value_name = "FILE.jq", conflicts_with = "from", value_hint = ValueHint::FilePath)]
    mapping: Option<PathBuf>,
    /// Print the mapping of a service, to copy and change it
    #[arg(long, value_name = "SERVICE", conflicts_with_all = ["from", "mapping"])]
    print_mapping: Option<Source>,
    /// With a CSV file, read a member of a row from another column, such as plan=Variant (repeatable)
    #[arg(long, value_name = "MEMBER=COLUMN")]
    map: Vec<MemberColumn>,
    /// Value that becomes the user id, which your application sends
    #[arg(long, default_value = "email")]
    user_id: UserIdFrom,
    /// Validate each new user, those who were checked last first, so that they hold their seats
    #[arg(long)]
    take_seats: bool,
    /// Idle time of the seats of new plans, such as 90d, after which another user takes them over
    #[arg(long, value_name = "SPAN")]
    idle: Option<IdleTime>,
    /// Change nothing: compare what the export and licd say of each user, and exit with 10 if they
    /// differ
    #[arg(long, conflicts_with_all = ["take_seats", "idle"])]
    compare: bool,
    #[command(flatten)]
    report: bulk::ReportFlags,
}

pub async fn run(ctx: &Context, args: ImportArgs) -> Result<View> {
    if let Some(source) = args.print_mapping {
        ctx.io.data(source.mapping())?;
        return Ok(View::printed());
    }
    let (source, code) = match (&args.from, &args.mapping) {
        (Some(source), _) => (source.name(), source.mapping().to_owned()),
        (None, Some(path)) => {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (name, read_file(&path.display().to_string())?)
        }
        (None, None) => return Err(Error::usage("--from or --mapping is missing.")),
    };
    let rows = sources::rows(ctx, &code, &args.paths, &args.map)?;
    if rows.is_empty() {
        return Err(Error::usage("The export has no licenses.")
            .fix("check the files, and that --from names the service that wrote them"));
    }
    if args.user_id == UserIdFrom::Key {
        ctx.note("each license key is a user id, so everyone who sees user ids sees it");
    }
    let mut found = licenses(&rows, args.user_id)?;
    leave_out_tests(ctx, &mut found).await?;
    let mut catalog = Catalog::read(ctx).await?;
    if args.compare {
        return compare::run(ctx, &found, &catalog).await;
    }
    let imported = Imported::read(ctx, &source).await?;
    if ctx.globals.dry_run {
        return summary(&found, &imported);
    }
    let client = ctx.client().await?;
    let task = BulkTask {
        verb: "Import",
        name: format!("import {source} at {}", client.label()),
        always_reports: true,
        is_repeatable: true,
        new_users: NewUserFlags { create_user: true, existing_only: false },
    };
    let count = found.iter().filter(|it| imported.get(it).is_none()).count();
    ctx.confirm_many(count, &format!("Import {count} new licenses?")).await?;
    catalog.complete(ctx, &found, args.idle.map(IdleTime::get)).await?;
    let takes_seats = args.take_seats;
    let import = &LicenseImport {
        client,
        source: &source,
        catalog: &catalog,
        imported: &imported,
        takes_seats,
    };
    let act = |it: ImportedLicense, key: String| async move { import.run(&it, &key).await };
    let finished =
        bulk::run_rows(ctx, &args.report, task, found, async |_: &[_]| Ok(()), act).await?;
    note_what_stays(ctx, &finished);
    bulk_view(&finished, &[FIELDS])
}

/// Removes the licenses of the source's test mode from an import into the live mode.
async fn leave_out_tests(ctx: &Context, found: &mut Vec<ImportedLicense>) -> Result<()> {
    if ctx.client().await?.key().mode() == Mode::Test {
        return Ok(());
    }
    let before = found.len();
    found.retain(|license| !license.terms.test_mode);
    if found.len() < before {
        let left_out = before - found.len();
        ctx.note(&format!(
            "left out {left_out} licenses of the test mode; import them with a test key"
        ));
    }
    Ok(())
}

/// Notes of the licenses, with the number of each.
fn notes<'a>(all: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut counts = BTreeMap::new();
    for note in all {
        *counts.entry(note).or_insert(0) += 1;
    }
    counts.into_iter().map(|(note, count)| format!("no place in licd: {note} ({count})")).collect()
}

fn note_what_stays(ctx: &Context, finished: &BulkResult) {
    let done = finished.lines.iter().filter(|line| line.state == RowState::Done);
    let answers = done.filter_map(|line| line.answer["notes"].as_array());
    for note in notes(answers.flatten().filter_map(|note| note.as_str())) {
        ctx.note(&note);
    }
}

/// Numbers of the records that an import would create, by plan.
fn summary(found: &[ImportedLicense], imported: &Imported) -> Result<View> {
    let mut plans = BTreeMap::<(&str, &str), [usize; 4]>::new();
    for license in found {
        let names = (license.terms.product.as_str(), license.terms.plan.as_str());
        let [licenses, new, users, keys] = plans.entry(names).or_default();
        *licenses += 1;
        *new += usize::from(imported.get(license).is_none());
        *users += license.holders.len();
        *keys += usize::from(license.terms.key.is_some());
    }
    let row = |(names, counts): (&(&str, &str), &[usize; 4])| {
        let names = [names.0, names.1].map(TextCell::text);
        names.into_iter().chain(counts.map(TextCell::of)).collect()
    };
    let table = Table::new(&COLUMNS).with(plans.iter().map(row));
    let notes = notes(found.iter().flat_map(|it| it.notes.iter().map(String::as_str)));
    let json: Vec<_> = plans
        .iter()
        .map(|((product, plan), [licenses, new, users, keys])| {
            json!({ "product": product, "plan": plan, "licenses": licenses, "newLicenses": new,
                "users": users, "keys": keys })
        })
        .collect();
    let json = json!({ "plans": json, "notes": notes });
    let mut view = View::new(json, Vec::new())?.table(table);
    for note in notes {
        view = view.line(TextCell::text(note));
    }
    Ok(view.line(TextCell::text("Dry run: nothing was changed.")))
}
