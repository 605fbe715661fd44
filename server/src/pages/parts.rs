//! Small parts that several pages have: badges, the bar of seats, an event in a line, the links to a
//! list's other parts.

use askama::Template;
use askama::filters::HtmlSafe;
use common::{
    ActorType, Event, EventActor, EventType, Feature, Features, Invalid, License, LicenseId, Open,
    Seats, Status, SubjectType, Timestamp,
};
use form_urlencoded::Serializer;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::Error;

use super::filters;

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
        let is_over = license.expires_at.is_some_and(|end| end <= Timestamp::now());
        let (tone, word) = match license.status {
            Status::Active if is_over => (Tone::Bad, "expired"),
            Status::Active => (Tone::Ok, "active"),
            Status::Suspended => (Tone::Warn, "suspended"),
            Status::Revoked => (Tone::Bad, "revoked"),
            Status::Expired => (Tone::Bad, "expired"),
        };
        Self { tone, word }
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

/// An event in a line: its type, the records that it is about, who did it, and when.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<code>{{ event.kind }}</code>
        {%- if !records.is_empty() %} <b>{% for record in records %}{% if !loop.first %}, {% endif -%}
        {% if let Some(path) = record.path %}<a href="{{ base }}{{ path }}">{{ record.kind }} {{ record.text }}</a>
        {%- else %}{{ record.kind }} {{ record.text }}{% endif %}{% endfor %}</b>{% endif %} {# -#}
        <small class="quiet">by {{ actor }}</small> <span class="when">{{ event.time|moment }}</span>"#
)]
pub struct EventLine<'a> {
    base: &'a str,
    event: &'a Event,
    records: Vec<EventRecord<'a>>,
    actor: String,
}

impl HtmlSafe for EventLine<'_> {}

impl<'a> EventLine<'a> {
    /// `base` is that of the page's links. On the page of a record, which is `of` this kind, the line
    /// names only the other ones.
    pub fn of(event: &'a Event, base: &'a str, of: Option<SubjectType>) -> Self {
        let mut records = EventRecord::all_of(event);
        records.retain(|record| of.is_none_or(|of| of.as_str() != record.kind));
        Self { base, event, records, actor: actor(&event.actor) }
    }
}

/// A record that an event is about.
struct EventRecord<'a> {
    kind: &'a str,
    text: String,
    /// Its page behind the mode, if it has one.
    path: Option<String>,
}

impl<'a> EventRecord<'a> {
    /// The event's subject, and the user whose seat or license it is.
    fn all_of(event: &'a Event) -> Vec<Self> {
        let (id, related) = (event.subject.id.as_str(), &event.related);
        let external_id = related.external_id.as_ref().map(ToString::to_string);
        let record = |kind: SubjectType, text: Option<String>, path: Option<String>| Self {
            kind: kind.as_str(),
            text: text.unwrap_or_else(|| id.to_owned()),
            path,
        };
        let named = |kind, folder| {
            let name = event.data.object.get("name").and_then(|name| name.as_str());
            record(kind, name.map(str::to_owned), Some(format!("/{folder}/{id}")))
        };
        let is_gone = event.kind == Open::Known(EventType::UserDeleted);
        let subject = match &event.subject.kind {
            Open::Known(kind @ SubjectType::License) => {
                let path = format!("/licenses/{id}");
                record(*kind, related.license_id.map(short), Some(path))
            }
            Open::Known(kind @ SubjectType::User) => {
                let path = (!is_gone).then(|| format!("/users/{id}"));
                return vec![record(*kind, external_id, path)];
            }
            Open::Known(kind @ SubjectType::Key) => named(*kind, "keys"),
            Open::Known(kind @ SubjectType::Product) => named(*kind, "products"),
            Open::Known(kind @ SubjectType::Plan) => named(*kind, "plans"),
            Open::Known(kind @ SubjectType::Tenant) => Self { path: None, ..named(*kind, "") },
            Open::Unknown(kind) => Self { kind, text: id.to_owned(), path: None },
        };
        let user = related
            .user_id
            .map(|user| record(SubjectType::User, external_id, Some(format!("/users/{user}"))));
        [subject].into_iter().chain(user).collect()
    }
}

/// Who did something.
fn actor(actor: &EventActor) -> String {
    let name = || actor.name.clone().or_else(|| actor.id.clone()).unwrap_or_default();
    match &actor.kind {
        Open::Known(ActorType::Key | ActorType::Host) => name(),
        Open::Known(ActorType::Session) => format!("{} (dashboard)", name()),
        Open::Known(ActorType::System) => "licd".to_owned(),
        Open::Unknown(kind) => format!("{kind} {}", name()),
    }
}

/// The links below a list to its newest and its next older rows.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"{% if newest.is_some() || older.is_some() %}<nav class="pages" aria-label="Pages">
        {%- if let Some(query) = newest %}<a class="button small" href="?{{ query }}">Newest</a>{% endif -%}
        {%- if let Some(query) = older %}<a class="button small" href="?{{ query }}">Older</a>{% endif -%}
        </nav>{% endif %}"#
)]
pub struct Pager {
    newest: Option<String>,
    older: Option<String>,
}

impl HtmlSafe for Pager {}

impl Pager {
    /// Of rows of which one more than [`ROWS`] was read, which is taken away. `filters` are the other
    /// fields of the address, `before` its cursor.
    pub fn of<T>(
        rows: &mut Vec<T>,
        cursor: impl Fn(&T) -> String,
        before: &str,
        filters: &[(&str, &str)],
    ) -> Self {
        Self::of_some(rows, ROWS, cursor, before, filters)
    }

    /// As [`of`](Self::of), for a page of so many rows.
    pub fn of_some<T>(
        rows: &mut Vec<T>,
        limit: i64,
        cursor: impl Fn(&T) -> String,
        before: &str,
        filters: &[(&str, &str)],
    ) -> Self {
        let more_follow = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let query = |before: Option<String>| {
            let given = filters.iter().filter(|(_, value)| !value.is_empty());
            let before = before.iter().map(|before| ("before", before.as_str()));
            let mut query = Serializer::new(String::new());
            query.extend_pairs(given.copied().chain(before)).finish()
        };
        let older = rows.last().filter(|_| more_follow).map(|last| query(Some(cursor(last))));
        Self { newest: (!before.is_empty()).then(|| query(None)), older }
    }
}

/// The id of the record that the same form created when it was sent before, if that is the error.
pub fn created_before<T: DeserializeOwned>(error: Error) -> Result<T, Error> {
    #[derive(Deserialize)]
    struct Answer<T> {
        data: Record<T>,
    }
    #[derive(Deserialize)]
    struct Record<T> {
        id: T,
    }
    let Error::Replayed { body, .. } = error else { return Err(error) };
    let answer: Answer<T> = serde_json::from_str(&body).map_err(|_| Error::Internal)?;
    Ok(answer.data.id)
}

/// The features of a form's text, one on each line.
pub fn features(field: &str, text: &str) -> Result<Features, Error> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let features: Result<Vec<Feature>, Invalid> = lines.map(str::parse).collect();
    let too_long = |rule| Error::invalid(field, format!("Each feature {rule}."));
    Features::new(features.map_err(too_long)?)
        .map_err(|_| Error::invalid(field, "There may be at most 100 features, no two alike."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Another node may be newer already.
    #[test]
    fn an_event_of_a_later_version_has_its_line() {
        let event = json!({
            "id": "evt_01h455vb4pex5vsknk084sn02q",
            "sequence": 7,
            "type": "invoice.sent",
            "time": "2020-01-31T12:00:00.000Z",
            "actor": { "type": "robot", "id": "rob_1", "name": null, "keyId": null },
            "subject": { "type": "invoice", "id": "inv_1" },
            "related": { "productId": null, "planId": null, "licenseId": null,
                "userId": "usr_01h455vb4pex5vsknk084sn02q", "externalId": "a&b" },
            "data": { "object": { "id": "inv_1" }, "previous": null },
            "requestId": null,
        });
        let event: Event = serde_json::from_value(event).unwrap();
        let line = EventLine::of(&event, "/dashboard/live", None).to_string();
        let expected = "<code>invoice.sent</code> <b>invoice inv_1, \
            <a href=\"/dashboard/live/users/usr_01h455vb4pex5vsknk084sn02q\">user a&#38;b</a></b> \
            <small class=\"quiet\">by robot rob_1</small> <span class=\"when\">";
        assert_eq!(&line[..expected.len()], expected, "{line}");
        let on_page = EventLine::of(&event, "", Some(SubjectType::User)).to_string();
        assert!(on_page.contains("<b>invoice inv_1</b>"), "{on_page}");
    }
}
