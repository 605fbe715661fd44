//! 400 for names that licd does not know where administrators write: what is ignored there is lost
//! without a word. Applications may send them.

use serde_json::json;

use super::{OPERATIONS, ask, with_unknown_ids};
use crate::harness::App;

#[tokio::test]
async fn every_operation_of_administrators_refuses_unknown_names() {
    let app = App::start().await;
    for operation in OPERATIONS {
        let (method, path, body) = operation;
        let is_strict = path.starts_with("/api/v1/admin/") || path == "/api/v1/signing-keys";
        let body = with_unknown_ids(body);
        let with_parameter =
            format!("{path}{}colour=red", if path.contains('?') { '&' } else { '?' });
        let told = ask(&app, (method, &with_parameter, ""), &body).await;
        let is_refused = told == "400 invalid_request colour";
        assert_eq!(is_refused, is_strict, "{method} {with_parameter}: {told}");
        if !body.is_empty() {
            let body = body.replacen('{', r#"{"colour":"red","#, 1);
            let told = ask(&app, operation, &body).await;
            assert_eq!(told == "400 invalid_request colour", is_strict, "{method} {path}: {told}");
        }
    }
}

#[tokio::test]
async fn a_member_that_is_set_elsewhere_says_what_sets_it() {
    let app = App::start().await;
    let plan = app.plan(json!({})).await;
    let create = async |member: &str| {
        let body = json!({ "planId": plan, member: 10 });
        let refused = app.post("/api/v1/admin/licenses", body).await;
        assert_eq!(refused.refusal(), format!("400 invalid_request {member}"));
        refused.body["error"].as_str().unwrap().to_owned()
    };
    let told = "maxSeats cannot be set here: it comes from the plan. PATCH \
                /api/v1/admin/licenses/{id} changes it";
    assert_eq!(create("maxSeats").await, told);
    assert_eq!(create("planID").await, r#"Unknown member "planID": did you mean planId?"#);
    assert_eq!(create("colour").await, r#"Unknown member "colour""#);
    let license = app.license_of(&plan).await;
    for (member, sentence) in [
        ("productId", "productId cannot be set here: it is that of the plan: give planId"),
        ("createdAt", "createdAt cannot be set here: licd sets it"),
        ("status", "status cannot be set here: PATCH /api/v1/admin/licenses/{id}/status does"),
    ] {
        let refused = app.update(&license, json!({ member: "x" })).await;
        assert_eq!(refused.refusal(), format!("400 invalid_request {member}"));
        assert_eq!(refused.body["error"], sentence);
    }
}
