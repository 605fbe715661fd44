//! Prints records one by one, as they come. The columns of the table have fixed widths, as later
//! records are not known yet.

use serde::Serialize;

use crate::context::Context;
use crate::error::Result;
use crate::output::{Column, Format, Sheet, Style, Table, TextCell, View};

/// The columns of a table, and those of CSV.
pub struct Printer {
    columns: &'static [Column],
    form: Form,
}

enum Form {
    Table(Style),
    Csv(Sheet),
    Other,
}

impl Printer {
    /// Prints the header.
    pub fn begin(ctx: &Context, columns: &'static [Column], fields: &[&str]) -> Result<Self> {
        let (options, headers) = (&ctx.output, ctx.output.headers);
        let form = match options.format {
            Format::Table => {
                let style = options.style(&ctx.io);
                let (header, hidden) = options.chosen(&Table::new(columns))?.draw(style);
                if !hidden.is_empty() {
                    ctx.io.say(&format!("hidden columns: {} (-c shows them)\n", hidden.join(", ")));
                }
                if headers {
                    ctx.io.data(&header)?;
                }
                Form::Table(Style { headers: false, ..style })
            }
            Format::Csv => {
                let sheet = Sheet::new(fields, options.columns.as_ref(), headers)?;
                ctx.io.data(&sheet.header()?)?;
                Form::Csv(sheet)
            }
            _ => Form::Other,
        };
        Ok(Self { columns, form })
    }

    /// Prints a record: a row of the table, or what programs read.
    pub fn print(
        &self,
        ctx: &Context,
        record: &impl Serialize,
        id: String,
        row: Vec<TextCell>,
    ) -> Result<()> {
        match &self.form {
            Form::Table(style) => {
                let table = Table::new(self.columns).with([row]);
                ctx.io.data(&ctx.output.chosen(&table)?.draw(*style).0)
            }
            Form::Csv(sheet) => {
                let record = serde_json::to_value(record).unwrap_or_default();
                ctx.io.data(&sheet.records(&[record])?)
            }
            Form::Other => View::new(record, vec![id])?.show(&ctx.io, &ctx.output),
        }
    }
}
