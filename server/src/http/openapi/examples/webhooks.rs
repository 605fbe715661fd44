//! Examples of what webhooks are created with, and answer.

use common::{
    CreateWebhook, CreatedWebhook, Delivery, Open, ReplayWebhook, ResendEvent, Retried,
    UpdateWebhook, Webhook, WebhookError, WebhookFailure, WebhookState,
};

use super::{Example, checked, created, id, parsed};

const WEBHOOK_URL: &str = "https://example.com/licd";
const WEBHOOK_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

examples! {
    CreateWebhook {
        url: parsed(WEBHOOK_URL),
        description: None,
        types: Some(vec![parsed("license.*"), parsed("seat.taken")]),
        secret: None,
    }
    UpdateWebhook {
        url: None,
        description: Some(parsed("Shop")),
        types: None,
        enabled: Some(true),
        clear: None,
    }
    ReplayWebhook { after: Some(41), since: None, }
    ResendEvent { event: id("evt"), }
    Webhook {
        id: id("whk"),
        url: WEBHOOK_URL.to_owned(),
        description: None,
        types: Some(vec!["license.*".to_owned(), "seat.taken".to_owned()]),
        state: WebhookState::Healthy,
        disabled_reason: None,
        secret_missing: false,
        sequence: 42,
        pending: 0,
        held: 0,
        given_up: 0,
        first_given_up: None,
        failing_since: None,
        next_attempt_at: None,
        last_success_at: Some(checked()),
        last_status: Some(200),
        old_secret_until: None,
        created_at: created(),
        updated_at: created(),
    }
    CreatedWebhook { record: Webhook::example(), secret: parsed(WEBHOOK_SECRET), }
    Retried { subjects: 1, }
    WebhookFailure {
        id: id("whf"),
        event: Some(id("evt")),
        sequence: 42,
        attempt: 1,
        gave_up: false,
        error: Open::Known(WebhookError::Status),
        status: Some(500),
        response: Some("Internal Server Error".to_owned()),
        duration_ms: 12,
        at: checked(),
    }
    Delivery {
        delivered: true,
        event: id("evt"),
        error: None,
        status: Some(200),
        response: None,
        duration_ms: 12,
    }
}
