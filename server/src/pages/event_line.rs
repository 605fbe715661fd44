//! An event as a line of a list.

use askama::Template;
use askama::filters::HtmlSafe;
use common::{ActorType, Event, EventActor, EventType, Open, SubjectType, Timestamp};
use serde_json::Value;

use super::filters::{self, end_in_words};
use super::short;

/// An event in a line: its type, its records, what changed, who did it, and when.
#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<code>{{ event.kind }}</code>
        {%- if !records.is_empty() %} <b>{% for record in records %}{% if !loop.first %}, {% endif -%}
        {% if let Some(path) = record.path %}<a href="{{ base }}{{ path }}">{{ record.kind }} {{ record.text }}</a>
        {%- else %}{{ record.kind }} {{ record.text }}{% endif %}{% endfor %}</b>{% endif %} {# -#}
        {% for change in self::changes(event) %}<span>{{ change }}</span> {% endfor -%}
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
    /// `base` is the address with which links begin.
    pub fn of(event: &'a Event, base: &'a str) -> Self {
        Self { base, event, records: EventRecord::all_of(event), actor: actor(&event.actor) }
    }
}

/// A record that an event is about.
struct EventRecord<'a> {
    kind: &'a str,
    text: String,
    /// The path of its page behind the mode, if it has one.
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
        let page = |folder: &str| (!is_deletion(event)).then(|| format!("/{folder}/{id}"));
        let named = |kind, folder| {
            let name = event.data.object.get("name").and_then(|name| name.as_str());
            record(kind, name.map(str::to_owned), page(folder))
        };
        let subject = match &event.subject.kind {
            Open::Known(kind @ SubjectType::License) => {
                let license = named(*kind, "licenses");
                let has_name = license.text != id;
                let text = related.license_id.map(short).filter(|_| !has_name);
                EventRecord { text: text.unwrap_or(license.text), ..license }
            }
            Open::Known(kind @ SubjectType::User) => {
                return vec![record(*kind, external_id, page("users"))];
            }
            Open::Known(kind @ SubjectType::Key) => named(*kind, "keys"),
            Open::Known(kind @ SubjectType::Product) => named(*kind, "products"),
            Open::Known(kind @ SubjectType::Plan) => named(*kind, "plans"),
            Open::Known(kind @ SubjectType::Tenant) => Self { path: None, ..named(*kind, "") },
            Open::Known(kind @ SubjectType::Webhook) => record(*kind, None, page("webhooks")),
            Open::Known(kind @ SubjectType::SigningKey) => record(*kind, None, None),
            Open::Unknown(kind) => Self { kind, text: id.to_owned(), path: None },
        };
        let user = related
            .user_id
            .map(|user| record(SubjectType::User, external_id, Some(format!("/users/{user}"))));
        [subject].into_iter().chain(user).collect()
    }
}

/// Whether the subject of the event has no page any more.
fn is_deletion(event: &Event) -> bool {
    matches!(
        event.kind,
        Open::Known(
            EventType::ProductDeleted
                | EventType::PlanDeleted
                | EventType::LicenseDeleted
                | EventType::UserDeleted
                | EventType::WebhookDeleted
        )
    )
}

/// Names the actor of an event.
pub fn actor(actor: &EventActor) -> String {
    let name = || actor.name.clone().or_else(|| actor.id.clone()).unwrap_or_default();
    match &actor.kind {
        Open::Known(ActorType::Key | ActorType::Host) => name(),
        Open::Known(ActorType::Session) => format!("{} (dashboard)", name()),
        Open::Known(ActorType::System) => "licd".to_owned(),
        Open::Unknown(kind) => format!("{kind} {}", name()),
    }
}

/// Lists the members that an event changed, with their values before and after.
pub fn changes(event: &Event) -> Vec<String> {
    let changed = event.data.changes().into_iter().map(|(member, before, after)| {
        let (label, [before, after]) = in_words(member, [before, after]);
        format!("{label}: {before} → {after}")
    });
    changed.collect()
}

/// A member as the pages call it, with its values.
fn in_words(member: &str, values: [&Value; 2]) -> (String, [String; 2]) {
    let (label, values) = match member {
        "expiresAt" => {
            let end = |value: &Value| value.as_str()?.parse::<Timestamp>().ok();
            let is_day = |value| end(value).is_none_or(|end| end.last_day().is_some());
            let label = if values.into_iter().all(is_day) { "Last valid day" } else { "Ends" };
            let words = |value| end(value).map_or_else(|| "never".to_owned(), end_in_words);
            (label, values.map(words))
        }
        "maxSeats" => ("Seats", values.map(|value| brief_or("unlimited", value))),
        "expiresInDays" => ("Days", values.map(|value| brief_or("unlimited", value))),
        other => return (spaced(other), values.map(brief)),
    };
    (label.to_owned(), values)
}

/// The name of a member with blanks: `revoked at` for `revokedAt`.
fn spaced(member: &str) -> String {
    let letters = member.chars().flat_map(|letter| {
        let space = letter.is_uppercase().then_some(' ');
        space.into_iter().chain(letter.to_lowercase())
    });
    letters.collect()
}

fn brief_or(none: &str, value: &Value) -> String {
    if value.is_null() { none.to_owned() } else { brief(value) }
}

/// A value, shortened.
fn brief(value: &Value) -> String {
    const LONGEST: usize = 40;
    let text = match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.parse().map_or_else(|_| text.clone(), end_in_words),
        Value::Array(values) => values.iter().map(brief).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// During an update, another node may be newer.
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
        let line = EventLine::of(&event, "/dashboard/live").to_string();
        let expected = "<code>invoice.sent</code> <b>invoice inv_1, \
            <a href=\"/dashboard/live/users/usr_01h455vb4pex5vsknk084sn02q\">user a&#38;b</a></b> \
            <small class=\"quiet\">by robot rob_1</small> <span class=\"when\">";
        assert_eq!(&line[..expected.len()], expected, "{line}");
    }
}
