//! Tests of the whole document: properties of every operation that generated clients and readers
//! need.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::examples;

fn document() -> Value {
    serde_json::to_value(crate::routes::document()).unwrap()
}

/// Every operation with its method and path.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let operations = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (format!("{method} {path}"), operation))
    });
    operations.collect()
}

/// Adds the names of all components of a kind that are reachable from the value.
fn reached(document: &Value, from: &Value, kind: &str, found: &mut BTreeSet<String>) {
    match from {
        Value::Object(members) => {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                let pointer = reference.strip_prefix('#').unwrap();
                let name = pointer.strip_prefix(&format!("/components/{kind}/"));
                if name.is_none_or(|name| found.insert(name.to_owned())) {
                    let target = document.pointer(pointer);
                    let target = target.unwrap_or_else(|| panic!("{reference} leads nowhere"));
                    reached(document, target, kind, found);
                }
            }
            members.values().for_each(|value| reached(document, value, kind, found));
        }
        Value::Array(values) => {
            values.iter().for_each(|value| reached(document, value, kind, found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn reached_from(document: &Value, from: &[&Value], kind: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    from.iter().for_each(|from| reached(document, from, kind, &mut found));
    found
}

#[test]
fn the_document_in_the_repository_is_the_one_that_is_served() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openapi.json");
    let stored = std::fs::read_to_string(path).unwrap();
    let served = serde_json::to_string_pretty(&crate::routes::document()).unwrap() + "\n";
    assert!(
        stored == served,
        "it changed: cargo run --bin licd -- openapi > docs/openapi.json, and look at the diff"
    );
}

#[test]
fn every_operation_is_described_with_examples() {
    let document = document();
    let tags: Vec<&Value> =
        document["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).collect();
    let mut ids = BTreeSet::new();
    for (name, operation) in operations(&document) {
        for member in ["summary", "description", "operationId"] {
            assert!(operation[member].as_str().is_some_and(|text| !text.is_empty()), "{name}");
        }
        assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{name}");
        let [tag] = operation["tags"].as_array().unwrap().as_slice() else { panic!("{name}") };
        assert!(tags.contains(&tag), "{name}");
        let mut bodies = vec![];
        bodies.extend(operation.pointer("/requestBody/content"));
        for (status, response) in operation["responses"].as_object().unwrap() {
            if status.starts_with('2') {
                assert!(response["headers"]["X-Request-Id"].is_object(), "{name} {status}");
                bodies.push(&response["content"]);
            }
        }
        for body in bodies {
            let body = &body["application/json"];
            assert!(body["example"].is_object() || body["examples"].is_object(), "{name}");
        }
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let text = parameter["description"].as_str();
            assert!(text.is_some_and(|text| !text.is_empty()), "{name} {}", parameter["name"]);
        }
    }
    assert!(ids.len() > 30);
}

/// Whether a schema has a member of this name.
fn has(document: &Value, schema: &str, member: &str) -> bool {
    document["components"]["schemas"][schema]["properties"][member].is_object()
}

#[test]
fn values_of_examples_are_those_of_members() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let values: Value = serde_json::from_str(examples::VALUES).unwrap();
    for name in values.as_object().unwrap().keys() {
        let is_member = match name.split_once('.') {
            Some((schema, member)) => has(&document, schema, member),
            None => schemas.keys().any(|schema| has(&document, schema, name)),
        };
        assert!(is_member, "{name}");
    }
    for (schema, members) in examples::SHOWN {
        for member in members.split_whitespace() {
            assert!(has(&document, schema, member), "{schema}.{member}");
        }
    }
}

/// In requests, members that may be null can be left out, but never in responses, so they share no
/// records.
#[test]
fn requests_and_responses_share_only_enums() {
    let document = document();
    let operations = operations(&document);
    let part = |name: &str| -> Vec<&Value> {
        operations.iter().filter_map(|(_, operation)| operation.get(name)).collect()
    };
    let requests = reached_from(&document, &part("requestBody"), "schemas");
    let answers = reached_from(&document, &part("responses"), "schemas");
    assert!(requests.len() > 10 && answers.len() > 30);
    for name in requests.intersection(&answers) {
        assert!(document["components"]["schemas"][name]["enum"].is_array(), "{name}");
    }
    for name in &answers {
        let schema = &document["components"]["schemas"][name];
        let members = schema["properties"].as_object().into_iter().flat_map(|it| it.keys());
        let names: BTreeSet<&str> = members.map(String::as_str).collect();
        let required = schema["required"].as_array().into_iter().flatten();
        let required: BTreeSet<&str> = required.filter_map(Value::as_str).collect();
        let left_out: Vec<&&str> = names.difference(&required).collect();
        let expected: &[&&str] = match name.as_str() {
            "Failure" => &[&"field", &"retryAfter"],
            "Validation" => {
                &[&"activation", &"checkAfterSeconds", &"features", &"license", &"reason"]
            }
            "LeaseAnswer" => &[
                &"activation",
                &"checkAfterSeconds",
                &"features",
                &"lease",
                &"leaseReason",
                &"license",
                &"reason",
            ],
            "Activation" | "UsageActivation" => &[&"leasedUntil"],
            "Released" => &[&"leased"],
            "EventData" => &[&"reason"],
            "Explanation" => &[&"renamedTo"],
            "LicenseWithSeats" => &[&"terms"],
            "ExplainedLicense" => &[&"claimedWith", &"name", &"terms"],
            _ => &[],
        };
        assert_eq!(left_out, expected, "{name}");
    }
}

#[test]
fn no_component_is_unused() {
    let document = document();
    for kind in ["schemas", "responses", "headers"] {
        let used = reached_from(
            &document,
            &[&document["paths"], &document["components"]["pathItems"]],
            kind,
        );
        let all = document["components"][kind].as_object().unwrap().keys().cloned().collect();
        assert_eq!(used, all, "{kind}");
    }
}

/// Generators turn boolean constants, and `anyOf` types that accept anything, into enums.
#[test]
fn generators_understand_the_schemas() {
    let text = serde_json::to_string(&document()).unwrap();
    assert!(!text.contains(r#""const":"#));
    let document = document();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let is_class = name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric());
        assert!(is_class, "{name}");
        assert!(schema["anyOf"].is_null(), "{name}");
    }
    for (name, operation) in operations(&document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let schema = parameter["schema"].as_object().unwrap();
            assert_ne!(schema.get("default"), Some(&Value::Null), "{name}");
            let is_plain = schema.contains_key("$ref") || schema["type"].is_string();
            assert!(is_plain && !schema.contains_key("anyOf"), "{name} {}", parameter["name"]);
        }
    }
}

#[test]
fn only_health_needs_no_key() {
    let document = document();
    for (name, operation) in operations(&document) {
        let is_open = operation["security"] == json!([{}]);
        assert_eq!(is_open, operation["tags"] == json!(["Health"]), "{name}");
        assert_eq!(is_open, operation["responses"]["401"].is_null(), "{name}");
    }
}
