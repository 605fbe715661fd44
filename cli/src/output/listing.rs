//! Prints a list as its pages arrive where the format has a line for each record. In the other
//! formats a part of a list would be no valid text, so their output is whole or not there.

use futures_util::stream::{Stream, TryStreamExt};
use serde::Serialize;
use serde_json::Value;

use super::csv::{self, Sheet};
use super::format::{JsonArray, json_lines};
use super::{Format, OutputOptions, to_value};
use crate::error::Result;
use crate::terminal::Io;

/// Format of the records of one kind.
pub struct Listing<'a, T> {
    pub io: &'a Io,
    pub options: &'a OutputOptions,
    /// The columns of CSV, as [`Sheet::new`] takes them.
    pub fields: &'a str,
    pub id: fn(&T) -> String,
    /// The most records to print.
    pub limit: Option<usize>,
}

impl<T: Serialize> Listing<'_, T> {
    /// The records of all pages; none when they are printed already. No page is read that is not
    /// needed.
    pub async fn read(&self, pages: impl Stream<Item = Result<Vec<T>>>) -> Result<Option<Vec<T>>> {
        let (chosen, headers) = (self.options.columns.as_ref(), self.options.headers);
        let sheet = match self.options.format {
            Format::Csv => Some(Sheet::new(&[self.fields], chosen, headers)?),
            _ => None,
        };
        let by_line = self.options.format.is_by_line();
        // Only as text, as the records of a long list take much more memory.
        let is_array = self.options.format == Format::Json && self.options.jq.is_none();
        let mut pages = std::pin::pin!(pages);
        let mut left = self.limit.unwrap_or(usize::MAX);
        let (mut kept, mut array) = (Vec::new(), JsonArray::default());
        let (mut begun, mut warned) = (false, false);
        while left > 0
            && !self.io.is_closed()
            && let Some(mut page) = pages.try_next().await?
        {
            page.truncate(left);
            left -= page.len();
            if by_line {
                let text = self.text(sheet.as_ref(), &page, !begun)?;
                begun = true;
                if sheet.is_some() && !warned && csv::has_formula(&text) {
                    warned = true;
                    self.io.say(csv::FORMULA_NOTE);
                }
                self.io.records(&text)?;
            } else if is_array {
                array.extend(&to_value(page)?);
            } else {
                kept.extend(page);
            }
        }
        if is_array {
            self.io.records(&array.text())?;
        }
        Ok((!by_line && !is_array).then_some(kept))
    }

    fn text(&self, sheet: Option<&Sheet>, page: &[T], first: bool) -> Result<String> {
        match sheet {
            None if self.options.format == Format::Ids => {
                Ok(page.iter().map(|record| (self.id)(record) + "\n").collect())
            }
            None => Ok(json_lines(&to_value(page)?)),
            Some(sheet) => {
                let records: Vec<Value> = page.iter().map(to_value).collect::<Result<_>>()?;
                let header = if first { sheet.header()? } else { String::new() };
                Ok(header + &sheet.records(&records)?)
            }
        }
    }
}
