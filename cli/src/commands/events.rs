//! `licctl events`: the filters that its verbs share, and how an event is shown.

pub mod feed;
mod list;
mod subject;
mod tail;

use std::collections::BTreeSet;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use common::{
    ActorType, Event, EventPattern, EventType, EventsBy, ExternalId, KeyId, LicenseId, Open,
    SubjectType, Timestamp,
};
use serde_json::Value;

use crate::client::Client;
use crate::commands::prelude::*;
use crate::output::shown;

/// The columns of CSV.
const FIELDS: &str = "id sequence type time actorType=/actor/type actorName=/actor/name \
    subjectType=/subject/type subjectId=/subject/id externalId=/related/externalId \
    previous=/data/previous object=/data/object requestId";

impl Named for ApiRecord<Event> {
    const NOUN: &str = "event";
    fn id(&self) -> String {
        self.id.to_string()
    }
}

impl Shown for ApiRecord<Event> {
    const CELLS: Cells<Self> = &[
        (Column::new("TIME", 0), |it, ctx, _| TextCell::past(it.time, ctx.now)),
        (Column::new("TYPE", 0), |it, _, _| TextCell::of(&it.kind)),
        (Column::new("SUBJECT", 2), |it, _, _| TextCell::text(&it.subject.id)),
        (Column::flexible("BY", 3), |it, _, _| TextCell::text(actor(it))),
        (Column::flexible("WHAT CHANGED", 1), |it, _, _| TextCell::text(change(it))),
    ];
    const FIELDS: &'static str = FIELDS;
}

#[derive(Subcommand)]
pub enum Verb {
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    Tail(tail::TailArgs),
}

/// Filters for events. The service applies them, so that no other events are read.
#[derive(Args, Clone, Default)]
pub struct EventFilters {
    /// Only events of these types, such as seat.taken or license.*; several with commas
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = pattern())]
    kinds: Vec<EventPattern>,
    /// Only events about this record: an id, at least 6 characters from either end of it, an exact
    /// name, or a user's external id
    #[arg(long, value_name = "ID")]
    subject: Option<String>,
    /// Only events that concern this user (external id)
    #[arg(long)]
    user: Option<ExternalId>,
    /// Only events that this API key caused, itself or in its sessions (id)
    #[arg(long, value_name = "KEY")]
    actor: Option<KeyId>,
    /// Only changes by people and their programs, without those of validations: people
    #[arg(long, value_name = "people")]
    by: Option<EventsBy>,
}

/// Knows all types and their families, so that shells complete them and errors suggest them.
fn pattern() -> impl TypedValueParser<Value = EventPattern> {
    let families = EventType::WORDS.iter().filter_map(|kind| kind.split_once('.'));
    let families: BTreeSet<String> = families.map(|(family, _)| format!("{family}.*")).collect();
    let words = EventType::WORDS.iter().map(|kind| (*kind).to_owned());
    PossibleValuesParser::new(words.chain(families)).try_map(|it| it.parse())
}

pub async fn run(ctx: &Context, verb: Verb) -> Result<View> {
    match verb {
        Verb::List(args) => list::run(ctx, args).await,
        Verb::Tail(args) => tail::run(ctx, args).await,
    }
}

impl EventFilters {
    /// Returns the filters as flags, each with a space before it.
    fn flags(&self) -> String {
        let (types, actor) = (self.types(), self.actor.map(|key| key.to_string()));
        let flags = [
            ("type", types.as_deref()),
            ("subject", self.subject.as_deref()),
            ("user", self.user.as_ref().map(ExternalId::as_str)),
            ("actor", actor.as_deref()),
            ("by", self.by.map(EventsBy::as_str)),
        ];
        let given = flags.iter().filter_map(|(name, value)| Some((name, (*value)?)));
        given.map(|(name, value)| format!(" --{name} {}", quote(value))).collect()
    }

    /// The types as the service takes them.
    fn types(&self) -> Option<String> {
        let types: Vec<&str> = self.kinds.iter().map(EventPattern::as_str).collect();
        (!types.is_empty()).then(|| types.join(","))
    }

    /// The query of a part of the events.
    fn query(&self, part: &EventsPart) -> Query {
        let EventsPart { from, to, order } = part;
        Query::default()
            .with("type", self.types())
            .with("subject", self.subject.as_ref())
            .with("userId", self.user.as_ref())
            .with("actor", self.actor)
            .with("by", self.by)
            .with("from", *from)
            .with("to", *to)
            .with("order", (*order == Order::NewestFirst).then_some("newest"))
    }

    /// The last events, newest first.
    async fn last(&self, client: &Client, limit: usize) -> Result<Vec<ApiRecord<Event>>> {
        client.events().first(self.query(&EventsPart::default()), limit).await
    }
}

/// Range of the events that are read.
#[derive(Default)]
struct EventsPart {
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    order: Order,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Order {
    #[default]
    NewestFirst,
    OldestFirst,
}

/// The last events of a user, oldest first.
pub async fn last_of_user(
    client: &Client,
    user: ExternalId,
    limit: usize,
) -> Result<Vec<ApiRecord<Event>>> {
    let filters = EventFilters { user: Some(user), ..EventFilters::default() };
    let mut events = filters.last(client, limit).await?;
    events.reverse();
    Ok(events)
}

/// The event that gave the license its current status.
pub async fn last_status_change(
    client: &Client,
    license: LicenseId,
) -> Result<Option<ApiRecord<Event>>> {
    let kinds = vec![EventPattern::of(EventType::LicenseStatusChanged)];
    let subject = Some(license.to_string());
    let filters = EventFilters { kinds, subject, ..EventFilters::default() };
    Ok(filters.last(client, 1).await?.pop())
}

/// The name of a key, by itself or through the dashboard, or the command of licd.
pub fn actor(event: &Event) -> String {
    let actor = &event.actor;
    let name = actor.name.as_ref().or(actor.id.as_ref());
    match (&actor.kind, name) {
        (Open::Known(ActorType::System), _) => "licd".to_owned(),
        (Open::Known(ActorType::Session), Some(name)) => format!("{name} (dashboard)"),
        (_, Some(name)) => name.clone(),
        (kind, None) => kind.to_string(),
    }
}

/// `maxSeats: 3 → 5`; for a new or deleted record what it is.
fn change(event: &Event) -> String {
    if event.data.previous.is_none() {
        return identity(event);
    }
    let changes = event.data.changes().into_iter();
    let changes =
        changes.map(|(name, old, new)| format!("{name}: {} → {}", shown(old), shown(new)));
    changes.collect::<Vec<_>>().join(", ")
}

/// Returns the record by its name, because ids say little. For a license, its plan and user.
fn identity(event: &Event) -> String {
    use EventType::{LicenseExpired, LicenseExpiring, LicenseGraceEnded};
    let member = |name: &str| event.data.object.get(name).and_then(Value::as_str);
    match (&event.subject.kind, &event.related.external_id) {
        (Open::Known(SubjectType::User), Some(user)) => match member("email") {
            Some(email) => format!("{user} ({email})"),
            None => user.to_string(),
        },
        (Open::Known(SubjectType::License), Some(user)) => format!("user {user}"),
        (Open::Known(SubjectType::License), None) => {
            let told = [LicenseExpiring, LicenseExpired, LicenseGraceEnded].map(Open::Known);
            let name = if told.contains(&event.kind) { "expiresAt" } else { "maxSeats" };
            let value = event.data.object.get(name);
            value.map_or_else(String::new, |value| format!("{name}: {}", shown(value)))
        }
        _ => member("name").unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(kind: &str, subject: &str, object: &Value, previous: &Value) -> Event {
        let is_of_user = !["product.created", "license.expired"].contains(&kind);
        let external_id = is_of_user.then_some("alice");
        serde_json::from_value(json!({
            "id": "evt_01h455vb4pex5vsknk084sn02q",
            "sequence": 7,
            "type": kind,
            "time": "2027-01-31T12:00:00.000Z",
            "actor": { "type": "host", "id": null, "name": "licd keys create" },
            "subject": { "type": subject, "id": "x" },
            "related": { "productId": null, "planId": null, "licenseId": null, "userId": null,
                "externalId": external_id },
            "data": { "object": object, "previous": previous },
            "requestId": null,
        }))
        .unwrap()
    }

    #[test]
    fn a_change_shows_each_member_before_and_after() {
        let object = json!({ "maxSeats": 5, "features": ["a", "b"], "updatedAt": "y" });
        let previous = json!({ "maxSeats": null, "features": [], "updatedAt": "x" });
        let event = event("license.updated", "license", &object, &previous);
        assert_eq!(change(&event), "maxSeats: none → 5, features: none → a,b");
        assert_eq!(actor(&event), "licd keys create");
    }

    #[test]
    fn a_new_record_shows_whose_it_is() {
        for (kind, subject, object, text) in [
            ("user.created", "user", json!({ "email": "a@x.example" }), "alice (a@x.example)"),
            ("user.deleted", "user", json!({ "email": null }), "alice"),
            ("seat.taken", "license", json!({}), "user alice"),
            ("license.expired", "license", json!({ "expiresAt": "2027" }), "expiresAt: 2027"),
            ("product.created", "product", json!({ "name": "Studio" }), "Studio"),
            ("wish.granted", "wish", json!({}), ""),
        ] {
            assert_eq!(change(&event(kind, subject, &object, &Value::Null)), text, "{kind}");
        }
    }
}
