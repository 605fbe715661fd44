//! Prints events one by one. The columns of the table have fixed widths, as later events are not
//! known yet.

use common::Event;

use super::{FIELDS, actor, change};
use crate::commands::prelude::*;
use crate::output::{Sheet, Style};

const COLUMNS: [Column; 5] = [
    Column::fixed("TIME", 0, 24),
    Column::fixed("TYPE", 0, 22),
    Column::fixed("SUBJECT", 1, 30),
    Column::fixed("BY", 2, 16),
    Column::fixed("WHAT CHANGED", 0, 20),
];

pub enum Printer {
    Table(Style),
    Csv(Sheet),
    Other,
}

impl Printer {
    /// Prints the header.
    pub fn begin(ctx: &Context) -> Result<Self> {
        let (options, headers) = (&ctx.output, ctx.output.headers);
        match options.format {
            Format::Table => {
                let style = options.style(&ctx.io);
                let (header, hidden) = options.chosen(&Table::new(&COLUMNS))?.draw(style);
                if !hidden.is_empty() {
                    ctx.io.say(&format!("hidden columns: {} (-c shows them)\n", hidden.join(", ")));
                }
                if headers {
                    ctx.io.data(&header)?;
                }
                Ok(Self::Table(Style { headers: false, ..style }))
            }
            Format::Csv => {
                let sheet = Sheet::new(&[FIELDS], options.columns.as_ref(), headers)?;
                ctx.io.data(&sheet.header()?)?;
                Ok(Self::Csv(sheet))
            }
            _ => Ok(Self::Other),
        }
    }

    pub fn print(&self, ctx: &Context, event: &ApiRecord<Event>) -> Result<()> {
        match self {
            Self::Table(style) => {
                let (subject, actor) = (&event.subject.id, actor(event));
                let row = [TextCell::of(event.time), TextCell::of(&event.kind)];
                let rest = [subject, &actor, &change(event)].map(TextCell::text);
                let table = Table::new(&COLUMNS).with([row.into_iter().chain(rest).collect()]);
                ctx.io.data(&ctx.output.chosen(&table)?.draw(*style).0)
            }
            Self::Csv(sheet) => {
                let record = serde_json::to_value(event).unwrap_or_default();
                ctx.io.data(&sheet.records(&[record])?)
            }
            Self::Other => View::new(event, vec![event.id.to_string()])?.show(&ctx.io, &ctx.output),
        }
    }
}
