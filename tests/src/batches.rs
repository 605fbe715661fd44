//! What meets in one batch of validations: keys of several tenants, modes, roles and states that ask
//! about users of the same name. Each is answered as if it had come alone.
//!
//! Over HTTP nobody can say what waits together, so the questions are put to the hot path itself.

use common::{ApiKey, Mode, Role, Validation};
use licd::config::Config;
use licd::error::Error;
use licd::http::context::RequestContext;
use licd::http::credentials::{KeyGate, hash};
use licd::validation::{OutcomeCounts, Placements, ValidationRequest, answer};
use serde_json::json;

use crate::harness::App;

/// One question after the other: which key, and about whom.
async fn ask(app: &App, questions: &[(&str, &str)]) -> Vec<Result<Validation, Error>> {
    let gate = KeyGate::new(&Config::default());
    let question = |&(key, user): &(&str, &str)| ValidationRequest {
        key: hash(&key.parse().unwrap()),
        entry: Some(RequestContext::default()),
        user: user.parse().unwrap(),
        product: None,
    };
    let questions: Vec<ValidationRequest> = questions.iter().map(question).collect();
    let (placements, outcomes) = (Placements::default(), OutcomeCounts::default());
    answer(app.db(), &gate, &placements, &outcomes, &questions).await.unwrap()
}

fn told(answer: &Result<Validation, Error>) -> String {
    match answer {
        Ok(Validation::Valid(grant)) => format!("valid {}", grant.activation.id),
        Ok(Validation::Invalid(refusal)) => refusal.reason.to_string(),
        Err(error) => format!("{error:?}"),
    }
}

/// The one seat goes to ada, whichever of the tenant's keys asks, and stays hers; namesakes in
/// another tenant and mode are others; who may not ask changes nothing for those who may.
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
    let nobodys = ApiKey::generate(Mode::Live);

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
            (nobodys.expose(), "ada"),
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
