//! The global flags, and the output options that follow from them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};

use crate::error::{Error, Result};
use crate::output::{ColumnNames, Format, Jq, OutputOptions, Patience, Span};
use crate::terminal::{Env, env, pager};

/// Global flags. The short help hides those that newcomers do not need.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Profile to use [env: LICCTL_PROFILE]
    #[arg(short = 'P', long, global = true, value_name = "NAME")]
    pub profile: Option<String>,
    /// URL of the server [env: LICCTL_SERVER]
    #[arg(long, global = true, value_name = "URL")]
    pub server: Option<String>,
    /// Read the API key from this file (- for stdin); LICCTL_API_KEY holds the key itself
    #[arg(long, global = true, value_name = "PATH", hide_short_help = true)]
    pub api_key_file: Option<PathBuf>,
    /// Output format [env: LICCTL_OUTPUT] [default: table]
    #[arg(short, long, global = true, value_name = "FORMAT")]
    output: Option<Format>,
    /// Filter the JSON output with a jq expression; strings print without quotes
    #[arg(long, global = true, value_name = "EXPR", hide_short_help = true)]
    #[arg(conflicts_with = "quiet")]
    pub jq: Option<String>,
    /// Columns of the table or CSV, in this order, such as ID,NAME; an unknown name lists all
    /// columns, including hidden ones
    #[arg(short, long, global = true, value_name = "NAMES", hide_short_help = true)]
    columns: Option<ColumnNames>,
    /// Omit the header line
    #[arg(long, global = true, hide_short_help = true)]
    no_headers: bool,
    /// Don't page long lists [env: LICCTL_PAGER, PAGER]
    #[arg(long, global = true, hide_short_help = true)]
    no_pager: bool,
    /// Print only ids, same as -o ids
    #[arg(short, long, global = true, conflicts_with = "output")]
    pub quiet: bool,
    /// Skip confirmation prompts
    #[arg(short, long, global = true)]
    pub yes: bool,
    /// Never prompt; missing values are errors. Implied in CI and without a terminal
    #[arg(long, global = true, hide_short_help = true)]
    pub no_input: bool,
    /// Print the requests that would change data instead of sending them
    #[arg(short = 'n', long, global = true)]
    pub dry_run: bool,
    /// Print requests as curl commands. Writes are printed and not sent; a command without writes
    /// prints its reads
    #[arg(long, global = true, conflicts_with = "dry_run", hide_short_help = true)]
    pub print_curl: bool,
    /// Log each request to stderr; -vv adds headers and bodies. Keys are redacted
    #[arg(short, long, global = true, action = ArgAction::Count, hide_short_help = true)]
    pub verbose: u8,
    /// Whether to use colour [env: NO_COLOR]
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(hide_short_help = true)]
    pub color: ColorChoice,
    /// Timeout of a request; a bare number is in seconds
    #[arg(long, global = true, value_name = "SPAN", default_value = "30s", value_parser = Span::seconds)]
    #[arg(hide_short_help = true)]
    pub timeout: Span,
    /// Time for retries while the server is busy, restarting or rate limiting; a bare number is in
    /// seconds, 0 does not retry [env: LICCTL_PATIENCE] [default: 30s]
    #[arg(long, global = true, value_name = "SPAN", hide_short_help = true)]
    patience: Option<Patience>,
    /// Also trust the certificates in this PEM file [env: LICCTL_CA_CERT]
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true)]
    pub ca_cert: Option<PathBuf>,
    /// Allow sending the API key over unencrypted HTTP to other machines
    #[arg(long, global = true, hide_short_help = true)]
    pub allow_http: bool,
}

/// Condition under which output is coloured.
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
            return Err(Error::usage("--columns works only with tables and CSV.")
                .fix("add -o csv, or select JSON members with --jq"));
        }
        Ok(OutputOptions {
            format,
            jq,
            color: self.colors(env, terminal),
            columns: self.columns.clone(),
            headers: !self.no_headers,
            curl: self.print_curl,
            pager: pager::command(env, self.no_pager),
        })
    }

    /// Whether this stream is coloured, a terminal or not.
    pub fn colors(&self, env: &Env, terminal: bool) -> bool {
        match self.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => shows_colors(env, terminal),
        }
    }

    /// Time for which a run retries without a response.
    pub fn patience(&self, env: &Env) -> Result<Duration> {
        let variable = env.get(env::PATIENCE).map(|text| {
            text.parse().map_err(|why| {
                Error::usage(format!("Invalid LICCTL_PATIENCE: {text}."))
                    .because(format!("It {why}"))
            })
        });
        let Patience(span) = self.patience.or(variable.transpose()?).unwrap_or_default();
        Ok(span)
    }

    fn format(&self, env: &Env) -> Result<Format> {
        if self.jq.is_some() {
            return match self.output {
                None | Some(Format::Json) => Ok(Format::Json),
                Some(_) => {
                    Err(Error::usage("--jq requires JSON output.").fix("omit -o, or use -o json"))
                }
            };
        }
        if self.quiet {
            return Ok(Format::Ids);
        }
        let variable = env.get(env::OUTPUT).map(|text| {
            Format::from_str(text, true).map_err(|_| {
                Error::usage(format!("Invalid LICCTL_OUTPUT: {text}."))
                    .fix(format!("set it to one of {}", forms()))
            })
        });
        Ok(self.output.or(variable.transpose()?).unwrap_or_default())
    }
}

/// Whether a stream is a terminal that shows colours, and nothing turns them off.
pub fn shows_colors(env: &Env, terminal: bool) -> bool {
    terminal && env.get("NO_COLOR").is_none() && env.get("TERM") != Some("dumb")
}

fn forms() -> String {
    let forms = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    forms.map(|form| form.get_name().to_owned()).collect::<Vec<_>>().join(", ")
}
