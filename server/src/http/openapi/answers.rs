//! What handlers answer: the schema, the example and the headers of each success.

use aide::OperationOutput;
use aide::generate::GenContext;
use aide::openapi::{Operation, Response};
use common::{List, Paged, Success};

use super::examples::Example;
use super::{headers, parameters, schemas};
use crate::http::answer::{Data, Streamed};
use crate::http::newest_first::NewestFirst;
use crate::ops::outcome::{Changed, Created, Upserted};

macro_rules! answers {
    ($($name:ident<$inner:ty> as $envelope:ty: $($status:literal $why:literal),+;)*) => {$(
        impl<T: Example> OperationOutput for $name<$inner> {
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

answers! {
    Data<T> as Success<T>: 200 "OK";
    Changed<T> as Success<T>: 200 "OK";
    Created<T> as Success<T>: 201 "Created";
    Upserted<T> as Success<T>: 201 "Created", 200 "The record existed before";
    Streamed<List<T>> as List<T>: 200 "The whole list or a page, oldest first";
    Streamed<Paged<T>> as Paged<T>: 200 "The whole list or a page, oldest first";
    NewestFirst<T> as List<T>: 200 "A page, newest first";
}

fn success<T: Example>(ctx: &mut GenContext, operation: &Operation, description: &str) -> Response {
    let mut names = vec![headers::REQUEST_ID];
    if !operation.security.is_empty() {
        names.extend(headers::RATE);
    }
    if parameters::has_idempotency_key(operation) {
        names.push(headers::REPLAYED);
    }
    let schema = schemas::object(schemas::of_answer::<T>(ctx));
    Response {
        description: description.to_owned(),
        headers: headers::references(names),
        content: [("application/json".to_owned(), T::media(schema))].into_iter().collect(),
        ..Response::default()
    }
}
