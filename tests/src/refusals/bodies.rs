//! Bodies that cannot be read at all: no JSON, no object, too large, or declared as something else.

use insta::assert_snapshot;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Body, Method};

use super::{OPERATIONS, ask};
use crate::harness::App;

/// Every operation that takes a body, with its method and address.
fn with_bodies() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    OPERATIONS.into_iter().filter(|(_, _, body)| !body.is_empty())
}

#[tokio::test]
async fn what_is_no_json_is_400_and_says_where() {
    let app = App::start().await;
    assert_snapshot!(app.post_text("/api/v1/validate", "{\"userId\": ada}").await, @r#"
    400 {
      "success": false,
      "error": "The body is not well-formed JSON (line 1, column 12)",
      "code": "invalid_request",
      "requestId": "<request id>"
    }
    "#);
    for operation in with_bodies() {
        for body in ["{", "{\"a\":}", "{\"a\":1,}", "{'a':1}", "{\"a\":\"\u{1}\"}"] {
            let told = ask(&app, operation, body).await;
            assert_eq!(told, "400 invalid_request", "{operation:?} {body}");
        }
    }
    let more = app.post_text("/api/v1/validate", r#"{"userId":"ada"} x"#).await;
    assert_eq!(more.refusal(), "400 invalid_request", "JSON, and then something more");
    let not_utf8 = b"{\"userId\":\"\xff\"}".to_vec();
    let told = app.post_text("/api/v1/validate", not_utf8).await;
    assert_eq!(told.status, 400);
}

/// An array or a bare value is no body, though its parts would fit.
#[tokio::test]
async fn what_is_no_object_is_400() {
    let app = App::start().await;
    assert_snapshot!(app.post_text("/api/v1/validate", r#"["ada"]"#).await, @r#"
    400 {
      "success": false,
      "error": "The body must be a JSON object",
      "code": "invalid_request",
      "requestId": "<request id>"
    }
    "#);
    for operation in with_bodies() {
        for body in ["[]", "[\"a\",\"b\"]", "null", "true", "7", "\"a\"", " ", "[{\"userId\":1}]"] {
            let told = ask(&app, operation, body).await;
            assert_eq!(told, "400 invalid_request", "{operation:?} {body}");
        }
    }
}

#[tokio::test]
async fn a_member_that_is_given_twice_is_400() {
    let app = App::start().await;
    let twice = r#"{"userId":"ada","userId":"grace"}"#;
    let refused = app.post_text("/api/v1/validate", twice).await;
    assert_eq!(refused.refusal(), "400 invalid_request userId");
}

/// 415: the body must be declared as JSON.
#[tokio::test]
async fn a_body_that_is_not_declared_as_json_is_415() {
    let app = App::start().await;
    let declare = async |given: Option<&str>| {
        app.send(Method::POST, "/api/v1/validate", |request| {
            let request = request.body(r#"{"userId":"ada"}"#);
            match given {
                Some(given) => request.header(CONTENT_TYPE, given),
                None => request,
            }
        })
        .await
    };
    assert_snapshot!(declare(None).await, @r#"
    415 {
      "success": false,
      "error": "The body must be JSON, sent as Content-Type: application/json",
      "code": "unsupported_media_type",
      "requestId": "<request id>"
    }
    "#);
    for refused in ["text/plain", "application/x-www-form-urlencoded", "application/xml", "json"] {
        let told = declare(Some(refused)).await.refusal();
        assert_eq!(told, "415 unsupported_media_type", "{refused}");
    }
    for taken in ["application/json", "Application/JSON; charset=utf-8", "application/x+json"] {
        assert_eq!(declare(Some(taken)).await.status, 200, "{taken}");
    }
}

/// A refusal repeats the caller's words only as far as they help.
#[tokio::test]
async fn a_long_name_of_a_member_is_cut_in_the_refusal() {
    let app = App::start().await;
    let name = "k".repeat(300_000);
    let body = format!(r#"{{"externalId":"ada","metadata":{{"{name}":1e999}}}}"#);
    let refused = app.post_text("/api/v1/admin/users", body).await;
    assert_eq!(refused.status, 400);
    let length = refused.body.to_string().len();
    assert!(length < 1000, "{length} bytes");
}

/// 413: a body may have 1 MiB, and not a byte more, however it is sent.
#[tokio::test]
async fn a_body_over_a_mebibyte_is_413() {
    let app = App::start().await;
    let body = |size: usize| {
        let frame = r#"{"userId":"ada","x":""}"#.len();
        format!(r#"{{"userId":"ada","x":"{}"}}"#, "x".repeat(size - frame))
    };
    let mebibyte = 1024 * 1024;
    assert_eq!(app.post_text("/api/v1/validate", body(mebibyte)).await.status, 200);
    assert_snapshot!(app.post_text("/api/v1/validate", body(mebibyte + 1)).await, @r#"
    413 {
      "success": false,
      "error": "The body must be at most 1 MiB",
      "code": "payload_too_large",
      "requestId": "<request id>"
    }
    "#);
    let chunks = body(3 * mebibyte).into_bytes();
    let chunks = chunks.chunks(9000).map(|chunk| Ok(chunk.to_vec()));
    let chunks: Vec<std::io::Result<Vec<u8>>> = chunks.collect();
    let streamed = Body::wrap_stream(futures_util::stream::iter(chunks));
    let refused = app.post_text("/api/v1/validate", streamed).await;
    assert_eq!(refused.refusal(), "413 payload_too_large");
    assert_eq!(app.validate("ada").await.status, 200, "the connection serves on");
}
