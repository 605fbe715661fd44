//! The command line: the nouns, the global flags, and the errors of lines that cannot be parsed.
//! Each command defines its own verbs and flags.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use crate::commands::{
    api, catalog, keys, licenses, login, manual, plans, products, profiles, users, validate,
};
use crate::env::{self, Env};
use crate::error::{Error, Exit, Result};
use crate::io::Io;
use crate::output::time::Span;
use crate::output::{ColumnNames, Format, Jq, OutputOptions};

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
    Apply(catalog::ApplyArgs),
    Diff(catalog::DiffArgs),
    Export(catalog::ExportArgs),
    Api(api::ApiArgs),
    Login(login::LoginArgs),
    Logout(login::LogoutArgs),
    /// Show the API key in use: its role, mode and tenant
    Whoami,
    /// Check the settings, network, server, clock and key
    Doctor,
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
    /// Manage profiles: servers and their keys
    #[command(subcommand, visible_alias = "profile")]
    Profiles(profiles::Verb),
}

/// Flags that work with every command.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Profile to use [variable: LICCTL_PROFILE]
    #[arg(short = 'P', long, global = true, value_name = "NAME", hide_short_help = true)]
    pub profile: Option<String>,
    /// Address of the server [variable: LICCTL_SERVER]
    #[arg(long, global = true, value_name = "URL", hide_short_help = true)]
    pub server: Option<String>,
    /// File with the API key, - for stdin; LICCTL_API_KEY takes the key itself
    #[arg(long, global = true, value_name = "PATH", hide_short_help = true)]
    pub api_key_file: Option<PathBuf>,
    /// Output format [variable: LICCTL_OUTPUT] [default: table]
    ///
    /// JSON is an array where a command can take or make several records, also for one, and an
    /// object elsewhere. With json and jsonl, stderr is JSON as well, but for the log of -v: one
    /// object with the error and all notes. Lists are printed as they arrive in csv, jsonl and ids:
    /// when one ends early, what came stays printed, and the exit code is that of the error. CSV
    /// holds values as they are; since a spreadsheet takes text after = + - or @ for a formula,
    /// import columns as text.
    #[arg(short, long, global = true, value_name = "FORMAT", hide_short_help = true)]
    output: Option<Format>,
    /// Filter the JSON with this jq expression; strings print without quotes
    ///
    /// As in jq, @csv and @tsv make rows, and $ENV and env hold the environment (here without
    /// LICCTL_API_KEY). The whole answer is the one input. Implies -o json.
    #[arg(long, global = true, value_name = "EXPR", hide_short_help = true)]
    #[arg(conflicts_with = "quiet")]
    pub jq: Option<String>,
    /// Columns of the table or CSV, by name and in this order, as in -c ID,NAME; a wrong name is
    /// answered with all names, some of which the table does not show by itself
    #[arg(short, long, global = true, value_name = "NAMES", hide_short_help = true)]
    columns: Option<ColumnNames>,
    /// Leave out the names of the columns
    #[arg(long, global = true, hide_short_help = true)]
    no_headers: bool,
    /// Print ids only, the same as -o ids
    #[arg(short, long, global = true, conflicts_with = "output", hide_short_help = true)]
    pub quiet: bool,
    /// Answer every confirmation with yes
    #[arg(short, long, global = true, hide_short_help = true)]
    pub yes: bool,
    /// Never prompt: a missing value is an error. Implied by CI and without a terminal
    #[arg(long, global = true, hide_short_help = true)]
    pub no_input: bool,
    /// Print the requests that would change data, and send none of them
    #[arg(short = 'n', long, global = true, hide_short_help = true)]
    pub dry_run: bool,
    /// Print the requests as curl commands. Writes are not sent, as with --dry-run; reads are, as
    /// later requests need their answers, and are printed when there is no write
    #[arg(long, global = true, conflicts_with = "dry_run", hide_short_help = true)]
    pub print_curl: bool,
    /// Log each request to stderr; -vv adds headers and bodies. Keys are redacted
    #[arg(short, long, global = true, action = ArgAction::Count, hide_short_help = true)]
    pub verbose: u8,
    /// Colour the output [variable: NO_COLOR]
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_short_help = true)]
    pub color: ColorChoice,
    /// Time to wait for an answer
    #[arg(long, global = true, value_name = "SPAN", default_value = "30s")]
    #[arg(hide_short_help = true)]
    pub timeout: Span,
    /// Trust the certificates of this PEM file as well
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub ca_cert: Option<PathBuf>,
    /// Allow sending the key over unencrypted http to other machines
    #[arg(long, global = true, hide_short_help = true)]
    pub allow_http: bool,
}

/// When output is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    Auto,
    Always,
    Never,
}

impl Globals {
    /// The output options that the flags and the environment give.
    pub fn output_options(&self, env: &Env, terminal: bool) -> Result<OutputOptions> {
        let jq = self.jq.as_deref().map(|code| Jq::compile(code, env)).transpose()?;
        let format = self.format(env)?;
        if self.columns.is_some() && !format.has_columns() {
            return Err(Error::usage("--columns is for tables and CSV.")
                .fix("add -o csv, or pick members of JSON with --jq"));
        }
        Ok(OutputOptions {
            format,
            jq,
            color: self.colors(env, terminal),
            columns: self.columns.clone(),
            headers: !self.no_headers,
            curl: self.print_curl,
        })
    }

    /// Whether output to a person is coloured.
    fn colors(&self, env: &Env, terminal: bool) -> bool {
        match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                let dumb = env.get("TERM") == Some("dumb");
                terminal && env.get("NO_COLOR").is_none() && !dumb
            }
        }
    }

    fn format(&self, env: &Env) -> Result<Format> {
        if self.jq.is_some() {
            return match self.output {
                None | Some(Format::Json) => Ok(Format::Json),
                Some(_) => {
                    Err(Error::usage("--jq needs JSON output.").fix("omit -o, or use -o json"))
                }
            };
        }
        if self.quiet {
            return Ok(Format::Ids);
        }
        let variable = env.get(env::OUTPUT).map(|text| {
            Format::from_str(text, true).map_err(|_| {
                Error::usage(format!("LICCTL_OUTPUT has the invalid value {text}."))
                    .fix(format!("set it to one of {}", forms()))
            })
        });
        Ok(self.output.or(variable.transpose()?).unwrap_or_default())
    }
}

fn forms() -> String {
    let forms = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    forms.map(|form| form.get_name().to_owned()).collect::<Vec<_>>().join(", ")
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
