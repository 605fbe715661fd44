//! Small parts that several pages have: badges, the bar of seats, the links to a list's other parts.

use askama::Template;
use askama::filters::HtmlSafe;
use common::{License, LicenseId, Reason, Seats, Status, Timestamp};
use form_urlencoded::Serializer;

/// `1 seat`, `2 seats`.
pub fn counted(number: impl Into<i64>, noun: &str) -> String {
    let number = number.into();
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// How many rows a page of a list has.
pub const ROWS: i64 = 50;

/// How a badge looks, as the style sheet names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Ok,
    Warn,
    Bad,
    Off,
}

/// A word in a coloured frame.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<span class="badge {% match tone %}{% when Tone::Ok %}ok{% when Tone::Warn %}warn
        {%- when Tone::Bad %}bad{% when Tone::Off %}off{% endmatch %}">{{ word }}</span>"#
)]
pub struct Badge {
    pub tone: Tone,
    pub word: &'static str,
}

impl HtmlSafe for Badge {}

impl Badge {
    /// The status of a license. One that is active and past its end is refused as one that has
    /// expired.
    pub fn of_license(license: &License) -> Self {
        let (tone, word) = match license.status {
            Status::Active if license.has_ended(Timestamp::now()) => (Tone::Bad, "expired"),
            Status::Active => (Tone::Ok, "active"),
            Status::Suspended => (Tone::Warn, "suspended"),
            Status::Revoked => (Tone::Bad, "revoked"),
            Status::Expired => (Tone::Bad, "expired"),
        };
        Self { tone, word }
    }
}

/// A reason in words.
pub fn words(reason: Reason) -> &'static str {
    match reason {
        Reason::NoLicense => "no license",
        Reason::Expired => "expired",
        Reason::Revoked => "revoked",
        Reason::Suspended => "suspended",
        Reason::ExceededSeats => "no free seat",
        Reason::UserNotFound => "unknown user",
    }
}

/// The seats of a license in words and, where there is a limit, as a bar.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<span class="seats">{% match allowed %}{% when Some(allowed) -%}
        {{ used }} of {{ allowed }}{% when None %}{{ used }}, no limit{% endmatch %}{{ self.bar() }}</span>"#
)]
pub struct SeatsBar {
    used: i32,
    allowed: Option<i32>,
}

impl HtmlSafe for SeatsBar {}

impl SeatsBar {
    pub fn of(seats: &Seats) -> Self {
        Self { used: seats.used, allowed: seats.allowed.map(|allowed| allowed.get()) }
    }

    /// Whether no seat is free.
    pub fn is_full(&self) -> bool {
        self.allowed.is_some_and(|allowed| self.used >= allowed)
    }

    /// The bar alone.
    pub fn bar(&self) -> Bar {
        let percent = |allowed| (i64::from(self.used) * 100 / i64::from(allowed)).min(100);
        Bar { is_full: self.is_full(), percent: self.allowed.map(percent) }
    }
}

/// How much of something is used, if that has a limit.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"{% if let Some(percent) = percent -%}
        <svg class="bar{% if is_full %} full{% endif %}" aria-hidden="true">
        {%- if percent > &0 %}<rect width="{{ percent }}%" height="100%"/>{% endif %}</svg>{% endif %}"#
)]
pub struct Bar {
    is_full: bool,
    percent: Option<i64>,
}

impl HtmlSafe for Bar {}

/// The end of an id, by which people tell licenses apart.
pub fn short(id: LicenseId) -> String {
    let id = id.to_string();
    format!("…{}", &id[id.len() - 6..])
}

/// The link to the page of a license, by the end of its id.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<a class="mono" href="{{ base }}/licenses/{{ id }}" title="{{ id }}">{{ self::short(*id) }}</a>"#
)]
pub struct LicenseLink {
    pub base: String,
    pub id: LicenseId,
}

impl HtmlSafe for LicenseLink {}

/// How a list is turned page by page.
#[derive(Clone, Copy)]
pub struct Paging<'a> {
    /// How many rows a page has.
    pub rows: i64,
    /// The field of the address that has the cursor.
    pub cursor: &'static str,
    /// What is called the first page, and the next one.
    pub words: [&'static str; 2],
    /// The element to which the next page scrolls, and what the list is of, where there are several.
    pub place: Option<(&'static str, &'static str)>,
    /// The other fields of the address.
    pub others: &'a [(&'a str, &'a str)],
}

impl Default for Paging<'_> {
    fn default() -> Self {
        let words = ["Newest", "Older"];
        Self { rows: ROWS, cursor: "before", words, place: None, others: &[] }
    }
}

/// The links below a list to its first and its next rows.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"{% if first.is_some() || next.is_some() %}<nav class="pages" aria-label="Pages
        {%- if let Some((_, of)) = place %} of {{ of }}{% endif %}">
        {%- if let Some(query) = first %}<a class="button small" href="?{{ query }}">{{ words[0] }}</a>{% endif -%}
        {%- if let Some(query) = next %}<a class="button small" href="?{{ query }}">{{ words[1] }}</a>{% endif -%}
        </nav>{% endif %}"#
)]
pub struct Pager {
    first: Option<String>,
    next: Option<String>,
    words: [&'static str; 2],
    place: Option<(&'static str, &'static str)>,
}

impl HtmlSafe for Pager {}

impl Pager {
    /// Of rows of which one more than a page has was read, which is taken away. `before` is the
    /// cursor of this page.
    pub fn of<T>(
        rows: &mut Vec<T>,
        cursor: impl Fn(&T) -> String,
        before: &str,
        paging: Paging<'_>,
    ) -> Self {
        let Paging { rows: limit, cursor: name, words, place, others } = paging;
        let more_follow = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let query = |before: Option<String>| {
            let given = others.iter().filter(|(_, value)| !value.is_empty());
            let before = before.iter().map(|before| (name, before.as_str()));
            let mut query = Serializer::new(String::new());
            let query = query.extend_pairs(given.copied().chain(before)).finish();
            match place {
                Some((id, _)) => format!("{query}#{id}"),
                None => query,
            }
        };
        let next = rows.last().filter(|_| more_follow).map(|last| query(Some(cursor(last))));
        Self { first: (!before.is_empty()).then(|| query(None)), next, words, place }
    }
}
