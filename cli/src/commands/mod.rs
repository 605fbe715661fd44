//! The commands, one file for each noun: their arguments, requests and output.

pub mod api;
pub mod catalog;
mod doctor;
mod items;
pub mod keys;
pub mod licenses;
mod lists;
pub mod login;
pub mod manual;
pub mod plans;
pub mod products;
pub mod profiles;
pub mod users;
pub mod validate;
mod whoami;

use crate::args::Commands;
use crate::bulk::{BulkResult, ReportLine, RowState};
use crate::context::Context;
use crate::error::Result;
use crate::output::cell::TextCell;
use crate::output::table::{Column, Table};
use crate::output::{Field, View};

/// Runs a command and returns its output.
pub async fn run(ctx: &Context, command: Commands) -> Result<View> {
    match command {
        Commands::Validate(args) => validate::run(ctx, args).await,
        Commands::Licenses(verb) => licenses::run(ctx, verb).await,
        Commands::Plans(verb) => plans::run(ctx, verb).await,
        Commands::Products(verb) => products::run(ctx, verb).await,
        Commands::Users(verb) => users::run(ctx, verb).await,
        Commands::Keys(verb) => keys::run(ctx, verb).await,
        Commands::Apply(args) => catalog::apply(ctx, args).await,
        Commands::Diff(args) => catalog::diff(ctx, args).await,
        Commands::Export(args) => catalog::export(ctx, args).await,
        Commands::Api(args) => api::run(ctx, args).await,
        Commands::Doctor => doctor::run(ctx).await,
        Commands::Completions(args) => manual::completions(&args),
        Commands::Man(args) => manual::man(ctx, &args),
        Commands::Login(args) => login::login(ctx, args).await,
        Commands::Logout(args) => login::logout(ctx, args).await,
        Commands::Whoami => whoami::run(ctx).await,
        Commands::Profiles(verb) => profiles::run(ctx, verb).await,
    }
}

/// The output of a bulk run: all lines as data, and a table of the failed ones. `fields` are the
/// columns of CSV.
pub fn bulk_view(finished: &BulkResult, fields: &[Field]) -> Result<View> {
    const COLUMNS: [Column; 3] =
        [Column::new("LINE", 0), Column::new("USER", 0), Column::new("ERROR", 0)];
    let failed = finished.lines.iter().filter(|line| line.state == RowState::Failed);
    let row = |line: &ReportLine| {
        let why = line.error["message"].as_str().unwrap_or_default();
        vec![TextCell::of(line.line), TextCell::text(&line.user), TextCell::text(why)]
    };
    let done = finished.lines.iter().filter(|line| line.state == RowState::Done);
    let ids = done.map(|line| line.user.clone()).collect();
    let table = Table::new(&COLUMNS).with(failed.map(row));
    Ok(View::new(&finished.lines, ids)?.fields(fields).table(table).exit(finished.exit))
}

/// The empty output of a dry run, whose planned requests are shown instead.
pub fn planned() -> Result<View> {
    View::new(serde_json::Value::Null, Vec::new())
}
