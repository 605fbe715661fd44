//! The errors of malformed bodies and queries.

use common::{AssignLicense, CreatePlan, SetStatus, UpdateLicense, Validate};

use super::*;

/// The error of a body: `field: sentence`.
fn refusal<T: DeserializeOwned>(body: &str) -> String {
    match parse::<T>(body.as_bytes()) {
        Ok(_) => "taken".into(),
        Err(error) => {
            format!("{}: {}", error.field().unwrap_or("-"), error.sentence())
        }
    }
}

#[test]
fn a_refusal_names_the_field_and_what_it_must_be() {
    const TEXT: &str = "a string of 1 to 255 characters without control characters";
    for (body, told) in [
        ("{}", "userId: userId is required".to_owned()),
        (r#"{"userId":null}"#, "userId: userId is required".to_owned()),
        (r#"{"userId":5}"#, format!("userId: userId must be {TEXT}")),
        (r#"{"userId":""}"#, format!("userId: userId must be {TEXT}")),
        (r#"{"userId":"a\u0000"}"#, format!("userId: userId must be {TEXT}")),
        (r#"{"userId":"a","userId":"b"}"#, "userId: userId is given more than once".to_owned()),
        (
            r#"{"userId":"a","productId":"x"}"#,
            "productId: productId must be an id that begins with prd_".to_owned(),
        ),
        (r#"{"userId":", expected x"}"#, "taken".to_owned()),
        (r#"{"userId":"null, expected x at line 1\n"}"#, format!("userId: userId must be {TEXT}")),
    ] {
        assert_eq!(refusal::<Validate>(body), told, "{body}");
    }
    assert_eq!(
        refusal::<SetStatus>(r#"{"status":{"active":null}}"#),
        "status: status must be one of active, suspended, revoked, expired"
    );
    assert_eq!(
        refusal::<CreatePlan>(
            r#"{"productId":"prd_01h455vb4pex5vsknk084sn02q","name":"a","maxSeats":0}"#
        ),
        "maxSeats: maxSeats must be a whole number from 1 to 1000000"
    );
    assert_eq!(
        refusal::<UpdateLicense>(r#"{"maxSeats":1e400}"#),
        "maxSeats: maxSeats must be a number that is not as large"
    );
    let deep = format!(r#"{{"userId":"a","metadata":{{"a":{}}}}}"#, "[".repeat(1000));
    let told = refusal::<AssignLicense>(&deep);
    assert!(told.starts_with("metadata: metadata") && told.ends_with("too deeply"), "{told}");
    assert_eq!(
        refusal::<UpdateLicense>(r#"{"features":["a",7]}"#),
        "features: features[1] must be a string of 1 to 100 characters without control characters"
    );
    assert_eq!(
        refusal::<AssignLicense>(r#"{"userId":"a","metadata":[]}"#),
        "metadata: metadata must be an object of at most 16 KiB and 32 levels of JSON without NUL characters"
    );
}

#[test]
fn only_an_object_is_a_body() {
    for body in ["", " ", "[]", r#"["a"]"#, "null", "5", "\"a\"", "nonsense"] {
        assert_eq!(refusal::<Validate>(body), "-: The body must be a JSON object", "{body}");
    }
    for (body, place) in [
        ("{", "line 1, column 1"),
        (r#"{"userId":"a"} x"#, "line 1, column 16"),
        ("{\n'userId'", "line 2, column 1"),
    ] {
        let told = format!("-: The body is not well-formed JSON ({place})");
        assert_eq!(refusal::<Validate>(body), told, "{body}");
    }
}

#[test]
fn absent_and_null_mean_the_same() {
    for body in [r#"{"userId":"a","productId":null}"#, r#"{"userId":"a"}"#] {
        let read: Validate = parse(body.as_bytes()).unwrap();
        assert!(read.product_id.is_none(), "{body}");
    }
}
