//! One batch of validations with keys of several tenants, modes, roles and states, for users of the
//! same name. Each is answered as if it were alone.
//!
//! HTTP does not control what shares a batch, so the requests go to the hot path directly.

use common::{ApiKey, Mode, Role, Validation};
use licd::error::Error;
use licd::metrics::Metrics;
use licd::validation::gate::{CallerInfo, KeyGate, hash};
use licd::validation::limit::{NewUserLimit, RateLimit};
use licd::validation::{OutcomeCounts, ValidationRequest, answer};
use serde_json::json;

use crate::harness::App;

/// Answers one batch of requests, each with its key and user.
async fn ask(app: &App, questions: &[(&str, &str)]) -> Vec<Result<Validation, Error>> {
    let gate = KeyGate::new(RateLimit::default(), NewUserLimit::default(), 1);
    let question = |&(key, user): &(&str, &str)| ValidationRequest {
        key: hash(&key.parse().unwrap()),
        caller: CallerInfo::default(),
        request_id: "r".into(),
        user: user.parse().unwrap(),
        product: None,
    };
    let questions: Vec<ValidationRequest> = questions.iter().map(question).collect();
    let (outcomes, metrics) = (OutcomeCounts::default(), Metrics::default());
    answer(app.db(), &gate, &outcomes, &metrics, &questions).await.unwrap()
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
