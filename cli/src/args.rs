//! The command line: the nouns with their commands, and the errors of lines that cannot be parsed.
//! Each command defines its own verbs and flags.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};

use crate::commands::{
    api, catalog, doctor, events, keys, licenses, login, manual, plans, products, profiles,
    refusals, stats, users, validate, whoami,
};
use crate::context::Context;
use crate::env::{self, Env};
use crate::error::{Error, Exit, Result};
use crate::globals::Globals;
use crate::io::Io;
use crate::output::{Format, View};

const START_HERE: &str = "\
Start here:
  licctl login                                      store the key of a server
  licctl products create --name \"Acme Studio\"
  licctl plans create --max-seats 5                 prompts for missing values
  licctl licenses create --plan \"Pro annual\" --assign alice
  licctl validate alice
  licctl validate alice --explain                   the reason and the fix

Exit codes:
  0 OK, or valid      1 internal error    2 usage    3 not found, or ambiguous
  4 no or wrong key   5 key not allowed   6 refused  7 server unreachable
  8 rate limited      9 partial success   10 not valid       130 cancelled";

const GLOBAL_FLAGS_HINT: &str = "--help lists the flags that every command takes.";

/// Administers a licensing server: products, plans, licenses, users and keys
#[derive(Parser)]
#[command(name = "licctl", version, max_term_width = 100)]
#[command(after_help = format!("{START_HERE}\n\n{GLOBAL_FLAGS_HINT}"), after_long_help = START_HERE)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    #[command(flatten)]
    pub globals: Globals,
    #[command(subcommand)]
    pub command: Commands,
}

/// The nouns, and the commands that have none.
#[derive(Subcommand)]
pub enum Commands {
    Validate(validate::ValidateArgs),
    /// Create, list, assign, suspend and revoke licenses
    #[command(subcommand, visible_alias = "license")]
    Licenses(licenses::Verb),
    /// Manage plans, from which licenses are created
    #[command(subcommand, visible_alias = "plan")]
    Plans(plans::Verb),
    /// Manage the products that you sell
    #[command(subcommand, visible_alias = "product")]
    Products(products::Verb),
    /// Manage the users who hold licenses
    #[command(subcommand, visible_alias = "user")]
    Users(users::Verb),
    /// Manage the API keys of applications and people
    #[command(subcommand, visible_alias = "key")]
    Keys(keys::Verb),
    /// Show the changes of all records, and follow them
    #[command(subcommand, visible_alias = "event")]
    Events(events::Verb),
    /// Show the users whose validations were refused
    #[command(subcommand, visible_alias = "refusal")]
    Refusals(refusals::Verb),
    Stats(stats::StatsArgs),
    Apply(catalog::ApplyArgs),
    Diff(catalog::DiffArgs),
    Export(catalog::ExportArgs),
    Api(api::ApiArgs),
    Login(login::LoginArgs),
    Logout(login::LogoutArgs),
    /// Show the API key in use: its role, mode and tenant
    #[command(after_help = whoami::EXAMPLES)]
    Whoami,
    /// Check the settings, network, server, clock and key
    #[command(after_help = doctor::EXAMPLES)]
    Doctor,
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
    /// Manage profiles: servers and their keys
    #[command(subcommand, visible_alias = "profile")]
    Profiles(profiles::Verb),
}

/// Runs a command and returns its output.
pub async fn run(ctx: &Context, command: Commands) -> Result<View> {
    match command {
        Commands::Validate(args) => validate::run(ctx, args).await,
        Commands::Licenses(verb) => licenses::run(ctx, verb).await,
        Commands::Plans(verb) => plans::run(ctx, verb).await,
        Commands::Products(verb) => products::run(ctx, verb).await,
        Commands::Users(verb) => users::run(ctx, verb).await,
        Commands::Keys(verb) => keys::run(ctx, verb).await,
        Commands::Events(verb) => events::run(ctx, verb).await,
        Commands::Refusals(verb) => refusals::run(ctx, verb).await,
        Commands::Stats(args) => stats::run(ctx, args).await,
        Commands::Apply(args) => catalog::apply(ctx, args).await,
        Commands::Diff(args) => catalog::diff(ctx, args).await,
        Commands::Export(args) => catalog::export(ctx, args).await,
        Commands::Api(args) => api::run(ctx, args).await,
        Commands::Doctor => doctor::run(ctx).await,
        Commands::Completions(args) => manual::completions(&args),
        Commands::Man(args) => manual::man(ctx, &args, Cli::command()),
        Commands::Login(args) => login::login(ctx, args).await,
        Commands::Logout(args) => login::logout(ctx, args).await,
        Commands::Whoami => whoami::run(ctx).await,
        Commands::Profiles(verb) => profiles::run(ctx, verb).await,
    }
}

/// Prints `--help` and `--version`, or the error of a command line.
pub fn explain(io: &Io, env: &Env, args: &[OsString], error: &clap::Error) -> Exit {
    let text = error.render();
    let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if asked_for {
        let plain = !io.terminals.stdout || env.get("NO_COLOR").is_some();
        let text = if plain { text.to_string() } else { text.ansi().to_string() };
        return io.data(&text).map_or_else(|error| error.exit, |()| Exit::Success);
    }
    if wants_json(env, args) {
        io.say(&format!("{}\n", usage_error(&text.to_string()).json()));
    } else {
        let plain = !io.terminals.stderr || env.get("NO_COLOR").is_some();
        io.say(&if plain { text.to_string() } else { text.ansi().to_string() });
    }
    Exit::Usage
}

/// The error for a program: the first paragraph, and the tips, which offer near words.
fn usage_error(text: &str) -> Error {
    let message = text.split("\n\n").next().unwrap_or_default();
    let message: Vec<&str> = message.lines().map(str::trim).collect();
    let message = message.join(" ");
    let tips: Vec<&str> =
        text.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).collect();
    let hint = if tips.is_empty() { "see --help".to_owned() } else { tips.join("; ") };
    Error::usage(message.strip_prefix("error: ").unwrap_or(&message)).fix(hint)
}

/// Whether errors are to be JSON, on a command line that could not be read as a whole.
pub fn wants_json(env: &Env, args: &[OsString]) -> bool {
    let is_json = |name: &str| Format::from_str(name, true).is_ok_and(Format::is_json);
    let words: Vec<_> = args.iter().map(|word| word.to_string_lossy()).collect();
    if words.iter().any(|word| word == "--jq" || word.starts_with("--jq=")) {
        return true;
    }
    let pairs = words.windows(2);
    let apart = pairs.filter(|pair| pair[0] == "-o" || pair[0] == "--output").map(|pair| &*pair[1]);
    let joined = words.iter().filter_map(|word| {
        let short = word.strip_prefix("-o").filter(|name| !name.is_empty());
        short.map(|name| name.trim_start_matches('=')).or(word.strip_prefix("--output="))
    });
    match apart.chain(joined).last() {
        Some(name) => is_json(name),
        None => env.get(env::OUTPUT).is_some_and(is_json),
    }
}
