//! Prints events one by one. The columns of the table have fixed widths, as later events are not
//! known yet; on a terminal the lines are as wide as it is.

use common::Event;

use super::{COLUMNS, FIELDS, actor, change};
use crate::client::ApiRecord;
use crate::context::Context;
use crate::error::Result;
use crate::escape::clean;
use crate::output::table::cut;
use crate::output::{Format, Sheet, View};

/// The width of each column of the table but the last, which has the rest.
const WIDTHS: [usize; 4] = [24, 22, 30, 16];
const GAP: usize = 2;
/// The width that the last column has before others give way to it.
const MIN_LAST_WIDTH: usize = 20;

pub enum Printer {
    /// The columns, by their place, and the width of a line.
    Table(Vec<usize>, Option<usize>),
    Csv(Sheet),
    Other,
}

impl Printer {
    /// Prints the header.
    pub fn begin(ctx: &Context) -> Result<Self> {
        let (chosen, headers) = (ctx.output.columns.as_ref(), ctx.output.headers);
        match ctx.output.format {
            Format::Table => {
                let titles = COLUMNS.map(|column| column.title);
                let width = ctx.io.width.filter(|_| ctx.io.terminals.stdout);
                let columns = match (chosen, width) {
                    (Some(names), _) => names.places(&titles)?,
                    (None, Some(width)) => fitting(width),
                    (None, None) => (0..titles.len()).collect(),
                };
                let hidden =
                    (0..titles.len()).filter(|at| chosen.is_none() && !columns.contains(at));
                let hidden: Vec<_> = hidden.map(|at| titles[at]).collect();
                if !hidden.is_empty() {
                    ctx.io.say(&format!("hidden columns: {} (-c shows them)\n", hidden.join(", ")));
                }
                if headers {
                    ctx.io.data(&line(&columns, width, &titles.map(str::to_owned)))?;
                }
                Ok(Self::Table(columns, width))
            }
            Format::Csv => {
                let sheet = Sheet::new(&[FIELDS], chosen, headers)?;
                ctx.io.data(&sheet.header()?)?;
                Ok(Self::Csv(sheet))
            }
            _ => Ok(Self::Other),
        }
    }

    pub fn print(&self, ctx: &Context, event: &ApiRecord<Event>) -> Result<()> {
        let view = || View::new(event, vec![event.id.to_string()]);
        match self {
            Self::Table(columns, width) => {
                let (time, kind) = (event.time.to_string(), event.kind.to_string());
                let cells = [time, kind, event.subject.id.clone(), actor(event), change(event)];
                ctx.io.data(&line(columns, *width, &cells))
            }
            Self::Csv(sheet) => {
                let record = serde_json::to_value(event).unwrap_or_default();
                ctx.io.data(&sheet.records(&[record])?)
            }
            Self::Other => view()?.show(&ctx.io, &ctx.output),
        }
    }
}

/// The columns for which there is room, by their place.
fn fitting(width: usize) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..COLUMNS.len()).collect();
    let total = |columns: &[usize]| -> usize {
        let widths = columns.iter().filter_map(|&at| WIDTHS.get(at));
        widths.map(|width| width + GAP).sum::<usize>() + MIN_LAST_WIDTH
    };
    while total(&columns) > width {
        let can_go = (0..columns.len()).filter(|&at| COLUMNS[columns[at]].rank > 1);
        match can_go.max_by_key(|&at| COLUMNS[columns[at]].rank) {
            Some(least) => drop(columns.remove(least)),
            None => break,
        }
    }
    columns
}

/// A line of the table.
fn line(columns: &[usize], width: Option<usize>, cells: &[String; 5]) -> String {
    let mut line = String::new();
    for &at in columns {
        let cell = clean(&cells[at]);
        line += &match (WIDTHS.get(at), width) {
            (Some(&wide), Some(_)) => format!("{:<wide$}{:GAP$}", cut(&cell, wide), ""),
            (Some(&wide), None) => format!("{cell:<wide$}{:GAP$}", ""),
            (None, _) => format!("{cell}{:GAP$}", ""),
        };
    }
    let line = line.trim_end();
    width.map_or_else(|| line.to_owned(), |width| cut(line, width)) + "\n"
}
