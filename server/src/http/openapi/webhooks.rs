//! The request that the receivers of webhooks get. It is licd's own, so it has no handler.

use aide::generate::GenContext;
use aide::openapi::{
    MediaType, OpenApi, Operation, PathItem, ReferenceOr, RequestBody, Response, Responses,
};
use common::WebhookEvent;

use super::schemas;

const DESCRIPTION: &str = "An event, sent to the `url` of a webhook. The headers `webhook-id`, \
`webhook-timestamp` and `webhook-signature` follow Standard Webhooks: verify them before anything \
else. An event may come more than once, with the same `webhook-id`.";
const ANSWER: &str = "With a status from 200 to 299 within 15 seconds the event is delivered. With 410 \
the webhook is disabled. After any other answer, and after none, the event comes again.";

pub fn describe(ctx: &mut GenContext, document: &mut OpenApi) {
    let schema = schemas::object(schemas::of_answer::<WebhookEvent>(ctx));
    let event = MediaType { schema: Some(schema), ..MediaType::default() };
    let mut body = RequestBody { required: true, ..RequestBody::default() };
    body.content.insert("application/json".to_owned(), event);
    let answer = Response { description: ANSWER.to_owned(), ..Response::default() };
    let responses = Responses { default: Some(ReferenceOr::Item(answer)), ..Responses::default() };
    let operation = Operation {
        tags: vec!["Webhooks".to_owned()],
        // The signature authenticates the sender.
        security: vec![Default::default()],
        operation_id: Some("receiveEvent".to_owned()),
        summary: Some("Receive an event".to_owned()),
        description: Some(DESCRIPTION.to_owned()),
        request_body: Some(ReferenceOr::Item(body)),
        responses: Some(responses),
        ..Operation::default()
    };
    let item = PathItem { post: Some(operation), ..PathItem::default() };
    // OpenAPI Generator 7 writes an operation inside `webhooks` into the client, where Python and
    // TypeScript cannot compile it; behind a reference it leaves it out.
    let components = document.components.get_or_insert_default();
    components.path_items.insert("ReceiveEvent".to_owned(), ReferenceOr::Item(item));
    let reference = ReferenceOr::ref_("#/components/pathItems/ReceiveEvent");
    document.webhooks.insert("event".to_owned(), reference);
}
