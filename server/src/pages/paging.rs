//! Lists, page by page: the newest rows first, with links to the first page and to the next one.

use std::str::FromStr;

use askama::Template;
use askama::filters::HtmlSafe;
use form_urlencoded::Serializer;
use serde::Deserialize;

use crate::store::{Cursor, Found, Page};

/// Number of rows in a page.
pub const ROWS: i64 = 50;

/// The query of a list without filters.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Before {
    pub before: String,
}

/// The pages of a list.
pub struct Paging<'a> {
    /// The cursor of this page, which is empty for the first one.
    pub cursor: &'a str,
    /// The query parameter that has the cursor.
    pub parameter: &'static str,
    pub rows: i64,
    /// The labels of the links to the first page and to the next one.
    pub labels: [&'static str; 2],
    /// On a page with several lists: the element to scroll to, and what this list has.
    pub place: Option<(&'static str, &'static str)>,
    /// The other parameters of the query.
    pub others: &'a [(&'a str, &'a str)],
}

impl<'a> Paging<'a> {
    pub fn new(cursor: &'a str) -> Self {
        let labels = ["Newest", "Older"];
        Self { cursor, parameter: "before", rows: ROWS, labels, place: None, others: &[] }
    }

    /// The page to read, with one more row, which shows that another page follows.
    pub fn page<C: Cursor + FromStr>(&self) -> Page<C> {
        Page::newest_first(self.cursor.parse().ok(), self.rows + 1)
    }

    /// The links below these rows, of which the one too many is removed.
    pub fn pager<T, C: ToString>(&self, rows: &mut Vec<T>, cursor: impl Fn(&T) -> C) -> Pager {
        let more_follow = rows.len() > self.rows as usize;
        rows.truncate(self.rows as usize);
        let next = rows.last().filter(|_| more_follow).map(|last| cursor(last).to_string());
        Pager {
            first: (!self.cursor.is_empty()).then(|| self.query(None)),
            next: next.map(|next| self.query(Some((self.parameter, next.as_str())))),
            labels: self.labels,
            place: self.place,
        }
    }

    /// Returns the pager of a list whose search may have stopped before the page was full.
    pub fn pager_of<T, C: ToString>(
        &self,
        found: &mut Found<T, C>,
        cursor: impl Fn(&T) -> C,
    ) -> Pager {
        let mut pager = self.pager(&mut found.records, cursor);
        if let (None, Some(rest)) = (&pager.next, &found.rest) {
            pager.next = Some(self.query(Some((self.parameter, &rest.to_string()))));
        }
        pager
    }

    fn query(&self, cursor: Option<(&str, &str)>) -> String {
        let given = self.others.iter().copied().filter(|(_, value)| !value.is_empty());
        let query = Serializer::new(String::new()).extend_pairs(given.chain(cursor)).finish();
        match self.place {
            Some((id, _)) => format!("{query}#{id}"),
            None => query,
        }
    }
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"{% if first.is_some() || next.is_some() %}<nav class="pages" aria-label="Pages
        {%- if let Some((_, of)) = place %} of {{ of }}{% endif %}">
        {%- if let Some(query) = first %}<a class="button small" href="?{{ query }}">{{ labels[0] }}</a>{% endif -%}
        {%- if let Some(query) = next %}<a class="button small" href="?{{ query }}">{{ labels[1] }}</a>{% endif -%}
        </nav>{% endif %}"#
)]
pub struct Pager {
    first: Option<String>,
    next: Option<String>,
    labels: [&'static str; 2],
    place: Option<(&'static str, &'static str)>,
}

impl HtmlSafe for Pager {}

impl Pager {
    pub fn has_next(&self) -> bool {
        self.next.is_some()
    }

    pub fn is_first_page(&self) -> bool {
        self.first.is_none()
    }
}
