//! The addresses of webhooks.

use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};

use super::{op, refusing};
use crate::api::webhooks;
use crate::http::App;
use crate::http::openapi::Refusal;

/// Refusals of test deliveries, in addition to those of all operations.
const BY_HAND: [Refusal; 1] = [Refusal::NotSent];

#[rustfmt::skip]
pub fn webhooks() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/webhooks",
            post_with(webhooks::create, op("createWebhook", "Create a webhook, whose secret is shown once",
                "Creates a webhook. From now on licd sends events to `url`, signed with a secret \
                 that only this response shows. Repeating the request with the same \
                 `Idempotency-Key` returns 409, because the secret is not shown again. A mode of \
                 a tenant has at most 20 webhooks."))
            .get_with(webhooks::list, op("listWebhooks", "List webhooks",
                "Lists the webhooks of this mode of the tenant, oldest first, with their state.")))
        .api_route("/api/v1/admin/webhooks/{id}",
            get_with(webhooks::get, op("getWebhook", "Get a webhook",
                "Gets the webhook with this id, with its state."))
            .patch_with(webhooks::update, op("updateWebhook", "Update, enable or disable a webhook",
                "Changes the given members. Members named in `clear` become null. All others \
                 stay. A webhook that is enabled gets the events that it missed. If `url` \
                 changes, licd retries immediately."))
            .delete_with(webhooks::delete, op("deleteWebhook", "Delete a webhook",
                "Deletes the webhook and returns it as it was.")))
        .api_route("/api/v1/admin/webhooks/{id}/roll",
            post_with(webhooks::roll, op("rollWebhook", "Replace a webhook's secret, shown once",
                "Creates another secret. Only this response shows it. The old secret signs too \
                 for `overlapSeconds`, so that you can update the receiver. With 0, all old \
                 secrets end immediately. Repeating the request with the same `Idempotency-Key` \
                 returns 409.")))
        .api_route("/api/v1/admin/webhooks/{id}/test",
            post_with(webhooks::test, refusing(&BY_HAND, op("testWebhook", "Send a test event, and see the response",
                "Sends an event of type `webhook.test` in the same way as all events, even to a \
                 disabled webhook, and returns the result. The event is not recorded. One at a \
                 time for a webhook, and ten a minute for a tenant."))))
        .api_route("/api/v1/admin/webhooks/{id}/resend",
            post_with(webhooks::resend, refusing(&BY_HAND, op("resendEvent", "Send an event again, and see the response",
                "Sends a recorded event again, whether or not the webhook is for its type, and \
                 returns the result. One at a time for a webhook, and ten a minute for a tenant."))))
        .api_route("/api/v1/admin/webhooks/{id}/replay",
            post_with(webhooks::replay, op("replayWebhook", "Send all events after a sequence or time again",
                "Sends the events after a sequence, or since a time, again. With the sequence of \
                 the last event, all missed events are skipped.")))
        .api_route("/api/v1/admin/webhooks/{id}/retry",
            post_with(webhooks::retry, op("retryWebhook", "Send given-up events again",
                "Sends the events that were given up again, and later events of the same \
                 subjects. Returns the number of these subjects.")))
        .api_route("/api/v1/admin/webhooks/{id}/failures",
            get_with(webhooks::failures, op("listWebhookFailures", "List a webhook's failures, newest first",
                "Lists the failed attempts of the last 30 days, and the events that were given \
                 up, newest first, in pages of 100 without `limit`.")))
}
