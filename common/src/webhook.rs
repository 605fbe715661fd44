//! Webhooks: where events are sent, what was not taken, and why.

use std::str::FromStr;

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};

use crate::string_enum::string_enum;
use crate::text::Invalid;
use crate::{
    Event, EventId, EventType, Line, Mode, Open, TenantId, Timestamp, WebhookFailureId, WebhookId,
    WebhookSecret, WebhookUrl,
};

string_enum! {
    /// Whether events reach a webhook's receiver.
    WebhookState, "one of healthy, failing, disabled" {
        /// What is sent is taken.
        Healthy = "healthy",
        /// Nothing was taken lately; it is tried again.
        Failing = "failing",
        /// Nothing is sent until it is enabled.
        Disabled = "disabled",
    }
}

string_enum! {
    /// Why a webhook is disabled. Later versions may have more.
    DisabledReason, "why a webhook is disabled" {
        /// An administrator disabled it.
        ByHand = "by_hand",
        /// The receiver answered 410.
        Gone = "gone",
        /// Nothing was taken for five days.
        Failed = "failed",
    }
}

string_enum! {
    /// Why a webhook's receiver did not take an event. Later versions may have more.
    WebhookError, "why an event was not delivered" {
        /// The host has no address that webhooks may reach.
        NoPublicAddress = "no_public_address",
        /// Webhooks may not reach the address in the URL.
        BlockedAddress = "blocked_address",
        /// Nobody listens there.
        Connect = "connect",
        /// The certificate is not trusted, or there is no TLS.
        Tls = "tls",
        /// It took more than 15 seconds.
        Timeout = "timeout",
        /// The connection ended before an answer, or the answer was not HTTP.
        Reset = "reset",
        /// The answer was a redirect, which is not followed.
        Redirect = "redirect",
        /// The answer had another status than 200 to 299.
        Status = "status",
        /// The event was deleted before it could be sent.
        Expired = "expired",
    }
}

/// Which events a webhook sends: one type, such as `seat.taken`, or all that begin alike, such as
/// `license.*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct EventPattern(String);

impl EventPattern {
    /// The beginning that all types of the pattern share, with the full stop.
    fn beginning(text: &str) -> Option<&str> {
        text.strip_suffix('*').filter(|beginning| beginning.ends_with('.'))
    }

    /// Whether events of a type are sent. A pattern of a later version is taken as well.
    pub fn matches(pattern: &str, kind: &str) -> bool {
        match Self::beginning(pattern) {
            Some(beginning) => kind.starts_with(beginning),
            None => kind == pattern,
        }
    }

    /// The pattern of one type.
    pub fn of(kind: EventType) -> Self {
        Self(kind.to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EventPattern {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let is_known = EventType::WORDS.iter().any(|kind| Self::matches(text, kind));
        let rule = "the type of an event, such as seat.taken, or several, such as license.*";
        if is_known { Ok(Self(text.to_owned())) } else { Err(Invalid(rule)) }
    }
}

impl<'de> Deserialize<'de> for EventPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(Error::custom)
    }
}

#[cfg(feature = "server")]
impl schemars::JsonSchema for EventPattern {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EventPattern".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "examples": ["license.*", "seat.taken"],
        })
    }
}

/// An endpoint to which events are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "server", schemars(rename = "Webhook"))]
#[serde(rename_all = "camelCase")]
pub struct Webhook<S = WebhookState> {
    pub id: WebhookId,
    /// Keys that may only read see the origin and the last four characters, such as
    /// `https://example.com/…k2Xw`.
    pub url: String,
    pub description: Option<Line>,
    /// The types of events that are sent, such as `seat.taken` and `license.*`; null: all.
    pub types: Option<Vec<String>>,
    pub state: S,
    /// Null unless it is disabled.
    pub disabled_reason: Option<Open<DisabledReason>>,
    /// Whether the server that answered cannot open the secret, so that it sends nothing.
    pub secret_missing: bool,
    /// Up to this event all were delivered, given up, or are held with their subjects.
    pub sequence: i64,
    /// How many events of the world come after, whether or not they are to be sent.
    pub pending: i64,
    /// How many subjects are held, because an event of theirs was refused.
    pub held: i64,
    /// How many events of the last 30 days were given up.
    pub given_up: i64,
    /// The sequence of the first of them.
    pub first_given_up: Option<i64>,
    /// Since when nothing was taken.
    pub failing_since: Option<Timestamp>,
    /// When a failing receiver is tried again.
    pub next_attempt_at: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    /// The status of the last answer.
    pub last_status: Option<i32>,
    /// Until when a secret signs too that was replaced.
    pub old_secret_until: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl<S: PartialEq<WebhookState>> Webhook<S> {
    /// Whether somebody has to look at it.
    pub fn needs_attention(&self) -> bool {
        self.state != WebhookState::Healthy || self.given_up > 0 || self.secret_missing
    }
}

/// The body of a request to a receiver: an event, and where it comes from.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "server", schemars(rename = "WebhookEvent"))]
#[serde(rename_all = "camelCase")]
pub struct WebhookEvent<E = Event> {
    #[serde(flatten)]
    pub event: E,
    /// The event's `time`, under the name of Standard Webhooks.
    pub timestamp: Timestamp,
    pub mode: Mode,
    pub tenant_id: TenantId,
}

/// The body of `POST /api/v1/admin/webhooks`.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateWebhook {
    pub url: WebhookUrl,
    pub description: Option<Line>,
    /// Absent: all events.
    pub types: Option<Vec<EventPattern>>,
    /// A secret that the receiver has already; absent: licd makes one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<WebhookSecret>,
}

/// The record of a webhook, with the secret itself.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "server", schemars(rename = "CreatedWebhook"))]
pub struct CreatedWebhook<S = WebhookState> {
    #[serde(flatten)]
    pub record: Webhook<S>,
    /// What the receiver verifies signatures with. It is not shown again.
    pub secret: WebhookSecret,
}

/// The body of `PATCH /api/v1/admin/webhooks/{id}`: absent members stay.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateWebhook {
    pub url: Option<WebhookUrl>,
    pub description: Option<Line>,
    pub types: Option<Vec<EventPattern>>,
    /// False: nothing is sent until it is true again, and then what was missed.
    pub enabled: Option<bool>,
    /// The members to set to null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clear: Option<Vec<WebhookField>>,
}

string_enum! {
    /// A member of a webhook that may be null.
    WebhookField, "one of description, types", inline {
        Description = "description",
        Types = "types",
    }
}

/// The body of `POST /api/v1/admin/webhooks/{id}/replay`: one of both.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplayWebhook {
    /// Send the events after this sequence again. That of the last event: send none of what was
    /// missed.
    #[serde(default, deserialize_with = "sequence")]
    #[cfg_attr(feature = "server", schemars(range(min = 0)))]
    pub after: Option<i64>,
    /// Send the events since this time again.
    pub since: Option<Timestamp>,
}

/// JSON has one kind of number: some programs write 5 as 5.0.
fn sequence<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let whole = |number: f64| (number.fract() == 0.0 && number < 1e15).then_some(number as i64);
    let given = number.as_i64().or_else(|| number.as_f64().and_then(whole));
    let sequence = given.filter(|given| *given >= 0);
    let expected = &"a whole number of at least 0";
    let wrong = || D::Error::invalid_value(Unexpected::Other("number"), expected);
    sequence.map(Some).ok_or_else(wrong)
}

/// The body of `POST /api/v1/admin/webhooks/{id}/resend`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ResendEvent {
    pub event: EventId,
}

/// The answer of `POST /api/v1/admin/webhooks/{id}/retry`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct Retried {
    /// For how many subjects events were given up, which are sent again.
    pub subjects: i64,
}

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct WebhookFailure {
    pub id: WebhookFailureId,
    /// Null: the events up to this sequence were deleted before they could be sent.
    pub event: Option<EventId>,
    pub sequence: i64,
    /// Counts from 1.
    pub attempt: i32,
    /// Whether the event is not tried again.
    pub gave_up: bool,
    pub error: Open<WebhookError>,
    /// That of the answer, if there was one.
    pub status: Option<i32>,
    /// The beginning of the answer's body, or where it redirects to.
    pub response: Option<String>,
    pub duration_ms: i32,
    pub at: Timestamp,
}

/// The answer of `…/test` and `…/resend`: how it went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    pub delivered: bool,
    pub event: EventId,
    pub error: Option<Open<WebhookError>>,
    /// That of the answer, if there was one.
    pub status: Option<i32>,
    /// The beginning of the answer's body, or where it redirects to, if it was not taken.
    pub response: Option<String>,
    pub duration_ms: i32,
}
