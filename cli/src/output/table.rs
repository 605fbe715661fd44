//! Draws tables, and cuts or hides columns that do not fit the terminal. A pipe gets every column
//! whole.

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Color, ContentArrangement};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::cell::{TextCell, Tone};
use super::columns::ColumnNames;
use crate::error::Result;

const COLUMN_GAP: usize = 2;
/// The smallest width of a flexible column, so that 40 columns hold an id and a name.
const MIN_COLUMN_WIDTH: usize = 8;

/// When the long values of a column are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shrinks {
    Never,
    /// Before any column is hidden.
    First,
    /// When no further column can be hidden.
    Last,
}

/// A column: its title, and whether it shrinks or hides on a narrow terminal.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub title: &'static str,
    shrinks: Shrinks,
    /// Shown only when it is chosen by name.
    extra: bool,
    /// Columns of a higher rank are hidden earlier; rank 0 stays.
    pub rank: u8,
}

impl Column {
    /// A column that stays whole and is hidden only when its rank's turn comes.
    pub const fn new(title: &'static str, rank: u8) -> Self {
        Self { title, shrinks: Shrinks::Never, extra: false, rank }
    }

    /// A column whose long values may be cut.
    pub const fn flexible(title: &'static str, rank: u8) -> Self {
        Self { title, shrinks: Shrinks::First, extra: false, rank }
    }

    /// A column that is shown only when it is chosen by name.
    pub const fn extra(title: &'static str) -> Self {
        Self { title, shrinks: Shrinks::First, extra: true, rank: 0 }
    }

    /// A column that is never hidden, and cut only when all others have given way.
    pub const fn kept(title: &'static str) -> Self {
        Self { title, shrinks: Shrinks::Last, extra: false, rank: 0 }
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

    /// The named columns alone. They may be cut, but none is hidden.
    pub fn choose(&self, names: &ColumnNames) -> Result<Self> {
        let titles: Vec<&str> = self.columns.iter().map(|column| column.title).collect();
        let places = names.places(&titles)?;
        let chosen = |at: &usize| Column { rank: 0, extra: false, ..self.columns[*at] };
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
            0 => Column { rank: 0, ..*column },
            _ if empty(at) => Column { rank: u8::MAX, ..*column },
            _ => *column,
        };
        let columns: Vec<Column> = self.columns.iter().enumerate().map(rank).collect();
        let fit = match style.width.filter(|_| style.screen) {
            Some(width) => fit(&columns, &natural, width),
            None => natural,
        };
        let hidden = columns.iter().zip(&fit).filter(|(_, width)| width.is_none());
        let hidden = hidden.filter(|(column, _)| column.rank < u8::MAX && !column.extra);
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
        for column in table.column_iter_mut() {
            column.set_padding((0, COLUMN_GAP as u16));
        }
        table.trim_fmt() + "\n"
    }

    /// The width of each column, and none for those that are not shown.
    fn natural_widths(&self, style: Style) -> Vec<Option<usize>> {
        let title = |column: &Column| if style.headers { column.title.width() } else { 0 };
        let mut widths: Vec<usize> = self.columns.iter().map(title).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.or_dash().shown(style.screen).width());
            }
        }
        let shown = self.columns.iter().zip(widths);
        shown.map(|(column, width)| (!column.extra).then_some(width)).collect()
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

    fn style(width: Option<usize>) -> Style {
        Style { screen: true, color: false, width, headers: true }
    }

    fn at(width: usize) -> (String, Vec<&'static str>) {
        table().draw(style(Some(width)))
    }

    #[test]
    fn a_pipe_gets_every_column_whole() {
        let style = Style { screen: false, ..style(Some(20)) };
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
        pln_2  年間プロフェ…  -             no limit
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
        let (plain, _) = table.draw(style(None));
        let (colored, _) = table.draw(Style { color: true, ..style(None) });
        assert_eq!(plain, "S\nok\n");
        assert!(colored.contains("\u{1b}["), "{colored:?}");
    }

    #[test]
    fn columns_without_values_go_first_and_unnamed() {
        let columns = [Column::new("ID", 0), Column::new("NOTE", 1), Column::new("SEATS", 2)];
        let row = ["pln_1", "", "5"].map(TextCell::text).to_vec();
        let table = Table::new(&columns).with([row]);
        let (text, hidden) = table.draw(style(Some(14)));
        assert_eq!((text.as_str(), hidden), ("ID     SEATS\npln_1  5\n", vec![]));
        let (text, _) = table.draw(style(None));
        assert_eq!(text, "ID     NOTE  SEATS\npln_1  -     5\n");
    }

    #[test]
    fn a_kept_column_is_cut_when_all_others_are_gone() {
        let columns = [Column::new("ID", 0), Column::flexible("PLAN", 1), Column::kept("STATUS")];
        let row = ["lic_0123456789", "Professional", "active (expired 3d ago)"].map(TextCell::text);
        let table = Table::new(&columns).with([row.to_vec()]);
        let (text, hidden) = table.draw(style(Some(30)));
        assert_eq!(text, "ID              STATUS\nlic_0123456789  active (expir…\n");
        assert_eq!(hidden, ["PLAN"]);
        let (text, _) = table.draw(style(Some(49)));
        assert!(text.contains("Profess… "), "{text}");
    }

    #[test]
    fn an_extra_column_is_shown_when_chosen() {
        let table = Table::new(&[Column::new("ID", 0), Column::extra("CREATED")]);
        let table = table.with([["pln_1", "today"].map(TextCell::text).to_vec()]);
        assert_eq!(table.draw(style(None)), ("ID\npln_1\n".to_owned(), vec![]));
        assert_eq!(table.draw(style(Some(5))), ("ID\npln_1\n".to_owned(), vec![]));
        let chosen = table.choose(&"created,id".parse().unwrap()).unwrap();
        assert_eq!(chosen.draw(style(None)).0, "CREATED  ID\ntoday    pln_1\n");
    }

    #[test]
    fn chosen_columns_stay_and_titles_go() {
        let chosen = table().choose(&"seats,name".parse().unwrap()).unwrap();
        let (text, hidden) = chosen.draw(Style { headers: false, ..style(Some(20)) });
        assert_eq!(text, "5         Professio…\nno limit  年間プロ…\n");
        assert!(hidden.is_empty());
        assert!(table().choose(&"nope".parse().unwrap()).is_err());
    }
}
