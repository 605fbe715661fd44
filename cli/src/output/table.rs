//! Draws tables, and cuts or hides columns that do not fit the terminal. A pipe gets every column
//! whole.

#[cfg(test)]
mod tests;

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Color, ColumnConstraint, ContentArrangement, Width};
use unicode_width::UnicodeWidthStr;

use super::cell::{TextCell, Tone};
use super::columns::ColumnNames;
use crate::error::Result;
use crate::escape::cut;

const COLUMN_GAP: usize = 2;
/// The smallest width of a flexible column, so that 40 columns hold an id and a name.
const MIN_COLUMN_WIDTH: usize = 8;

/// Rule for cutting the long values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shrinks {
    Never,
    /// Before any column is hidden.
    First,
    /// Cut only when no further column can be hidden.
    Last,
}

/// Condition under which a column is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Always,
    /// If a row has a value.
    IfAny,
    /// If it is chosen by name.
    IfChosen,
}

/// A column: its title, and whether it shrinks or hides on a narrow terminal.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub title: &'static str,
    shrinks: Shrinks,
    shown: Shown,
    /// Columns of a higher rank are hidden earlier; rank 0 stays.
    rank: u8,
    /// The width, whatever the values are.
    width: Option<usize>,
}

impl Column {
    /// A column that stays whole and is hidden only when its rank's turn comes.
    pub const fn new(title: &'static str, rank: u8) -> Self {
        Self { title, shrinks: Shrinks::Never, shown: Shown::Always, rank, width: None }
    }

    /// A column whose long values may be cut.
    pub const fn flexible(title: &'static str, rank: u8) -> Self {
        Self { title, shrinks: Shrinks::First, ..Self::new(title, rank) }
    }

    /// A column that is shown only when it is chosen by name.
    pub const fn extra(title: &'static str) -> Self {
        Self { shown: Shown::IfChosen, ..Self::flexible(title, 0) }
    }

    /// A column that is shown if a row has a value, or when it is chosen by name.
    pub const fn sparse(title: &'static str) -> Self {
        Self { shown: Shown::IfAny, ..Self::flexible(title, 1) }
    }

    /// A column that is never hidden, and cut only when all others have given way.
    pub const fn kept(title: &'static str) -> Self {
        Self { shrinks: Shrinks::Last, ..Self::new(title, 0) }
    }

    /// A column of values of one width, which are printed before the later ones are known.
    pub const fn whole(title: &'static str, width: usize) -> Self {
        Self { width: Some(width), ..Self::new(title, 0) }
    }

    /// A column of lines that are printed before the later ones are known: longer values are cut on
    /// a terminal, whose rest the last column gets.
    pub const fn fixed(title: &'static str, rank: u8, width: usize) -> Self {
        Self { width: Some(width), rank, ..Self::kept(title) }
    }
}

/// Records, one a line.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<TextCell>>,
}

/// Style of drawing.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// For a person: relative times, fitted to `width`.
    pub screen: bool,
    pub color: bool,
    pub width: Option<usize>,
    /// Whether the titles are shown.
    pub headers: bool,
}

impl Table {
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    pub fn row(&mut self, cells: Vec<TextCell>) {
        self.rows.push(cells);
    }

    pub fn with(mut self, rows: impl IntoIterator<Item = Vec<TextCell>>) -> Self {
        self.rows.extend(rows);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns a table with only the named columns. They may be cut, but none is hidden.
    pub fn choose(&self, names: &ColumnNames) -> Result<Self> {
        let titles: Vec<&str> = self.columns.iter().map(|column| column.title).collect();
        let places = names.places(&titles)?;
        let chosen = |at: &usize| Column { rank: 0, shown: Shown::Always, ..self.columns[*at] };
        let columns = places.iter().map(chosen).collect();
        let row = |row: &Vec<TextCell>| places.iter().map(|&at| row[at].clone()).collect();
        Ok(Self { columns, rows: self.rows.iter().map(row).collect() })
    }

    /// The text, and the titles of the columns for which there was no room. A column without any
    /// value makes room first, and is not named.
    pub fn draw(&self, style: Style) -> (String, Vec<&'static str>) {
        let natural = self.natural_widths(style);
        let empty = |at: usize| self.rows.iter().all(|row| row[at].is_empty());
        let rank = |(at, column): (usize, &Column)| match column.rank {
            0 => *column,
            _ if column.width.is_none() && empty(at) => Column { rank: u8::MAX, ..*column },
            _ => *column,
        };
        let columns: Vec<Column> = self.columns.iter().enumerate().map(rank).collect();
        let fit = match style.width.filter(|_| style.screen) {
            Some(width) => fill(&columns, fit(&columns, &natural, width), width),
            None => natural,
        };
        let hidden = columns.iter().zip(&fit).filter(|(_, width)| width.is_none());
        let hidden =
            hidden.filter(|(column, _)| column.rank < u8::MAX && column.shown != Shown::IfChosen);
        (self.text(&fit, style), hidden.map(|(column, _)| column.title).collect())
    }

    fn text(&self, widths: &[Option<usize>], style: Style) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.style_text_only();
        if style.color {
            // The library would leave out colours, and not their ends, when NO_COLOR is set.
            crossterm::style::force_color_output(true);
            table.enforce_styling()
        } else {
            table.force_no_tty()
        };
        if style.headers {
            let shown = |(column, width): (&Column, &Option<usize>)| width.map(|_| heading(column));
            table.set_header(self.columns.iter().zip(widths).filter_map(shown).collect::<Vec<_>>());
        }
        for row in &self.rows {
            let cells = row.iter().zip(widths);
            table.add_row(cells.filter_map(|(cell, width)| {
                width.map(|width| draw_cell(&cell.or_dash(), style.screen, width))
            }));
        }
        let shown = self.columns.iter().zip(widths).filter(|(_, width)| width.is_some());
        for (drawn, (column, width)) in table.column_iter_mut().zip(shown) {
            drawn.set_padding((0, COLUMN_GAP as u16));
            if let Some(width) = width.filter(|_| column.width.is_some()) {
                let least = Width::Fixed((width + COLUMN_GAP) as u16);
                drawn.set_constraint(ColumnConstraint::LowerBoundary(least));
            }
        }
        table.trim_fmt() + "\n"
    }

    /// The width of each column, and none for those that are not shown.
    fn natural_widths(&self, style: Style) -> Vec<Option<usize>> {
        let width = |(at, column): (usize, &Column)| {
            let cells = self.rows.iter().map(|row| row[at].or_dash().shown(style.screen).width());
            let title = style.headers.then(|| column.title.width());
            let widest = cells.chain(title).max().unwrap_or_default();
            let fixed = column.width.map(|it| if style.screen { it } else { it.max(widest) });
            let is_shown = match column.shown {
                Shown::Always => true,
                Shown::IfAny => self.rows.iter().any(|row| !row[at].is_empty()),
                Shown::IfChosen => false,
            };
            is_shown.then(|| fixed.unwrap_or(widest))
        };
        self.columns.iter().enumerate().map(width).collect()
    }
}

/// The text in lines of at most this width, without a break inside a word that fits.
pub fn wrapped(text: &str, width: Option<usize>) -> String {
    let mut lines = comfy_table::Table::new();
    lines.load_style(NOTHING).force_no_tty();
    lines.set_content_arrangement(ContentArrangement::Dynamic);
    lines.set_width(width.and_then(|width| width.try_into().ok()).unwrap_or(u16::MAX));
    lines.add_row([text]);
    for column in lines.column_iter_mut() {
        column.set_padding((0, 0));
    }
    lines.trim_fmt()
}

/// Shrinks flexible columns, the widest first, then hides columns by rank, until all fits. Columns
/// that are kept shrink last.
fn fit(columns: &[Column], natural: &[Option<usize>], width: usize) -> Vec<Option<usize>> {
    let mut widths = natural.to_vec();
    loop {
        let tight = shrunk(columns, widths.clone(), width, Shrinks::First);
        if total(&tight) <= width {
            return tight;
        }
        let candidates = (0..columns.len()).filter(|&at| widths[at].is_some());
        match candidates.max_by_key(|&at| columns[at].rank).filter(|&at| columns[at].rank > 0) {
            Some(least) => widths[least] = None,
            None => return shrunk(columns, tight, width, Shrinks::Last),
        }
    }
}

/// Gives the rest of the line to the last column, if that has a fixed width.
fn fill(columns: &[Column], mut widths: Vec<Option<usize>>, width: usize) -> Vec<Option<usize>> {
    let rest = width.saturating_sub(total(&widths));
    let last = columns.iter().zip(&mut widths).rfind(|(_, width)| width.is_some());
    if let Some((Column { width: Some(_), .. }, Some(width))) = last {
        *width += rest;
    }
    widths
}

/// Cuts columns of one kind, the widest first, until all fits or none can give more.
fn shrunk(
    columns: &[Column],
    mut widths: Vec<Option<usize>>,
    width: usize,
    kind: Shrinks,
) -> Vec<Option<usize>> {
    while total(&widths) > width {
        let can_give = columns.iter().zip(widths.iter_mut()).filter_map(|(column, width)| {
            let width = width.as_mut()?;
            let least = MIN_COLUMN_WIDTH.max(column.title.width());
            (column.shrinks == kind && *width > least).then_some(width)
        });
        match can_give.max_by_key(|width| **width) {
            Some(widest) => *widest -= 1,
            None => break,
        }
    }
    widths
}

fn total(widths: &[Option<usize>]) -> usize {
    let shown: Vec<usize> = widths.iter().copied().flatten().collect();
    shown.iter().sum::<usize>() + COLUMN_GAP * shown.len().saturating_sub(1)
}

fn heading(column: &Column) -> comfy_table::Cell {
    comfy_table::Cell::new(column.title).add_attribute(Attribute::Dim)
}

fn draw_cell(cell: &TextCell, screen: bool, width: usize) -> comfy_table::Cell {
    let drawn = comfy_table::Cell::new(cut(cell.shown(screen), width));
    match cell.tone {
        Some(tone) => drawn.fg(color(tone)),
        None => drawn,
    }
}

fn color(tone: Tone) -> Color {
    match tone {
        Tone::Good => Color::DarkGreen,
        Tone::Warning => Color::DarkYellow,
        Tone::Bad => Color::DarkRed,
    }
}
