//! The output of commands: tables for people, JSON and ids for programs. Commands return a [`View`];
//! only this module and its children know the formats.

pub mod cell;
pub mod escape;
mod format;
mod jq;
pub mod labels;
pub mod table;
pub mod time;

use anstyle::{AnsiColor, Effects, Style as Ansi};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::client::PlannedRequest;
use crate::error::{Error, Exit, Result};
use crate::io::Io;
use cell::{TextCell, Tone};
pub use format::Format;
pub use jq::Jq;
use table::{Style, Table};

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
}

/// The result of a command.
#[derive(Debug)]
pub struct View {
    json: Value,
    ids: Vec<String>,
    blocks: Vec<Block>,
    /// The message for an empty list.
    empty: Option<String>,
    /// The sentence for a person after a write.
    changed: Option<String>,
    /// Suggested next commands.
    next: Vec<String>,
    pub exit: Exit,
}

impl View {
    pub fn new(json: impl serde::Serialize, ids: Vec<String>) -> Result<Self> {
        let json = serde_json::to_value(json)
            .map_err(|error| Error::new(Exit::Internal, "internal", error.to_string()))?;
        let (empty, changed) = (None, None);
        let (blocks, next) = (Vec::new(), Vec::new());
        Ok(Self { json, ids, blocks, empty, changed, next, exit: Exit::Success })
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

    /// A text that is the same in every form but JSON, where it is a string.
    pub fn text(text: String) -> Self {
        let mut view = Self {
            json: Value::String(text.clone()),
            ids: Vec::new(),
            blocks: Vec::new(),
            empty: None,
            changed: None,
            next: Vec::new(),
            exit: Exit::Success,
        };
        view.blocks.push(Block::Document(text));
        view
    }

    /// Shows the JSON to a person too.
    pub fn json_only(mut self) -> Self {
        self.blocks.push(Block::Document(format::json(&self.json)));
        self
    }

    /// Shows the data to a person as YAML, to be kept in a file.
    pub fn document(mut self) -> Result<Self> {
        self.blocks.push(Block::Document(format::yaml(&self.json)?));
        Ok(self)
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

    pub fn exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// Writes the data to stdout and all other text to stderr.
    pub fn show(&self, io: &Io, options: &OutputOptions) -> Result<()> {
        if let Some(jq) = &options.jq {
            return io.data(&jq.apply(&self.json, io.terminals.stdout)?);
        }
        match options.format {
            Format::Json => io.data(&format::json(&self.json)),
            Format::Yaml => io.data(&format::yaml(&self.json)?),
            Format::Csv => io.data(&format::csv(&self.json)?),
            Format::Ids => {
                io.data(&self.ids.iter().map(|id| format!("{id}\n")).collect::<String>())
            }
            Format::Table => self.show_to_a_person(io, options.color),
        }
    }

    fn show_to_a_person(&self, io: &Io, color: bool) -> Result<()> {
        let style = Style { screen: io.terminals.stdout, color, width: io.width };
        let nothing = |block: &Block| matches!(block, Block::Table(table) if table.is_empty());
        if let Some(hint) = self.empty.as_ref().filter(|_| self.blocks.iter().all(nothing)) {
            io.say(&format!("{hint}\n"));
            return Ok(());
        }
        let mut text = String::new();
        let mut hidden = Vec::new();
        for block in self.blocks.iter().filter(|block| !nothing(block)) {
            match block {
                Block::Table(table) => {
                    let (drawn, left_out) = table.draw(style);
                    text += &drawn;
                    hidden.extend(left_out);
                }
                Block::Card(card) => text += &draw_card(card, style),
                Block::Document(document) => text += document,
                Block::Line(line) => text += &(paint(line, style) + "\n"),
            }
        }
        io.data(&text)?;
        if !hidden.is_empty() {
            let line = format!("hidden columns: {} (-o json has all)", hidden.join(", "));
            io.say(&(dim(&line, color) + "\n"));
        }
        if io.terminals.stderr {
            self.changed.iter().for_each(|sentence| io.say(&format!("{sentence}\n")));
            self.next.iter().for_each(|command| io.say(&format!("Next: {command}\n")));
        }
        Ok(())
    }
}

/// Shows the requests that a dry run would have sent.
pub fn show_planned(io: &Io, options: &OutputOptions, planned: &[PlannedRequest]) -> Result<()> {
    if !matches!(options.format, Format::Table | Format::Ids) {
        return View::new(planned, Vec::new())?.show(io, options);
    }
    for request in planned {
        io.data(&format!("{} {}\n", request.method, request.path))?;
        if let Some(body) = &request.body {
            io.data(&format::json(body))?;
        }
    }
    io.say("No change was sent.\n");
    Ok(())
}

fn draw_card(card: &[(&'static str, TextCell)], style: Style) -> String {
    let width = card.iter().map(|(label, _)| label.width()).max().unwrap_or(0);
    let line = |(label, cell): &(&'static str, TextCell)| {
        let space = " ".repeat(width - label.width() + 2);
        format!("{}{space}{}", dim(label, style.color), paint(cell, style)).trim_end().to_owned()
            + "\n"
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
