//! Bodies that cannot be read at all: no JSON, no object, too large, or declared as something else.

use reqwest::header::CONTENT_TYPE;
use reqwest::{Body, Method};

use super::{OPERATIONS, ask};
use crate::harness::App;

/// Every operation that takes a body, with its method and address.
fn with_bodies() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    OPERATIONS.into_iter().filter(|(_, _, body)| !body.is_empty())
}

#[tokio::test]
async fn invalid_json_is_400_with_its_position() {
    let app = App::start().await;
    assert_eq!(
        app.post_text("/api/v1/validate", "{\"userId\": ada}").await.refusal(),
        "400 invalid_request"
    );
    for operation in with_bodies() {
        for body in ["{", "{,}", "{'a':1}", "{1:1}", "{\"\u{1}\":1}"] {
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
async fn a_body_that_is_no_object_is_400() {
    let app = App::start().await;
    assert_eq!(
        app.post_text("/api/v1/validate", r#"["ada"]"#).await.refusal(),
        "400 invalid_request"
    );
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
    assert_eq!(declare(None).await.refusal(), "415 unsupported_media_type");
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

/// 413: a body may have 1 MiB, that of a validation 16 KiB, and not a byte more, however it is sent.
#[tokio::test]
async fn a_body_over_the_limit_is_413() {
    let app = App::start().await;
    let body = |size: usize| {
        let body = r#"{"userId":"ada"}"#;
        format!("{body}{}", " ".repeat(size - body.len()))
    };
    for (path, limit, named) in
        [("/api/v1/validate", 16 << 10, "16 KiB"), ("/api/v1/admin/explain", 1 << 20, "1 MiB")]
    {
        assert_eq!(app.post_text(path, body(limit)).await.status, 200);
        let refused = app.post_text(path, body(limit + 1)).await;
        assert_eq!(refused.refusal(), "413 payload_too_large");
        assert_eq!(refused.body["error"], format!("The body must be at most {named}"));
        for (size, status) in [(limit, 200), (limit + 1, 413), (3 << 20, 413)] {
            let chunks = body(size).into_bytes();
            let chunks = chunks.chunks(9000).map(|chunk| Ok(chunk.to_vec()));
            let chunks: Vec<std::io::Result<Vec<u8>>> = chunks.collect();
            let streamed = Body::wrap_stream(futures_util::stream::iter(chunks));
            let answer = app.post_text(path, streamed).await;
            assert_eq!(answer.status, status, "{size} bytes in chunks to {path}");
        }
    }
    assert_eq!(app.validate("ada").await.status, 200, "the connection serves on");
}

/// 415: what is compressed, or in another charset, cannot be read, and the answer says so.
#[tokio::test]
async fn an_encoded_body_is_415() {
    let app = App::start().await;
    let declare = async |name: &str, value: &str| {
        let json = if name == "content-type" { value } else { "application/json" };
        app.send(Method::POST, "/api/v1/validate", |request| {
            let request = request.header(CONTENT_TYPE, json).body(r#"{"userId":"ada"}"#);
            if name == "content-type" { request } else { request.header(name, value) }
        })
        .await
    };
    for encoding in ["gzip", "br", "identity, gzip", "x"] {
        let refused = declare("content-encoding", encoding).await;
        assert_eq!(refused.refusal(), "415 unsupported_media_type", "{encoding}");
        assert_eq!(refused.header("accept-encoding"), Some("identity"));
    }
    assert_eq!(declare("content-encoding", "Identity").await.status, 200);
    for charset in ["utf-16", "\"UTF-16LE\"", "latin1", ""] {
        let json = format!("application/json; charset={charset}");
        let refused = declare("content-type", &json).await;
        assert_eq!(refused.refusal(), "415 unsupported_media_type", "{charset}");
    }
    for parameter in ["charset=utf-8", "Charset=\"UTF-8\"", "profile=x", "charset=utf8;a=b"] {
        let taken = declare("content-type", &format!("application/json; {parameter}")).await;
        assert_eq!(taken.status, 200, "{parameter}");
    }
}

/// RFC 8259: JSON is UTF-8, also in unknown members. An escape without its other half is well-formed
/// by the grammar; only text that is read must be Unicode.
#[tokio::test]
async fn a_body_that_is_not_utf8_is_400() {
    let app = App::start().await;
    for body in [b"{\"userId\":\"ada\",\"x\":\"\xff\"}".to_vec(), b"{\"userId\":\"\xc3\"}".to_vec()]
    {
        let refused = app.post_text("/api/v1/validate", body).await;
        assert_eq!(refused.refusal(), "400 invalid_request");
        assert_eq!(refused.body["error"], "The body must be UTF-8");
    }
    let ignored = app.post_text("/api/v1/validate", r#"{"userId":"ada","x":"\ud800"}"#).await;
    assert_eq!(ignored.status, 200);
    let read = app.post_text("/api/v1/validate", r#"{"userId":"\ud800"}"#).await;
    assert_eq!(read.status, 400);
}
