//! The skeleton of a noun: its columns and cells are its own, and what is done with them is the same
//! for all.

use futures_util::stream::Stream;
use serde::Serialize;

use super::lists::{ListFlags, print_or_collect};
use super::named::Named;
use super::resolve::NameIndex;
use crate::client::Written;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::{Column, Table, TextCell, View};

/// The columns of a table, each with the cell of a record.
pub type Cells<T> = &'static [(Column, fn(&T, &Context, &NameIndex) -> TextCell)];

/// The labels of a card, with their values.
pub type Card = Vec<(&'static str, TextCell)>;

/// A record that tables and cards show.
pub trait Shown: Named + Serialize + Clone + 'static {
    /// The columns of its table, each with the cell of a record.
    const CELLS: Cells<Self>;
    /// The columns of CSV, as [`View::fields`] takes them.
    const FIELDS: &'static str;
    /// The command that makes the first one.
    const CREATE: &'static str = "";
    /// Whether its cells name products and plans.
    const HAS_NAMES: bool = false;

    /// Returns the card of a single record. Empty if the record has no card.
    fn card(&self, _: &Context, _: &NameIndex) -> Card {
        Card::new()
    }
}

/// The records in a table; `hint` says what to do if there are none.
pub async fn list<T: Shown>(
    ctx: &Context,
    flags: &ListFlags,
    whole: bool,
    pages: impl Stream<Item = Result<Vec<T>>>,
    hint: impl Into<String>,
) -> Result<View> {
    let Some(records) = print_or_collect(ctx, flags, T::FIELDS, whole, pages).await? else {
        return Ok(View::printed());
    };
    let is_needed = T::HAS_NAMES && ctx.output.format.has_columns() && !records.is_empty();
    let names = if is_needed { NameIndex::load(ctx).await? } else { NameIndex::default() };
    Ok(several(ctx, &records, &names)?.or_when_empty(hint))
}

/// Several records, as an array and in a table.
pub fn several<T: Shown>(ctx: &Context, records: &[T], names: &NameIndex) -> Result<View> {
    let ids = records.iter().map(Named::id).collect();
    Ok(View::new(records, ids)?.fields(&[T::FIELDS]).table(table(ctx, records, names)))
}

pub fn table<T: Shown>(ctx: &Context, records: &[T], names: &NameIndex) -> Table {
    let row = |record: &T| T::CELLS.iter().map(|(_, cell)| cell(record, ctx, names)).collect();
    Table::new(&columns::<T>()).with(records.iter().map(row))
}

pub fn columns<T: Shown>() -> Vec<Column> {
    T::CELLS.iter().map(|(column, _)| *column).collect()
}

/// One record, with its card.
pub async fn card<T: Shown>(ctx: &Context, record: &T) -> Result<View> {
    let names = names::<T>(ctx).await;
    let view = View::new(record, vec![record.id()])?.fields(&[T::FIELDS]);
    Ok(view.card(record.card(ctx, &names)))
}

/// A record that a command has just written, or found as it was to be.
pub async fn one<T: Shown>(ctx: &Context, record: &T) -> Result<View> {
    let view = View::new(record, vec![record.id()])?.fields(&[T::FIELDS]);
    let names = names::<T>(ctx).await;
    Ok(view.table(table(ctx, std::slice::from_ref(record), &names)))
}

/// The record after a write, with what `say` adds; on a dry run nothing.
pub async fn written<T: Shown>(
    ctx: &Context,
    done: Option<Written<T>>,
    say: impl FnOnce(View, &T) -> View,
) -> Result<View> {
    match done {
        Some(Written { data, .. }) => Ok(say(one(ctx, &data).await?, &data)),
        None => Ok(View::planned()),
    }
}

async fn names<T: Shown>(ctx: &Context) -> NameIndex {
    if T::HAS_NAMES { NameIndex::for_display(ctx).await } else { NameIndex::default() }
}

/// Prompts for one of the records; `create` is the command that makes the first.
pub fn choose<'a, T: Named>(
    ctx: &Context,
    records: &'a [T],
    create: &str,
    label: impl Fn(&T) -> String,
) -> Result<&'a T> {
    if records.is_empty() {
        return Err(Error::not_found(format!("No {}s yet.", T::NOUN)).fix(create));
    }
    let labels: Vec<_> = records.iter().map(label).collect();
    Ok(&records[ctx.prompts.choose(&T::capitalized(), &labels)?])
}

/// Records that a person chose this record, by its name unless another has that too.
pub fn record_choice<T: Named>(ctx: &Context, flag: Option<&str>, chosen: &T, all: &[T]) {
    let same_name = all.iter().filter(|it| it.name() == chosen.name()).count();
    let word = if same_name == 1 { chosen.name().to_owned() } else { chosen.id() };
    ctx.prompts.record(flag, &word);
}
