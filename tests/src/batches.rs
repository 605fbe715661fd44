//! One batch of validations with keys of several tenants, modes, roles and states, for users of the
//! same name. Each gets the same result as in a batch of its own.
//!
//! HTTP does not control what shares a batch, so the requests go to the hot path directly.

use std::sync::Arc;

use common::{ApiKey, Mode, Role, Validation};
use licd::auth::gate::{CallerInfo, KeyGate, hash};
use licd::auth::limit::{NewUserLimit, RateLimit};
use licd::error::Error;
use licd::validation::queue::Handler;
use licd::validation::{BatchValidator, Claim, Read, ValidationRequest};
use serde_json::json;

use crate::harness::App;

fn validator(app: &App) -> BatchValidator {
    BatchValidator {
        db: app.db().clone(),
        gate: Arc::new(KeyGate::new(RateLimit::default(), NewUserLimit::default(), 1)),
        outcomes: Arc::default(),
        last_checks: Arc::default(),
        metrics: Arc::default(),
    }
}

fn question(&(key, user): &(&str, &str)) -> ValidationRequest {
    ValidationRequest {
        key: hash(&key.parse().unwrap()),
        caller: CallerInfo::default(),
        request_id: "r".into(),
        user: user.parse().unwrap(),
        product: None,
    }
}

/// Answers requests, each with its key and user: those that need nothing written in one batch, and
/// the others in another.
async fn ask(app: &App, questions: &[(&str, &str)]) -> Vec<Result<Validation, Error>> {
    let validator = validator(app);
    let questions: Vec<ValidationRequest> = questions.iter().map(question).collect();
    let (mut answers, mut claims) = (Vec::new(), Vec::new());
    for read in validator.handle(&questions[..]).await.unwrap() {
        answers.push(match read {
            Read::Answered(answer) => Some(answer),
            Read::NeedsWrite(claim) => {
                claims.push(claim);
                None
            }
        });
    }
    let mut claimed = validator.handle(&claims[..]).await.unwrap().into_iter();
    answers.into_iter().map(|answer| answer.unwrap_or_else(|| claimed.next().unwrap())).collect()
}

fn told(answer: &Result<Validation, Error>) -> String {
    match answer {
        Ok(Validation::Valid(grant)) => format!("valid {}", grant.activation.id),
        Ok(Validation::Invalid(refusal)) => refusal.reason.to_string(),
        Err(error) => format!("{error:?}"),
    }
}

/// The only seat goes to ada for every key of the tenant, and stays hers. Users of the same name in
/// another tenant or mode are separate, and a refused key has no effect on the others.
#[tokio::test]
async fn each_key_is_answered_as_if_alone() {
    let app = App::start().await;
    let license = app.license(json!({ "maxSeats": 1 })).await;
    for user in ["ada", "bob"] {
        app.assign(&license, user).await.data();
    }
    let other = app.other_tenant().await.key.unwrap();
    let key = async |role, mode| app.new_key("default", role, mode).await;
    let first = &*key(Role::Validate, Mode::Live).await;
    let second = &*key(Role::Admin, Mode::Live).await;
    let reader = &*key(Role::Read, Mode::Live).await;
    let test = &*key(Role::Validate, Mode::Test).await;
    let revoked = &*key(Role::Validate, Mode::Live).await;
    let own = app.with_key(revoked).get("/api/v1/key").await.id();
    app.post(&format!("/api/v1/admin/keys/{own}/revoke"), json!({})).await.data();
    let unknown_key = ApiKey::generate(Mode::Live);

    let answers = ask(
        &app,
        &[
            (revoked, "ada"),
            (first, "ada"),
            (reader, "eve"),
            (second, "bob"),
            (test, "ada"),
            (other.as_str(), "ada"),
            (second, "ada"),
            (unknown_key.expose(), "ada"),
            (first, "eve"),
            (second, "eve"),
        ],
    )
    .await;
    let told: Vec<String> = answers.iter().map(told).collect();
    let usage = app.usage(&license).await;
    let seat = format!("valid {}", usage.data()["activations"][0]["id"].as_str().unwrap());
    assert_eq!(
        told,
        [
            "Unauthorized",
            &seat,
            "Forbidden",
            "exceeded_seats",
            "no_license",
            "no_license",
            &seat,
            "Unauthorized",
            "no_license",
            "no_license",
        ]
    );
    assert_eq!(app.number("select count(*) from users where external_id = 'ada'").await, 3);
    assert_eq!(app.number("select count(*) from users where external_id = 'eve'").await, 1);
    assert_eq!(app.number("select count(activation_id) from assignments").await, 1);
    assert_eq!(app.number("select cast(seats_used as bigint) from licenses").await, 1);
}

/// A key that is revoked between the two batches has no effect, not even a new user. Another key
/// creates the user anyway.
#[tokio::test]
async fn a_key_that_is_revoked_meanwhile_creates_nobody() {
    let app = App::start().await;
    let validator = validator(&app);
    let revoked = &*app.new_key("default", Role::Validate, Mode::Live).await;
    let valid = &*app.new_key("default", Role::Validate, Mode::Live).await;
    let asked = [(revoked, "eve"), (revoked, "ada"), (valid, "ada")];
    let questions: Vec<ValidationRequest> = asked.iter().map(question).collect();
    let read = validator.handle(&questions[..]).await.unwrap().into_iter();
    let claims: Vec<Claim> = read
        .map(|read| match read {
            Read::NeedsWrite(claim) => claim,
            Read::Answered(answer) => panic!("{answer:?}"),
        })
        .collect();
    let own = app.with_key(revoked).get("/api/v1/key").await.id();
    app.post(&format!("/api/v1/admin/keys/{own}/revoke"), json!({})).await.data();
    let answers = validator.handle(&claims[..]).await.unwrap();
    let told: Vec<String> = answers.iter().map(told).collect();
    assert_eq!(told, ["Unauthorized", "Unauthorized", "no_license"]);
    let users = app.get("/api/v1/admin/users").await;
    assert_eq!(users.each("externalId"), ["ada"]);
    let made = app.get("/api/v1/admin/events?type=user.created").await;
    assert_eq!(made.list().len(), 1);
    let valid = app.with_key(valid).get("/api/v1/key").await;
    assert_eq!(made.list()[0]["actor"]["id"], valid["id"]);
}
