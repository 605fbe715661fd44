//! Draws tables, and cuts or hides columns that do not fit the terminal. A pipe gets every column
//! whole.

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Color, ContentArrangement};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::cell::{TextCell, Tone};

const COLUMN_GAP: usize = 2;
/// The smallest width of a flexible column, so that 40 columns hold an id and a name.
const MIN_COLUMN_WIDTH: usize = 8;

/// A column: its title, and whether it shrinks or hides on a narrow terminal.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    title: &'static str,
    flexible: bool,
    /// Columns of a higher rank are hidden earlier; rank 0 stays.
    rank: u8,
}

impl Column {
    /// A column that stays whole and is hidden only when its rank's turn comes.
    pub const fn new(title: &'static str, rank: u8) -> Self {
        Self { title, flexible: false, rank }
    }

    /// A column whose long values may be cut.
    pub const fn flexible(title: &'static str, rank: u8) -> Self {
        Self { title, flexible: true, rank }
    }
}

/// Records, one a line.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<TextCell>>,
}

/// How to draw.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// For a person: relative times, fitted to `width`.
    pub screen: bool,
    pub color: bool,
    pub width: Option<usize>,
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

    /// The text, and the titles of the columns for which there was no room.
    pub fn draw(&self, style: Style) -> (String, Vec<&'static str>) {
        let natural = self.natural_widths(style.screen);
        let fit = match style.width.filter(|_| style.screen) {
            Some(width) => fit(&self.columns, &natural, width),
            None => natural.into_iter().map(Some).collect(),
        };
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.style_text_only();
        if style.color {
            table.enforce_styling()
        } else {
            table.force_no_tty()
        };
        let shown = |(column, width): (&Column, &Option<usize>)| width.map(|_| heading(column));
        table.set_header(self.columns.iter().zip(&fit).filter_map(shown).collect::<Vec<_>>());
        for row in &self.rows {
            let cells = row.iter().zip(&fit);
            table.add_row(cells.filter_map(|(cell, width)| {
                width.map(|width| draw_cell(cell, style.screen, width))
            }));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, COLUMN_GAP as u16));
        }
        let hidden = self.columns.iter().zip(&fit).filter(|(_, width)| width.is_none());
        (table.trim_fmt() + "\n", hidden.map(|(column, _)| column.title).collect())
    }

    fn natural_widths(&self, screen: bool) -> Vec<usize> {
        let titles = self.columns.iter().map(|column| column.title.width());
        let mut widths: Vec<usize> = titles.collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.shown(screen).width());
            }
        }
        widths
    }
}

/// Shrinks flexible columns, the widest first, then hides columns by rank, until all fits.
fn fit(columns: &[Column], natural: &[usize], width: usize) -> Vec<Option<usize>> {
    let mut widths: Vec<Option<usize>> = natural.iter().copied().map(Some).collect();
    loop {
        let mut tight = widths.clone();
        while total(&tight) > width {
            let widest = columns.iter().zip(tight.iter_mut()).filter_map(|(column, width)| {
                let width = width.as_mut()?;
                (column.flexible && *width > MIN_COLUMN_WIDTH.max(column.title.width()))
                    .then_some(width)
            });
            match widest.max_by_key(|width| **width) {
                Some(widest) => *widest -= 1,
                None => break,
            }
        }
        if total(&tight) <= width {
            return tight;
        }
        let candidates = (0..columns.len()).filter(|&at| widths[at].is_some());
        match candidates.max_by_key(|&at| columns[at].rank).filter(|&at| columns[at].rank > 0) {
            Some(least) => widths[least] = None,
            None => return tight,
        }
    }
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

/// Cuts to `width` columns, the last being an ellipsis when something was cut.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for letter in text.chars() {
        used += letter.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(letter);
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let columns = [
            Column::new("ID", 0),
            Column::flexible("NAME", 1),
            Column::flexible("FEATURES", 3),
            Column::new("SEATS", 2),
        ];
        let row = |id, name, features, seats| {
            vec![
                TextCell::text(id),
                TextCell::text(name),
                TextCell::text(features),
                TextCell::text(seats),
            ]
        };
        Table::new(&columns).with([
            row("pln_1", "Professional, yearly", "export,sso,api", "5"),
            row("pln_2", "年間プロフェッショナル版", "", "no limit"),
        ])
    }

    fn at(width: usize) -> (String, Vec<&'static str>) {
        table().draw(Style { screen: true, color: false, width: Some(width) })
    }

    #[test]
    fn a_pipe_gets_every_column_whole() {
        let style = Style { screen: false, color: false, width: Some(20) };
        insta::assert_snapshot!(table().draw(style).0, @"
        ID     NAME                      FEATURES        SEATS
        pln_1  Professional, yearly      export,sso,api  5
        pln_2  年間プロフェッショナル版                  no limit
        ");
    }

    #[test]
    fn flexible_columns_shrink_first() {
        insta::assert_snapshot!(at(44).0, @"
        ID     NAME           FEATURES      SEATS
        pln_1  Professional…  export,sso,…  5
        pln_2  年間プロフェ…                no limit
        ");
        assert!(at(44).1.is_empty());
    }

    #[test]
    fn then_the_least_important_column_goes_and_is_named() {
        let (text, hidden) = at(30);
        insta::assert_snapshot!(text, @"
        ID     NAME           SEATS
        pln_1  Professional…  5
        pln_2  年間プロフェ…  no limit
        ");
        assert_eq!(hidden, ["FEATURES"]);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_while_anything_can_give() {
        for width in 17..200 {
            let (text, _) = at(width);
            assert!(text.lines().all(|line| line.width() <= width), "{width}:\n{text}");
            assert!(text.contains("pln_2"), "ids are never cut");
        }
    }

    #[test]
    fn colour_is_added_only_on_request() {
        let table =
            Table::new(&[Column::new("S", 0)]).with([vec![TextCell::text("ok").toned(Tone::Good)]]);
        let (plain, _) = table.draw(Style { screen: true, color: false, width: None });
        let (colored, _) = table.draw(Style { screen: true, color: true, width: None });
        assert_eq!(plain, "S\nok\n");
        assert!(colored.contains("\u{1b}["), "{colored:?}");
    }
}
