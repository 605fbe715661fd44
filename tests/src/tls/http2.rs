//! HTTP/2: many requests at once on one connection, and what it leaves to licd.

use axum::http::Request;
use futures_util::future::join_all;
use licd::http::ConnectionLimits;

use super::client::{HTTP2, Http2, body_of_validation, connect, get, http1, until_answered};
use super::pair::Pair;
use super::{serve, start};

#[tokio::test]
async fn many_requests_share_a_connection() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let key = app.key.clone().unwrap();
    let connection = Http2::connect(&app.base, &pair).await;
    // With the answer the client knows how many licd takes at once.
    assert_eq!(connection.get("/healthz").await.status, 200);
    let users: Vec<String> = (0..500).map(|n| format!("user-{n}")).collect();
    let answers = join_all(users.iter().map(|user| connection.validate(&key, user))).await;
    for (user, answer) in users.iter().zip(answers) {
        assert_eq!(answer.status, 200, "{user}: {}", answer.body);
    }
    assert_eq!(app.number("select count(*) from users").await, 500);
}

/// Large answers, which are sent in pieces, arrive whole beside each other.
#[tokio::test]
async fn large_answers_arrive_whole() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let mut wire = http1(&app.base, &pair).await;
    wire.get("/api/v1/openapi.json").await;
    let expected = wire.answer().await.body;
    assert!(expected.len() > 100_000);
    let connection = Http2::connect(&app.base, &pair).await;
    for answer in join_all((0..20).map(|_| connection.get("/api/v1/openapi.json"))).await {
        assert_eq!(answer.status, 200);
        assert!(answer.body == expected, "{} bytes", answer.body.len());
    }
}

/// The address names the host. A `Host` beside it must say the same.
#[tokio::test]
async fn the_host_is_the_one_of_the_address() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let connection = Http2::connect(&app.base, &pair).await;
    for (host, refusal) in [
        (None, None),
        (Some("LocalHost"), None),
        (Some("elsewhere"), Some("400 invalid_request Host")),
    ] {
        let mut request = Request::get("https://localhost/healthz");
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let asked = connection.ask(request.body(()).unwrap(), false).await;
        let answer = asked.answer().await.unwrap();
        match refusal {
            Some(refusal) => assert_eq!(answer.refusal(), refusal),
            None => assert_eq!(answer.status, 200, "{}", answer.body),
        }
    }
}

/// A refusal that would end a connection of HTTP/1.1 ends nothing here: not the request's body, which
/// is longer than licd throws away, and not the requests after it.
#[tokio::test]
async fn a_refused_body_does_not_end_the_connection() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let connection = Http2::connect(&app.base, &pair).await;
    let request = Request::post("https://localhost/api/v1/admin/products")
        .header("content-type", "application/json")
        .header("content-length", "20000000");
    let asked = connection.ask(request.body(()).unwrap(), true).await;
    let answer = asked.answer().await.unwrap();
    assert_eq!(answer.refusal(), "401 unauthorized");
    assert!(!answer.head.contains("connection: "), "{}", answer.head);
    assert_eq!(connection.get("/healthz").await.status, 200);
}

/// Heads above the bound are refused, without an envelope, as HTTP/2 itself does it.
#[tokio::test]
async fn a_large_head_is_431() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let connection = Http2::connect(&app.base, &pair).await;
    let long = "y".repeat(20_000);
    let request = Request::get("https://localhost/healthz").header("x", long);
    let asked = connection.ask(request.body(()).unwrap(), false).await;
    assert_eq!(asked.answer().await.unwrap().status, 431);
    assert_eq!(connection.get("/healthz").await.status, 200);
}

/// More streams than the bound wait with the client, and are answered when others were.
#[tokio::test]
async fn requests_at_once_are_bounded() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let key = app.key.clone().unwrap();
    let connection = Http2::connect(&app.base, &pair).await;
    assert_eq!(connection.get("/healthz").await.status, 200);
    let mut begun = Vec::new();
    for _ in 0..32 {
        begun.push(connection.begin(&key).await);
    }
    let late = connection.get("/healthz");
    let finish = async {
        for mut asked in begun {
            asked.send(body_of_validation("ada"));
            assert_eq!(asked.answer().await.unwrap().status, 200);
        }
    };
    let (late, ()) = futures_util::future::join(late, finish).await;
    assert_eq!(late.status, 200);
    assert_eq!(connection.most_requests(), 32);
}

/// The end of one request does not make a connection idle on which another is in flight: it keeps its
/// place when there is no room for others.
#[tokio::test]
async fn a_request_in_flight_keeps_its_connection() {
    let pair = Pair::new();
    let limits = ConnectionLimits { max_connections: Some(2), ..ConnectionLimits::default() };
    let app = serve(&pair, limits).await;
    let key = app.key.clone().unwrap();
    let connection = Http2::connect(&app.base, &pair).await;
    let mut in_flight = connection.begin(&key).await;
    // Requests begin in their order.
    assert_eq!(connection.get("/healthz").await.status, 200);
    let mut idle = http1(&app.base, &pair).await;
    idle.get("/healthz").await;
    assert_eq!(idle.answer().await.status, 200);
    until_answered(&app.base, &pair).await;
    assert_eq!(idle.read_to_end().await, "", "it made room, though it waited for less long");
    in_flight.send(body_of_validation("ada"));
    assert_eq!(in_flight.answer().await.unwrap().status, 200);
}

/// Streams that are opened and reset in a hurry cost the connection, and no other.
#[tokio::test]
async fn resets_in_a_hurry_do_no_harm() {
    let pair = Pair::new();
    let app = start(&pair).await;
    let key = app.key.clone().unwrap();
    let hasty = Http2::over(connect(&app.base, &pair, HTTP2).await).await;
    for _ in 0..2_000 {
        match hasty.try_ask(get("/api/v1/openapi.json"), false).await {
            Some(asked) => drop(asked),
            None => break,
        }
    }
    let other = Http2::connect(&app.base, &pair).await;
    assert_eq!(other.validate(&key, "ada").await.status, 200);
}
