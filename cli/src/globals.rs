//! The flags that work with every command, and what they say about output.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};

use crate::completion;
use crate::env::{self, Env};
use crate::error::{Error, Result};
use crate::output::{ColumnNames, Format, Jq, OutputOptions, pager};
use crate::time::Span;
use crate::values::Patience;

/// Flags that work with every command. Those that a newcomer does not need hide from its help.
#[derive(Args)]
#[command(next_help_heading = "Global options")]
pub struct Globals {
    /// Profile to use [variable: LICCTL_PROFILE]
    #[arg(short = 'P', long, global = true, value_name = "NAME", add = completion::profiles())]
    pub profile: Option<String>,
    /// Address of the server [variable: LICCTL_SERVER]
    #[arg(long, global = true, value_name = "URL")]
    pub server: Option<String>,
    /// File with the API key, - for stdin; LICCTL_API_KEY takes the key itself
    #[arg(long, global = true, value_name = "PATH", hide_short_help = true)]
    pub api_key_file: Option<PathBuf>,
    /// Output format [variable: LICCTL_OUTPUT] [default: table]
    #[arg(short, long, global = true, value_name = "FORMAT")]
    output: Option<Format>,
    /// Filter the JSON with this jq expression, also with @csv and @tsv; strings print without quotes
    #[arg(long, global = true, value_name = "EXPR", hide_short_help = true)]
    #[arg(conflicts_with = "quiet")]
    pub jq: Option<String>,
    /// Columns of the table or CSV, in this order, as in -c ID,NAME; an unknown name lists all
    /// columns, including those hidden by default
    #[arg(short, long, global = true, value_name = "NAMES", hide_short_help = true)]
    #[arg(add = completion::columns())]
    columns: Option<ColumnNames>,
    /// Leave out the names of the columns
    #[arg(long, global = true, hide_short_help = true)]
    no_headers: bool,
    /// Do not show long lists through a pager [variables: LICCTL_PAGER, PAGER]
    #[arg(long, global = true, hide_short_help = true)]
    no_pager: bool,
    /// Print ids only, the same as -o ids
    #[arg(short, long, global = true, conflicts_with = "output")]
    pub quiet: bool,
    /// Answer every confirmation with yes
    #[arg(short, long, global = true)]
    pub yes: bool,
    /// Never prompt: a missing value is an error. Implied by CI and without a terminal
    #[arg(long, global = true, hide_short_help = true)]
    pub no_input: bool,
    /// Print the requests that would change data, and send none of them
    #[arg(short = 'n', long, global = true)]
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
    /// Time to wait for an answer; a number alone is seconds
    #[arg(long, global = true, value_name = "SPAN", default_value = "30s", value_parser = Span::seconds)]
    #[arg(hide_short_help = true)]
    pub timeout: Span,
    /// Longest time to wait for a server that is busy, limits the rate or restarts; a number alone
    /// is seconds, and 0 does not wait [variable: LICCTL_PATIENCE] [default: 30s]
    #[arg(long, global = true, value_name = "SPAN", hide_short_help = true)]
    patience: Option<Patience>,
    /// Trust the certificates of this PEM file as well [variable: LICCTL_CA_CERT]
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
            pager: pager(env, self.no_pager),
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

    /// The longest time without an answer, after which a run gives up.
    pub fn patience(&self, env: &Env) -> Result<Duration> {
        let variable = env.get(env::PATIENCE).map(|text| {
            text.parse().map_err(|why| {
                Error::usage(format!("LICCTL_PATIENCE has the invalid value {text}."))
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

/// Whether a stream is a terminal that shows colours, and the person wants them.
pub fn shows_colors(env: &Env, terminal: bool) -> bool {
    terminal && env.get("NO_COLOR").is_none() && env.get("TERM") != Some("dumb")
}

fn forms() -> String {
    let forms = Format::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    forms.map(|form| form.get_name().to_owned()).collect::<Vec<_>>().join(", ")
}
