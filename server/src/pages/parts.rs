//! Small parts that several pages share: badges, the bar of seats, links to licenses.

use askama::Template;
use askama::filters::HtmlSafe;
use common::{LicenseDetails, LicenseId, LicenseKey, Reason, Seats, Status, Timestamp};
use form_urlencoded::Serializer;

use crate::error::Error;
use crate::ops::licenses;
use crate::ops::view::View;

/// The choices for how long what was rolled still counts: the value in a form, and the label.
pub const OVERLAPS: [(&str, &str); 3] =
    [("86400", "24 hours"), ("604800", "7 days"), ("0", "not at all")];

/// `1 seat`, `2 seats`.
pub fn counted(number: impl Into<i64>, noun: &str) -> String {
    let number = number.into();
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Style of a badge, as the style sheet names it.
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
    /// The state of a license.
    pub fn of_license(license: &LicenseDetails) -> Self {
        let now = Timestamp::now();
        let (tone, word) = match license.effective_status(now) {
            _ if license.is_in_grace(&license.terms, now) => (Tone::Warn, "in grace"),
            Status::Active => (Tone::Ok, "active"),
            Status::Suspended => (Tone::Warn, "suspended"),
            Status::Revoked => (Tone::Bad, "revoked"),
            Status::Expired => (Tone::Bad, "expired"),
        };
        Self { tone, word }
    }

    /// Whether users can claim with the license key.
    pub fn of_license_key(key: &LicenseKey) -> Self {
        let word = key.state_name(Timestamp::now());
        let tone = match word {
            "valid" => Tone::Ok,
            "revoked" => Tone::Bad,
            _ => Tone::Off,
        };
        Self { tone, word }
    }
}

/// A reason in words.
pub fn words(reason: Reason) -> &'static str {
    look(reason).0
}

/// The pattern that tells a reason apart in a chart besides its colour.
pub fn pattern(reason: Reason) -> &'static str {
    look(reason).1
}

fn look(reason: Reason) -> (&'static str, &'static str) {
    match reason {
        Reason::NoLicense => ("no license", ""),
        Reason::Expired => ("expired", "M-2 8 8-2M2 12 12 2"),
        Reason::Revoked => ("revoked", "M0 0 6 6M6 0 0 6"),
        Reason::Suspended => ("suspended", "M0 3h6"),
        Reason::ExceededSeats => ("no free seat", "M3 0v6"),
        Reason::UserNotFound => ("unknown user", ""),
    }
}

/// The seats of a license in words and, if there is a limit, as a bar.
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

    pub fn bar(&self) -> Bar {
        let percent = |allowed| (i64::from(self.used) * 100 / i64::from(allowed)).min(100);
        Bar { is_full: self.is_full(), percent: self.allowed.map(percent) }
    }
}

/// The used share of a limit.
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

/// The last characters of an id, by which people tell licenses apart.
pub fn short(id: LicenseId) -> String {
    let id = id.to_string();
    format!("…{}", &id[id.len() - 6..])
}

/// A link to the page of a license.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"{% if let Some(title) = title -%}
        <a href="{{ base }}/licenses/{{ id }}" title="{{ id }}"><bdi>{{ title }}</bdi> <small class="mono quiet">{{ self::short(*id) }}</small></a>
        {%- else -%}
        <a class="mono" href="{{ base }}/licenses/{{ id }}" title="{{ id }}">{{ self::short(*id) }}</a>
        {%- endif %}"#
)]
pub struct LicenseLink {
    pub base: String,
    pub id: LicenseId,
    /// By what people tell it apart, if there is something.
    pub title: Option<String>,
}

impl HtmlSafe for LicenseLink {}

/// A filter that a link of another page set: it stays with the form, and a click takes it away.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<input type="hidden" name="{{ field }}" value="{{ value }}"><a class="chip" href="{{ without }}"><span class="hidden">Remove</span> {{ label }}: <bdi>{{ text }}</bdi> <span aria-hidden="true">×</span></a>"#
)]
pub struct Chip {
    label: &'static str,
    field: &'static str,
    value: String,
    text: String,
    /// The address of the list without it.
    without: String,
}

impl HtmlSafe for Chip {}

impl Chip {
    /// The chips of those of two fields that have a value. `fields` are all fields of the list at
    /// `list`.
    pub async fn all(
        view: &View,
        list: &str,
        fields: &[(&str, &str)],
        of: [(&'static str, &'static str); 2],
    ) -> Result<Vec<Self>, Error> {
        let mut chips = Vec::new();
        for of in of {
            chips.extend(Self::of(view, of, list, fields).await?);
        }
        Ok(chips)
    }

    async fn of(
        view: &View,
        (label, field): (&'static str, &'static str),
        list: &str,
        fields: &[(&str, &str)],
    ) -> Result<Option<Self>, Error> {
        let is_given = |(name, value): &&(&str, &str)| *name == field && !value.is_empty();
        let Some((_, value)) = fields.iter().find(is_given) else { return Ok(None) };
        let others = fields.iter().filter(|(name, value)| *name != field && !value.is_empty());
        let query = Serializer::new(String::new()).extend_pairs(others).finish();
        // As it is: an external id may begin or end with a blank.
        let (value, without) = ((*value).to_owned(), format!("{list}?{query}"));
        let text = match value.trim().parse::<LicenseId>() {
            Ok(id) => title(view, id).await?,
            Err(_) => value.clone(),
        };
        Ok(Some(Self { label, field, value, text, without }))
    }
}

/// The name of a license, or the end of its id.
async fn title(view: &View, id: LicenseId) -> Result<String, Error> {
    match licenses::get(view.clone(), id).await {
        Ok(license) => Ok(license.details.name.map_or_else(|| short(id), |name| name.to_string())),
        Err(Error::NotFound(_)) => Ok(short(id)),
        Err(error) => Err(error),
    }
}
