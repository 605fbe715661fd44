//! Webhooks, their deliveries and their failures.

use std::str::FromStr;

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};

use crate::inline_schema::inline_schema;
use crate::string_enum::string_enum;
use crate::text::Invalid;
use crate::{
    Event, EventId, EventType, Line, Mode, Open, TenantId, Timestamp, WebhookFailureId, WebhookId,
    WebhookSecret, WebhookUrl,
};

string_enum! {
    /// State of a webhook.
    WebhookState {
        /// The receiver accepts events.
        Healthy = "healthy",
        /// The receiver accepted no event in the last attempts. licd retries.
        Failing = "failing",
        /// licd sends nothing until the webhook is enabled.
        Disabled = "disabled",
    }
}

string_enum! {
    /// Reason why a webhook is disabled. Later versions may have more.
    DisabledReason, "why a webhook is disabled" {
        /// An administrator disabled it.
        ByHand = "by_hand",
        /// The receiver responded with 410.
        Gone = "gone",
        /// The receiver accepted no event for five days.
        Failed = "failed",
    }
}

string_enum! {
    /// Reason why a delivery failed. Later versions may have more.
    WebhookError, "why an event was not delivered" {
        /// The host has no address that webhooks may reach.
        NoPublicAddress = "no_public_address",
        /// The URL contains an address that webhooks may not reach.
        BlockedAddress = "blocked_address",
        /// The connection was refused or timed out.
        Connect = "connect",
        /// The certificate is not trusted, or the receiver does not use TLS.
        Tls = "tls",
        /// The request took more than 15 seconds.
        Timeout = "timeout",
        /// The connection ended before a response, or the response was not HTTP.
        Reset = "reset",
        /// The response was a redirect, which licd does not follow.
        Redirect = "redirect",
        /// The response had another status than 200 to 299.
        Status = "status",
        /// The event was deleted before licd could send it.
        Expired = "expired",
    }
}

/// A pattern of event types: one type, such as `seat.taken`, or all types with a prefix, such as
/// `license.*`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct EventPattern(String);

impl EventPattern {
    /// Returns the prefix that all types of the pattern share, with the full stop.
    fn beginning(text: &str) -> Option<&str> {
        text.strip_suffix('*').filter(|beginning| beginning.ends_with('.'))
    }

    /// Whether the pattern matches a type. Patterns of later versions work too.
    pub fn matches(pattern: &str, kind: &str) -> bool {
        match Self::beginning(pattern) {
            Some(beginning) => kind.starts_with(beginning),
            None => kind == pattern,
        }
    }

    /// Creates the pattern of one type.
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

inline_schema!(EventPattern, {
    "type": "string",
    "examples": ["license.*", "seat.taken"],
});

/// A webhook: a URL to which licd sends events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "server", schemars(rename = "Webhook"))]
#[serde(rename_all = "camelCase")]
pub struct Webhook<S = WebhookState> {
    pub id: WebhookId,
    /// URL of the receiver. Keys of role `read` see only its origin and the last four characters,
    /// such as `https://example.com/…k2Xw`.
    pub url: String,
    pub description: Option<Line>,
    /// Types of the events to send, such as `seat.taken` and `license.*`. Null for all types.
    pub types: Option<Vec<String>>,
    pub state: S,
    /// Reason. Null unless the webhook is disabled.
    pub disabled_reason: Option<Open<DisabledReason>>,
    /// Whether the responding server cannot open the secret, so that it sends nothing.
    pub secret_missing: bool,
    /// Sequence of the last handled event. All events up to it were delivered, given up, or wait
    /// with their subjects.
    pub sequence: i64,
    /// Number of later events, whether or not they match `types`.
    pub pending: i64,
    /// Number of subjects whose events wait behind a refused event.
    pub held: i64,
    /// Number of events of the last 30 days that were given up.
    pub given_up: i64,
    /// Sequence of the first event that was given up.
    pub first_given_up: Option<i64>,
    /// Time since which the receiver has accepted no event.
    pub failing_since: Option<Timestamp>,
    /// Time of the next attempt at a failing receiver.
    pub next_attempt_at: Option<Timestamp>,
    pub last_success_at: Option<Timestamp>,
    /// Status of the last response.
    pub last_status: Option<i32>,
    /// Time until which a replaced secret signs too.
    pub old_secret_until: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl<S: PartialEq<WebhookState>> Webhook<S> {
    /// Whether an administrator has to act.
    pub fn needs_attention(&self) -> bool {
        self.state != WebhookState::Healthy || self.given_up > 0 || self.secret_missing
    }
}

/// The body of a request to a receiver: an event with its mode and tenant.
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
    /// Types of the events to send. If absent, all types.
    pub types: Option<Vec<EventPattern>>,
    /// A secret that the receiver has already. If absent, licd generates one.
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
    /// Secret with which the receiver verifies signatures. It is not shown again.
    pub secret: WebhookSecret,
}

/// The body of `PATCH /api/v1/admin/webhooks/{id}`. Absent members stay as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateWebhook {
    pub url: Option<WebhookUrl>,
    pub description: Option<Line>,
    pub types: Option<Vec<EventPattern>>,
    /// Whether licd sends events. After it is true again, licd sends the missed events.
    pub enabled: Option<bool>,
    /// Fields to set to null.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clear: Option<Vec<WebhookField>>,
}

string_enum! {
    /// A member of a webhook that may be null.
    WebhookField, inline {
        Description = "description",
        Types = "types",
    }
}

/// The body of `POST /api/v1/admin/webhooks/{id}/replay`, with exactly one member.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplayWebhook {
    /// Sends the events after this sequence again. The sequence of the last event skips all missed
    /// events.
    #[serde(default, deserialize_with = "sequence")]
    #[cfg_attr(feature = "server", schemars(range(min = 0)))]
    pub after: Option<i64>,
    /// Sends the events since this time again.
    pub since: Option<Timestamp>,
}

/// Reads a sequence. Accepts a zero fraction, because some programs write 5 as 5.0.
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

/// The response of `POST /api/v1/admin/webhooks/{id}/retry`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
pub struct Retried {
    /// Number of subjects whose given-up events are sent again.
    pub subjects: i64,
}

/// A failed delivery attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema, sqlx::FromRow))]
#[serde(rename_all = "camelCase")]
pub struct WebhookFailure {
    pub id: WebhookFailureId,
    /// Id of the event. Null if the events up to `sequence` were deleted before licd could send them.
    pub event: Option<EventId>,
    pub sequence: i64,
    /// Number of the attempt, from 1.
    pub attempt: i32,
    /// Whether licd has given up the event.
    pub gave_up: bool,
    pub error: Open<WebhookError>,
    /// Status of the response, if there was one.
    pub status: Option<i32>,
    /// Beginning of the response's body, or the target of a redirect.
    pub response: Option<String>,
    pub duration_ms: i32,
    pub at: Timestamp,
}

/// The result of `…/test` or `…/resend`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "server", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    pub delivered: bool,
    pub event: EventId,
    pub error: Option<Open<WebhookError>>,
    /// Status of the response, if there was one.
    pub status: Option<i32>,
    /// Beginning of the body of a refusal, or the target of a redirect.
    pub response: Option<String>,
    pub duration_ms: i32,
}
