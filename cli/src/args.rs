//! The command line: the nouns with their commands. Each command defines its own verbs and flags.
//! [`mistakes`] shows the errors of lines that cannot be parsed.

pub mod completion;
pub mod help;
mod manual;
pub mod mistakes;

use std::ffi::OsString;

use clap::{Arg, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::commands::{
    api, catalog, claim, dashboard, doctor, events, find, import, keys, leases, licenses, login,
    plans, products, profiles, refusals, signing_keys, stats, users, validate, version, webhooks,
    whoami,
};
use crate::context::{Context, Globals};
use crate::error;
use crate::output::{Format, View};
use crate::terminal::{Env, env};

const START_HERE: &str = "\
Start here:
  licctl login                                      sign in to a server
  licctl products create --name \"Acme Studio\"
  licctl plans create --max-seats 5                 prompts for missing values
  licctl licenses create --plan \"Pro annual\" --assign alice
  licctl validate alice
  licctl validate alice --explain                   why, and how to fix it
  licctl help ci                                    licctl in a CI job

Exit codes:
  0 OK, or valid         1 internal error   2 usage      3 not found, or ambiguous
  4 not authenticated    5 forbidden        6 rejected   7 server unreachable
  8 rate limited         9 partial success  10 not valid 130 cancelled";

/// Examples come first: readers copy one before they read about flags.
const PAGE: &str = "\
{about-with-newline}
{usage-heading} {usage}{after-help}

{all-args}

Global flags such as -P, -o, -q, -y and -n work with every command: licctl help flags";

/// The commands in the order in which their help lists them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Licensing", &["validate", "claim", "find", "licenses", "plans", "products"]),
    ("People and keys", &["users", "keys", "signing-keys", "leases"]),
    ("History", &["events", "webhooks", "refusals", "stats"]),
    ("As code", &["apply", "diff", "export", "import", "api"]),
    (
        "Setup",
        &[
            "login",
            "logout",
            "whoami",
            "profiles",
            "doctor",
            "dashboard",
            "completions",
            "man",
            "help",
            "version",
        ],
    ),
];

/// Manage the products, plans, licenses, users and API keys of a licensing server
#[derive(Parser)]
#[command(name = "licctl", version = common::version::LINE.as_str(), max_term_width = 100)]
#[command(after_help = help::and_topics(START_HERE))]
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

/// The nouns, and the commands without one.
#[derive(Subcommand)]
pub enum Commands {
    Validate(validate::ValidateArgs),
    Claim(claim::ClaimArgs),
    /// Create, assign, suspend and revoke licenses
    #[command(subcommand, visible_alias = "license")]
    Licenses(licenses::Verb),
    /// Manage plans, the templates for licenses
    #[command(subcommand, visible_alias = "plan")]
    Plans(plans::Verb),
    /// Manage products
    #[command(subcommand, visible_alias = "product")]
    Products(products::Verb),
    /// Manage users
    #[command(subcommand, visible_alias = "user")]
    Users(users::Verb),
    /// Manage API keys
    #[command(subcommand, visible_alias = "key")]
    Keys(keys::Verb),
    /// Manage the keys that sign leases
    #[command(subcommand, visible_alias = "signing-key")]
    SigningKeys(signing_keys::Verb),
    /// Issue and verify leases, for machines without a network
    #[command(subcommand, visible_alias = "lease")]
    Leases(leases::Verb),
    /// Send events to your own address
    #[command(subcommand, visible_alias = "webhook")]
    Webhooks(webhooks::Verb),
    /// List changes to records, or follow them live
    #[command(subcommand, visible_alias = "event")]
    Events(events::Verb),
    /// List refused validations
    #[command(subcommand, visible_alias = "refusal")]
    Refusals(refusals::Verb),
    Find(find::FindArgs),
    Stats(stats::StatsArgs),
    Apply(catalog::ApplyArgs),
    Diff(catalog::DiffArgs),
    Export(catalog::ExportArgs),
    Import(import::ImportArgs),
    Api(api::ApiArgs),
    Dashboard(dashboard::DashboardArgs),
    Login(login::LoginArgs),
    Logout(login::LogoutArgs),
    /// Show the API key in use: its role, mode and tenant
    Whoami,
    /// Check the configuration, network, server, clock and API key
    Doctor,
    Completions(manual::CompletionsArgs),
    Help(help::HelpArgs),
    Man(manual::ManArgs),
    /// Manage profiles (servers and their API keys)
    #[command(subcommand, visible_alias = "profile")]
    Profiles(profiles::Verb),
    /// Print the version and commit
    Version,
}

/// The definition of all commands and flags.
pub fn grammar() -> Command {
    let command = Cli::command();
    let page = front_page(&command);
    with_pages(command, "licctl").help_template(page)
}

/// The help of licctl itself: the commands in groups, and the common flags.
fn front_page(command: &Command) -> String {
    let about = |name: &str| {
        let about = command.find_subcommand(name).and_then(Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let line = |name: &&str| format!("  {name:<12} {}\n", about(name));
    let group = |(title, names): &(&str, &[&str])| {
        format!("{title}:\n{}\n", names.iter().map(line).collect::<String>())
    };
    let groups: String = GROUPS.iter().map(group).collect();
    let usual = help::flags_of(command, |arg| !arg.is_hide_short_help_set());
    format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{usual}{{after-help}}")
}

/// Gives all subcommands their help page with its examples, and their arguments what completes
/// them. Global flags are on a page of their own, `licctl help flags`, and in the manual.
fn with_pages(command: Command, path: &str) -> Command {
    let shown = |arg: Arg| {
        let hidden = arg.is_hide_short_help_set() || arg.is_global_set();
        completion::completed(arg).hide_short_help(hidden).hide_long_help(hidden)
    };
    let page = |command: Command| {
        let path = format!("{path} {}", command.get_name());
        let command = match examples(&path) {
            Some(examples) => command.after_help(examples),
            None => command,
        };
        with_pages(command.help_template(PAGE), &path)
    };
    command.mut_args(shown).mut_subcommands(page)
}

/// The text below the help of a command, as the file has it under its name.
fn examples(path: &str) -> Option<&'static str> {
    let sections = include_str!("args/examples.txt").split("# licctl ");
    let name = path.strip_prefix("licctl ")?;
    let mut texts = sections.filter_map(|text| text.strip_prefix(name)?.strip_prefix('\n'));
    texts.next().map(str::trim_end)
}

/// Reads a command line, beginning with the program's name.
pub fn parse(args: &[OsString]) -> Result<Cli, clap::Error> {
    let mut grammar = grammar();
    let args = match args {
        // `licctl plans help create`
        [licctl, noun, help, verbs @ ..] if help == "help" && has_verbs(&grammar, noun) => {
            &[&[licctl.clone(), noun.clone()], verbs, &["--help".into()]].concat()
        }
        args => args,
    };
    let mut matches = grammar.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches_mut(&mut matches)
}

fn has_verbs(grammar: &Command, noun: &OsString) -> bool {
    grammar.find_subcommand(noun).is_some_and(Command::has_subcommands)
}

/// Runs a command and returns its output.
pub async fn run(ctx: &Context, command: Commands) -> error::Result<View> {
    match command {
        Commands::Validate(args) => validate::run(ctx, args).await,
        Commands::Claim(args) => claim::run(ctx, args).await,
        Commands::Licenses(verb) => licenses::run(ctx, verb).await,
        Commands::Plans(verb) => plans::run(ctx, verb).await,
        Commands::Products(verb) => products::run(ctx, verb).await,
        Commands::Users(verb) => users::run(ctx, verb).await,
        Commands::Keys(verb) => keys::run(ctx, verb).await,
        Commands::SigningKeys(verb) => signing_keys::run(ctx, verb).await,
        Commands::Leases(verb) => leases::run(ctx, verb).await,
        Commands::Webhooks(verb) => webhooks::run(ctx, verb).await,
        Commands::Events(verb) => events::run(ctx, verb).await,
        Commands::Refusals(verb) => refusals::run(ctx, verb).await,
        Commands::Find(args) => find::run(ctx, args).await,
        Commands::Stats(args) => stats::run(ctx, args).await,
        Commands::Apply(args) => catalog::apply(ctx, args).await,
        Commands::Diff(args) => catalog::diff(ctx, args).await,
        Commands::Export(args) => catalog::export(ctx, args).await,
        Commands::Import(args) => import::run(ctx, args).await,
        Commands::Api(args) => api::run(ctx, args).await,
        Commands::Dashboard(args) => dashboard::run(ctx, &args),
        Commands::Doctor => doctor::run(ctx).await,
        Commands::Completions(args) => manual::completions(&args),
        Commands::Help(args) => help::run(ctx, &args, grammar()),
        Commands::Man(args) => manual::man(ctx, &args, grammar()),
        Commands::Login(args) => login::login(ctx, args).await,
        Commands::Logout(args) => login::logout(ctx, args).await,
        Commands::Version => version::run(),
        Commands::Whoami => whoami::run(ctx).await,
        Commands::Profiles(verb) => profiles::run(ctx, verb).await,
    }
}

/// Whether errors should be JSON, on a command line that could not be parsed.
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
