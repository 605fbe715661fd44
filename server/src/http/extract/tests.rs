//! The errors of malformed bodies and queries.

use common::{
    AssignLicense, CreateLicense, CreatePlan, ProductId, SetStatus, UpdateLicense, Validate,
};

use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// The error of a body: `field: sentence`.
fn refusal<T: DeserializeOwned>(body: &str) -> String {
    match parse::<T>(body.as_bytes(), &[]) {
        Ok(_) => "taken".into(),
        Err(error) => {
            format!("{}: {}", error.field().unwrap_or("-"), error)
        }
    }
}

#[test]
fn whole_numbers_beyond_64_bits_are_found_outside_of_texts() {
    for (json, expected) in [
        (r#"{"a":18446744073709551615,"b":[-9223372036854775808]}"#, false),
        (r#"{"a":[1,{"b":18446744073709551616}]}"#, true),
        (r#"{"a":-9223372036854775809 }"#, true),
        (r#"{"a":1.0e300,"b":1e19,"c":0.12345678901234567890,"d":-0}"#, false),
        (
            r#"{"a":"18446744073709551616","18446744073709551616":"\\\" 18446744073709551616"}"#,
            false,
        ),
        (r#"{"a":"\\","b":18446744073709551616}"#, true),
    ] {
        assert_eq!(has_long_number(json), expected, "{json}");
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
        refusal::<UpdateLicense>(r#"{"clear":"maxSeats"}"#),
        "clear: clear must be an array"
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
        let read: Validate = parse(body.as_bytes(), &[]).unwrap();
        assert!(read.product_id.is_none(), "{body}");
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_one_that_was_meant() {
    for (body, told) in [
        (r#"{"colour":1}"#, r#"colour: Unknown member "colour""#),
        (r#"{"maxseats":1}"#, r#"maxseats: Unknown member "maxseats": did you mean maxSeats?"#),
        (
            r#"{"expires_at":1}"#,
            r#"expires_at: Unknown member "expires_at": did you mean expiresAt?"#,
        ),
        (
            r#"{"a\nb`, expected `c":1}"#,
            "a\u{fffd}b`, expected `c: Unknown member \"a\u{fffd}b`, expected `c\"",
        ),
    ] {
        assert_eq!(refusal::<UpdateLicense>(body), told, "{body}");
    }
    let refused = |query: &str| {
        let uri: Uri = format!("/?{query}").parse().unwrap();
        super::query::<ListQuery>(&uri).err().unwrap().to_string()
    };
    let told = r#"Unknown parameter "productID": did you mean productId?"#;
    assert_eq!(refused("productID=x"), told);
    assert_eq!(refused("limit=1&colour=red"), r#"Unknown parameter "colour""#);
}

/// A member that exists says what sets it; no body can set one that its own members could.
#[test]
fn a_member_that_is_set_elsewhere_says_where() {
    for (members, body) in [
        (
            CreateLicense::SET_ELSEWHERE,
            parse::<CreateLicense>(br#"{"maxSeats":1}"#, CreateLicense::SET_ELSEWHERE).err(),
        ),
        (
            UpdateLicense::SET_ELSEWHERE,
            parse::<UpdateLicense>(br#"{"productId":1}"#, UpdateLicense::SET_ELSEWHERE).err(),
        ),
        (&[][..], parse::<UpdateLicense>(br#"{"createdAt":1}"#, &[]).err()),
    ] {
        let error = body.unwrap();
        let name = error.field().unwrap().to_owned();
        assert!(
            error.to_string().starts_with(&format!("{name} cannot be set here: ")),
            "{members:?}"
        );
    }
}

/// A query of a list, as of most lists.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListQuery {
    limit: Option<Limit>,
    after: Option<Sequence>,
    #[serde(default, deserialize_with = "filter")]
    product_id: Option<ProductId>,
}

#[test]
fn a_query_is_utf8() {
    for (text, field) in [
        ("limit=1&x=%ff", Some("x")),
        ("x=a%C3", Some("x")),
        ("%ff=a", Some("%ff")),
        ("x=%C3%A4&&limit=1", Some("x")),
        ("x=%EF%BF%BD", Some("x")),
        ("productId=%EF%BF%BD", None),
    ] {
        let uri: Uri = format!("/?{text}").parse().unwrap();
        let error = query::<ListQuery>(&uri).err();
        assert_eq!(error.as_ref().and_then(Error::field), field, "{text}");
    }
}

/// Bodies that look like those of this service, and are not.
fn any_body() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}|usr_[0-9a-z]{26}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 24, 4, |inner| {
        let name = "userId|productId|planId|name|features|metadata|maxSeats|clear|[a-z]{0,3}";
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(name, inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    value.prop_map(|value| value.to_string())
}

/// Whatever comes is read, or refused in one line.
fn is_read_or_refused<T: DeserializeOwned>(body: &[u8]) {
    if let Err(error) = parse::<T>(body, &[]) {
        let told = error.to_string();
        assert!(!told.is_empty() && !told.contains(char::is_control), "{told:?}");
    }
}

fn all_read_or_refuse(body: &[u8]) {
    is_read_or_refused::<Validate>(body);
    is_read_or_refused::<AssignLicense>(body);
    is_read_or_refused::<CreatePlan>(body);
    is_read_or_refused::<UpdateLicense>(body);
    is_read_or_refused::<SetStatus>(body);
}

proptest! {
    #[test]
    fn any_bytes_are_a_body_or_an_error(body: Vec<u8>) {
        all_read_or_refuse(&body);
        all_read_or_refuse(&[b"{", &*body].concat());
    }

    #[test]
    fn any_json_is_a_body_or_an_error(body in any_body(), cut: prop::sample::Index) {
        all_read_or_refuse(body.as_bytes());
        all_read_or_refuse(&body.as_bytes()[..cut.index(body.len() + 1)]);
    }

    #[test]
    fn any_query_is_a_list_or_an_error(
        text in "((limit|after|productId|x)=[-+0-9a-z%]{0,20}&?){0,3}|[!-~&&[^#<>\"`{}|^\\\\]]{0,30}",
    ) {
        let uri: Uri = format!("/?{text}").parse().unwrap();
        match query::<ListQuery>(&uri) {
            Ok(list) => {
                prop_assert!(list.limit.is_none_or(|limit| (1..=1000).contains(&limit.0)));
                prop_assert!(list.after.is_none_or(|after| after.0 >= 0));
                prop_assert!(list.product_id.is_none_or(|_| text.contains("productId")));
            }
            Err(error) => prop_assert!(!error.to_string().contains(char::is_control)),
        }
    }

    #[test]
    fn a_page_has_up_to_a_thousand_records(limit: i64) {
        for limit in [limit, limit % 1100] {
            let uri: Uri = format!("/?limit={limit}").parse().unwrap();
            prop_assert_eq!(query::<ListQuery>(&uri).is_ok(), (1..=1000).contains(&limit));
        }
    }
}
