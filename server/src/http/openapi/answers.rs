//! The successful responses of handlers: schema and headers.

use aide::OperationOutput;
use aide::generate::GenContext;
use aide::openapi::{MediaType, Operation, Response};
use common::{List, Paged, Success};
use schemars::JsonSchema;

use super::{headers, parameters, schemas};
use crate::http::answer::{Data, Single, Streamed};
use crate::http::newest_first::DescendingPage;
use crate::ops::idempotency::Idempotent;
use crate::ops::outcome::{Changed, Created, Record, Upserted};

macro_rules! answers {
    ($($name:ident<$inner:ty> as $envelope:ty: $($status:literal $why:literal),+;)*) => {$(
        impl<T: JsonSchema> OperationOutput for $name<$inner> {
            type Inner = T;

            fn inferred_responses(
                ctx: &mut GenContext,
                operation: &mut Operation,
            ) -> Vec<(Option<u16>, Response)> {
                vec![$((Some($status), success::<$envelope>(ctx, operation, $why))),+]
            }
        }
    )*};
}

/// Responses that contain one record, which has a tag.
macro_rules! records {
    ($($name:ident: $($status:literal $why:literal),+;)*) => {$(
        impl<T: Record<Shown: JsonSchema>> OperationOutput for $name<T> {
            type Inner = T::Shown;

            fn inferred_responses(
                ctx: &mut GenContext,
                operation: &mut Operation,
            ) -> Vec<(Option<u16>, Response)> {
                let mut answer = |why| {
                    let mut answer = success::<Success<T::Shown>>(ctx, operation, why);
                    answer.headers.extend(headers::references::<Vec<_>>(vec![headers::ETAG]));
                    answer
                };
                vec![$((Some($status), answer($why))),+]
            }
        }
    )*};
}

records! {
    Single: 200 "OK";
    Changed: 200 "OK";
    Created: 201 "Created";
    Upserted: 201 "Created", 200 "The record existed before";
}

answers! {
    Data<T> as Success<T>: 200 "OK";
    Streamed<List<T>> as List<T>: 200 "The whole list or a page, oldest first";
    Streamed<Paged<T>> as Paged<T>: 200 "The whole list or a page, oldest first";
    DescendingPage<T> as List<T>: 200 "A page, newest first";
}

impl<T: OperationOutput> OperationOutput for Idempotent<T> {
    type Inner = T::Inner;

    fn inferred_responses(
        ctx: &mut GenContext,
        operation: &mut Operation,
    ) -> Vec<(Option<u16>, Response)> {
        T::inferred_responses(ctx, operation)
    }
}

fn success<T: JsonSchema>(
    ctx: &mut GenContext,
    operation: &Operation,
    description: &str,
) -> Response {
    let mut names = vec![headers::REQUEST_ID];
    if !operation.security.is_empty() {
        names.extend(headers::RATE);
    }
    if parameters::has_idempotency_key(operation) {
        names.push(headers::REPLAYED);
    }
    let schema = schemas::object(schemas::of_answer::<T>(ctx));
    let media = MediaType { schema: Some(schema), ..MediaType::default() };
    Response {
        description: description.to_owned(),
        headers: headers::references(names),
        content: [("application/json".to_owned(), media)].into_iter().collect(),
        ..Response::default()
    }
}
