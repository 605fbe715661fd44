//! The commands, one file for each noun: what each is given, which requests it makes, and what it
//! shows.

pub mod api;
pub mod catalog;
mod doctor;
mod each;
pub mod keys;
pub mod licenses;
pub mod login;
pub mod manual;
pub mod plans;
pub mod products;
pub mod profiles;
pub mod users;
pub mod validate;
mod whoami;

use crate::args::Command;
use crate::bulk::{Finished, Line, State};
use crate::context::Context;
use crate::error::Result;
use crate::output::View;
use crate::output::cell::Cell;
use crate::output::table::{Column, Table};

/// Runs a command to what it found or did.
pub async fn run(ctx: &Context, command: Command) -> Result<View> {
    match command {
        Command::Validate(args) => validate::run(ctx, args).await,
        Command::Licenses(verb) => licenses::run(ctx, verb).await,
        Command::Plans(verb) => plans::run(ctx, verb).await,
        Command::Products(verb) => products::run(ctx, verb).await,
        Command::Users(verb) => users::run(ctx, verb).await,
        Command::Keys(verb) => keys::run(ctx, verb).await,
        Command::Apply(args) => catalog::apply(ctx, args).await,
        Command::Diff(args) => catalog::diff(ctx, args).await,
        Command::Export(args) => catalog::export(ctx, args).await,
        Command::Api(args) => api::run(ctx, args).await,
        Command::Doctor => doctor::run(ctx).await,
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(ctx, &args),
        Command::Login(args) => login::login(ctx, args).await,
        Command::Logout(args) => login::logout(ctx, args).await,
        Command::Whoami => whoami::run(ctx).await,
        Command::Profiles(verb) => profiles::run(ctx, verb).await,
    }
}

/// What a bulk run shows: its lines, and to a person those that failed.
pub fn bulk_view(finished: &Finished) -> Result<View> {
    const COLUMNS: [Column; 3] =
        [Column::new("LINE", 0), Column::new("USER", 0), Column::new("ERROR", 0)];
    let failed = finished.lines.iter().filter(|line| line.state == State::Failed);
    let row = |line: &Line| {
        let why = line.error["message"].as_str().unwrap_or_default();
        vec![Cell::of(line.line), Cell::text(&line.user), Cell::text(why)]
    };
    let done = finished.lines.iter().filter(|line| line.state == State::Done);
    let ids = done.map(|line| line.user.clone()).collect();
    let table = Table::new(&COLUMNS).with(failed.map(row));
    Ok(View::new(&finished.lines, ids)?.table(table).exit(finished.exit))
}

/// What a command shows when its one write was only planned.
pub fn planned() -> Result<View> {
    View::new(serde_json::Value::Null, Vec::new())
}
