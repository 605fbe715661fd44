//! The output of commands: tables for people, JSON and ids for programs. Commands return a
//! [`View`]; only this module and its children know the formats.

mod cell;
mod columns;
mod csv;
mod format;
mod jq;
mod listing;
mod messages;
mod planned;
mod sort;
mod table;
mod time;
mod wait_display;

use std::borrow::Cow;

use anstyle::{AnsiColor, Effects, Style as Ansi};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::error::{Error, Exit, Result};
use crate::escape::clean_lines;
use crate::terminal::{Io, unwritten};
pub use cell::{TextCell, Tone};
pub use columns::{ColumnNames, normalized};
pub use csv::Sheet;
pub use format::{Format, json as json_text};
pub use jq::Jq;
pub use listing::Listing;
pub use messages::Messages;
pub use planned::{PlannedRequest, show_planned};
pub use sort::SortOrder;
use table::wrapped;
pub use table::{Column, Style, Table};
pub use time::{Days, Expiry, Grace, IdleTime, LeaseTime, PastTime, Patience, Span, Ttl, relative};
pub use wait_display::WaitDisplay;

/// A part of the output for a person.
#[derive(Debug)]
pub enum Block {
    Table(Table),
    /// Labels and their values, one a line.
    Card(Vec<(&'static str, TextCell)>),
    Line(TextCell),
    /// Text with line ends of its own.
    Document(String),
}

/// The output options of a run.
pub struct OutputOptions {
    pub format: Format,
    pub jq: Option<Jq>,
    pub color: bool,
    /// The columns of tables and CSV; all that fit when absent.
    pub columns: Option<ColumnNames>,
    /// Whether tables and CSV begin with the names of the columns.
    pub headers: bool,
    /// Show requests as curl commands.
    pub curl: bool,
    /// The command that shows tables which are longer than the screen.
    pub pager: Option<String>,
}

impl OutputOptions {
    /// Returns the style of tables and cards.
    pub fn style(&self, io: &Io) -> Style {
        let (screen, color, width) = (io.terminals.stdout, self.color, io.width);
        Style { screen, color, width, headers: self.headers }
    }

    /// The table with its chosen columns.
    pub fn chosen<'a>(&self, table: &'a Table) -> Result<Cow<'a, Table>> {
        match &self.columns {
            Some(names) => table.choose(names).map(Cow::Owned),
            None => Ok(Cow::Borrowed(table)),
        }
    }
}

/// The result of a command.
#[derive(Debug)]
pub struct View {
    json: Value,
    ids: Vec<String>,
    /// The columns of CSV; the members of its records when absent.
    fields: Option<String>,
    /// The records of CSV where they are not those of the JSON.
    rows: Option<Vec<Value>>,
    blocks: Vec<Block>,
    /// The message for an empty list.
    empty: Option<String>,
    /// Sentence for a person about the change that was made.
    changed: Option<String>,
    /// Suggested next commands.
    next: Vec<String>,
    /// Data that are lost if they cannot be printed, and the fix.
    lost: Option<(String, String)>,
    /// Whether all data is on stdout already, as [`Listing`] prints it.
    printed: bool,
    pub exit: Exit,
}

impl View {
    pub fn new(json: impl serde::Serialize, ids: Vec<String>) -> Result<Self> {
        Ok(Self::of(to_value(json)?, ids))
    }

    fn of(json: Value, ids: Vec<String>) -> Self {
        Self {
            json,
            ids,
            fields: None,
            rows: None,
            blocks: Vec::new(),
            empty: None,
            changed: None,
            next: Vec::new(),
            lost: None,
            printed: false,
            exit: Exit::Success,
        }
    }

    /// The view of a dry run, whose planned requests are shown instead.
    pub fn planned() -> Self {
        Self::of(Value::Null, Vec::new())
    }

    /// The view of a command whose data is printed already.
    pub fn printed() -> Self {
        Self { printed: true, ..Self::of(Value::Null, Vec::new()) }
    }

    /// The columns of CSV, as [`Sheet::new`] takes them, with a line for each record of the JSON.
    pub fn fields(mut self, lists: &[&str]) -> Self {
        self.fields = Some(lists.join(" "));
        self
    }

    /// The columns and records of CSV, if they differ from those of the JSON.
    pub fn rows(mut self, records: Vec<Value>, fields: &[&str]) -> Self {
        self.rows = Some(records);
        self.fields(fields)
    }

    pub fn table(mut self, table: Table) -> Self {
        self.blocks.push(Block::Table(table));
        self
    }

    pub fn card(mut self, card: Vec<(&'static str, TextCell)>) -> Self {
        self.blocks.push(Block::Card(card));
        self
    }

    pub fn line(mut self, line: TextCell) -> Self {
        self.blocks.push(Block::Line(line));
        self
    }

    /// Text that is printed as it is; in JSON it is a string.
    pub fn text(text: String) -> Self {
        let mut view = Self::of(Value::String(text.clone()), Vec::new());
        view.blocks.push(Block::Document(text));
        view
    }

    /// Shows the JSON to a person too.
    pub fn json_only(mut self) -> Self {
        self.blocks.push(Block::Document(format::json(&self.json)));
        self
    }

    /// Shows the data to a person as YAML, for a file.
    pub fn document(mut self) -> Self {
        let text = yaml_serde::to_string(&self.json).unwrap_or_else(|_| format::json(&self.json));
        self.blocks.push(Block::Document(text));
        self
    }

    pub fn or_when_empty(mut self, hint: impl Into<String>) -> Self {
        self.empty = Some(hint.into());
        self
    }

    pub fn changed(mut self, sentence: impl Into<String>) -> Self {
        self.changed = Some(sentence.into());
        self
    }

    pub fn next(mut self, command: impl Into<String>) -> Self {
        self.next.push(command.into());
        self
    }

    /// The error if the data, which is shown only once, cannot be printed: what is lost, and the
    /// fix. A closed pipe is then an error too.
    pub fn on_print_failure(mut self, what: impl Into<String>, fix: impl Into<String>) -> Self {
        self.lost = Some((what.into(), fix.into()));
        self
    }

    pub fn exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// Writes the data to stdout and all other text to stderr.
    pub fn show(&self, io: &Io, options: &OutputOptions) -> Result<()> {
        if self.printed {
            self.remark(io, options, &[]);
            return Ok(());
        }
        let (text, hidden) = match self.drawn(io, options) {
            // The result of a write must not be lost because of an invalid column or jq expression.
            Err(error) if self.changed.is_some() => {
                self.write(io, &format::json(&self.json))?;
                return Err(error);
            }
            drawn => drawn?,
        };
        if options.format == Format::Csv && csv::has_formula(&text) {
            io.say(csv::FORMULA_NOTE);
        }
        if !self.is_long_list(options)
            || !crate::terminal::pager::show(io, options.pager.as_deref(), &text)
        {
            self.write(io, &text)?;
        }
        self.remark(io, options, &hidden);
        Ok(())
    }

    /// Whether the output is one table for a person, which may be longer than a screen.
    fn is_long_list(&self, options: &OutputOptions) -> bool {
        options.format == Format::Table && matches!(&self.blocks[..], [Block::Table(_)])
    }

    fn write(&self, io: &Io, text: &str) -> Result<()> {
        let written = io.data(text);
        let Some((what, fix)) = &self.lost else { return written };
        let error = match written {
            Err(error) => error,
            Ok(()) if io.is_closed() => unwritten("The reader has closed the pipe"),
            Ok(()) => return Ok(()),
        };
        let why = error.reason().unwrap_or_default();
        let why = format!("{}. {what}", why.trim_end_matches('.'));
        Err(error.because(why).fix(fix))
    }

    /// The formatted data, and the table columns that did not fit.
    fn drawn(&self, io: &Io, options: &OutputOptions) -> Result<(String, Vec<&'static str>)> {
        if let Some(jq) = &options.jq {
            return Ok((jq.apply(&self.json, io.terminals.stdout)?, Vec::new()));
        }
        let text = match options.format {
            Format::Json => format::json(&self.json),
            Format::Jsonl => format::json_lines(&self.json),
            Format::Csv => self.csv(options)?,
            Format::Ids => self.ids.iter().map(|id| format!("{id}\n")).collect(),
            Format::Table => return self.blocks(io, options),
        };
        let text = if io.terminals.stdout { clean_lines(&text).into_owned() } else { text };
        Ok((text, Vec::new()))
    }

    fn csv(&self, options: &OutputOptions) -> Result<String> {
        let chosen = options.columns.as_ref();
        let Some(fields) = &self.fields else {
            return csv::of_any(&self.json, chosen, options.headers);
        };
        let records = match (&self.rows, &self.json) {
            (Some(records), _) | (None, Value::Array(records)) => records.as_slice(),
            (None, record) => std::slice::from_ref(record),
        };
        let sheet = Sheet::new(&[fields], chosen, options.headers)?;
        Ok(sheet.header()? + &sheet.records(records)?)
    }

    /// The blocks for a person; only the tables when columns are chosen.
    fn blocks(&self, io: &Io, options: &OutputOptions) -> Result<(String, Vec<&'static str>)> {
        let style = options.style(io);
        let (mut text, mut hidden) = (String::new(), Vec::new());
        let is_chosen = options.columns.is_some();
        let mut tables = 0;
        for block in &self.blocks {
            match block {
                Block::Table(table) => {
                    tables += 1;
                    let table = options.chosen(table)?;
                    if !table.is_empty() {
                        let (drawn, left_out) = table.draw(style);
                        text += &drawn;
                        hidden.extend(left_out);
                    }
                }
                _ if is_chosen => {}
                Block::Card(card) => text += &draw_card(card, style),
                Block::Document(document) if style.screen => text += &clean_lines(document),
                Block::Document(document) => text += document,
                Block::Line(line) => text += &(paint(line, style) + "\n"),
            }
        }
        if is_chosen && tables == 0 {
            return Err(
                Error::usage("This command has no columns.").fix("select members with --jq")
            );
        }
        Ok((text, hidden))
    }

    /// Writes the hint, the sentence and the suggestions that go with the data.
    fn remark(&self, io: &Io, options: &OutputOptions, hidden: &[&str]) {
        // The reader closed the pipe before it got the id of a new record.
        if io.is_closed() && !options.format.is_json() {
            let lost = self.changed.iter().map(|sentence| format!("note: {sentence}\n"));
            lost.for_each(|note| io.say(&note));
            return;
        }
        if options.format != Format::Table {
            return;
        }
        let nothing = |block: &Block| matches!(block, Block::Table(table) if table.is_empty());
        if let Some(hint) = self.empty.as_ref().filter(|_| self.blocks.iter().all(nothing)) {
            io.say(&format!("{hint}\n"));
            return;
        }
        if !hidden.is_empty() {
            let line = format!("hidden columns: {} (show with -c)", hidden.join(", "));
            io.say(&(dim(&wrapped(&line, io.width), options.color) + "\n"));
        }
        if io.terminals.stderr {
            self.changed.iter().for_each(|sentence| io.say(&format!("{sentence}\n")));
            self.next.iter().for_each(|command| io.say(&format!("Next: {command}\n")));
        }
    }
}

fn to_value(json: impl serde::Serialize) -> Result<Value> {
    serde_json::to_value(json).map_err(Error::internal)
}

/// A value for a person.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(values) if values.is_empty() => "none".to_owned(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// The error of a format that cannot hold the data.
fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::new(Exit::Internal, "output", "The response cannot be written in this format.")
        .because(error.to_string())
}

fn draw_card(card: &[(&'static str, TextCell)], style: Style) -> String {
    let width = card.iter().map(|(label, _)| label.width()).max().unwrap_or(0);
    let line = |(label, cell): &(&'static str, TextCell)| {
        let space = " ".repeat(width - label.width() + 2);
        let value = paint(&cell.or_dash(), style);
        format!("{}{space}{value}", dim(label, style.color)).trim_end().to_owned() + "\n"
    };
    card.iter().map(line).collect()
}

fn paint(cell: &TextCell, style: Style) -> String {
    let text = cell.shown(style.screen);
    let Some(tone) = cell.tone.filter(|_| style.color) else {
        return text.to_owned();
    };
    let color = match tone {
        Tone::Good => AnsiColor::Green,
        Tone::Warning => AnsiColor::Yellow,
        Tone::Bad => AnsiColor::Red,
    };
    wrap(text, Ansi::new().fg_color(Some(color.into())))
}

fn dim(text: &str, color: bool) -> String {
    if color { wrap(text, Ansi::new().effects(Effects::DIMMED)) } else { text.to_owned() }
}

fn wrap(text: &str, style: Ansi) -> String {
    format!("{style}{text}{style:#}")
}
