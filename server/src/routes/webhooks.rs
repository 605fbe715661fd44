//! The addresses of webhooks.

use aide::axum::ApiRouter;
use aide::axum::routing::{get_with, post_with};

use super::{op, refusing};
use crate::api::webhooks;
use crate::http::App;
use crate::http::openapi::Refusal;

/// What sending by hand is refused for, beside what all operations are.
const BY_HAND: [Refusal; 1] = [Refusal::NotSent];

#[rustfmt::skip]
pub fn webhooks() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/webhooks",
            post_with(webhooks::create, op("createWebhook", "Create a webhook, whose secret is shown once",
                "Creates a webhook: events are sent to `url` from now on, signed with a secret that \
                 is shown only this once. Repeating the request with the same `Idempotency-Key` \
                 returns 409, as the secret itself cannot be shown again. There are at most 20 \
                 webhooks."))
            .get_with(webhooks::list, op("listWebhooks", "List webhooks",
                "Lists the webhooks of this mode of the tenant, oldest first, with how they do.")))
        .api_route("/api/v1/admin/webhooks/{id}",
            get_with(webhooks::get, op("getWebhook", "Get a webhook",
                "Gets the webhook with this id, with how it does."))
            .patch_with(webhooks::update, op("updateWebhook", "Update, enable or disable a webhook",
                "Changes the members that are given and leaves the others. Members named in \
                 `clear` become null. A webhook that is enabled gets what it missed, and one whose \
                 `url` changes is tried at once."))
            .delete_with(webhooks::delete, op("deleteWebhook", "Delete a webhook",
                "Deletes the webhook and returns it as it was.")))
        .api_route("/api/v1/admin/webhooks/{id}/roll",
            post_with(webhooks::roll, op("rollWebhook", "Replace a webhook's secret, shown once",
                "Creates another secret and shows it, only this once. The former one signs as well \
                 for `overlapSeconds`, so that the receiver can be given the new one. With 0 all \
                 former ones end at once. Repeating the request with the same `Idempotency-Key` \
                 returns 409.")))
        .api_route("/api/v1/admin/webhooks/{id}/test",
            post_with(webhooks::test, refusing(&BY_HAND, op("testWebhook", "Send a test event, and see the answer",
                "Sends an event of type `webhook.test` by the way that all events go, also to a \
                 webhook that is disabled, and returns how it went. It is in no list of events. One \
                 at a time, and ten a minute."))))
        .api_route("/api/v1/admin/webhooks/{id}/resend",
            post_with(webhooks::resend, refusing(&BY_HAND, op("resendEvent", "Send an event again, and see the answer",
                "Sends a recorded event again, whether or not the webhook is for its type, and \
                 returns how it went. One at a time, and ten a minute."))))
        .api_route("/api/v1/admin/webhooks/{id}/replay",
            post_with(webhooks::replay, op("replayWebhook", "Send all events after a sequence or time again",
                "Sends the events after a sequence, or since a time, again. With the sequence of \
                 the last event, nothing of what was missed is sent.")))
        .api_route("/api/v1/admin/webhooks/{id}/retry",
            post_with(webhooks::retry, op("retryWebhook", "Send what was given up again",
                "Sends the events that were given up again, and what followed them on the same \
                 subjects. Returns for how many subjects.")))
        .api_route("/api/v1/admin/webhooks/{id}/failures",
            get_with(webhooks::failures, op("listWebhookFailures", "List a webhook's failures, newest first",
                "Lists the attempts of the last 30 days that failed, and the events that were given \
                 up, newest first, in pages of 100 without `limit`.")))
}
