//! Checks every answer against the OpenAPI document: the operation is known, its status is
//! documented, and the body matches the schema without further members.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};

use super::answer::Answer;

/// Not part of the interface that the document describes, as it is the document.
const OUTSIDE: &str = "/api/v1/openapi.json";

struct Contract {
    document: Value,
    /// Compiled schemas, by their place in the document.
    schemas: Mutex<HashMap<String, Arc<Validator>>>,
}

static CONTRACT: LazyLock<Contract> = LazyLock::new(|| {
    let mut document = serde_json::to_value(licd::routes::document()).unwrap();
    close(&mut document["components"]["schemas"]);
    Contract { document, schemas: Mutex::default() }
});

/// Fails the test when the answer is not what the document promises.
pub fn check(method: &str, path: &str, answer: &Answer) {
    let path = path.split('?').next().unwrap_or(path);
    let id = answer.header("x-request-id");
    assert!(id.is_some_and(|id| !id.is_empty()), "{method} {path} has no request id: {answer}");
    if answer.status >= 400 {
        assert_eq!(answer.body["requestId"].as_str(), id, "{method} {path}: {answer}");
    }
    if !answer.body.is_null() {
        assert_eq!(answer.header("content-type"), Some("application/json"), "{method} {path}");
    }
    if path != OUTSIDE {
        assert_eq!(answer.body["success"], answer.status < 400, "{method} {path}: {answer}");
        let schema = CONTRACT.schema(method, path, answer.status);
        let errors: Vec<String> = schema
            .iter_errors(&answer.body)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{method} {path} breaks the document: {errors:#?}\n{answer}");
    }
}

impl Contract {
    /// The schema of that answer's body.
    fn schema(&self, method: &str, path: &str, status: u16) -> Arc<Validator> {
        let place = match self.operation(method, path) {
            Ok(operation) => format!("{operation}/responses/{status}"),
            // Undocumented requests are refused with the common envelope.
            Err(refusal) => {
                assert_eq!(status, refusal, "{method} {path} is not in the document");
                "/components/schemas/Failure".into()
            }
        };
        // A test that fails in here must not fail the others.
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        let compiled = schemas.entry(place).or_insert_with_key(|place| {
            let found = self.document.pointer(place);
            let found =
                found.unwrap_or_else(|| panic!("{status} of {method} {path} is undocumented"));
            let shared = found["$ref"].as_str().and_then(|place| place.strip_prefix('#'));
            let found = shared.map_or(found, |place| self.document.pointer(place).unwrap());
            let media = found.pointer("/content/application~1json/schema");
            Arc::new(self.compile(media.unwrap_or(found)))
        });
        compiled.clone()
    }

    /// The place of the operation that answers there, or else the status that must come instead.
    fn operation(&self, method: &str, path: &str) -> Result<String, u16> {
        let paths = self.document["paths"].as_object().unwrap();
        let (template, item) = paths.iter().find(|(like, _)| matches(like, path)).ok_or(404u16)?;
        let method = method.to_lowercase();
        if item.get(&method).is_none() {
            return Err(405);
        }
        Ok(format!("/paths/{}/{method}", template.replace('~', "~0").replace('/', "~1")))
    }

    fn compile(&self, schema: &Value) -> Validator {
        let mut root = schema.clone();
        // References lead into the components; they travel along.
        root["components"] = self.document["components"].clone();
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .should_validate_formats(true)
            .build(&root)
            .unwrap_or_else(|error| panic!("no schema: {error}\n{schema:#}"))
    }
}

fn matches(template: &str, path: &str) -> bool {
    let (mut like, mut given) = (template.split('/'), path.split('/'));
    loop {
        match (like.next(), given.next()) {
            (None, None) => return true,
            (Some(like), Some(given))
                if like == given || (like.starts_with('{') && !given.is_empty()) => {}
            _ => return false,
        }
    }
}

/// The document lets answers have more members and words, as later versions may; the tests do not.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.get("properties").is_some_and(Value::is_object) {
                members.entry("additionalProperties").or_insert(json!(false));
            }
            if let Some(words) = members.remove("x-extensible-enum") {
                members.insert("enum".into(), words);
            }
            members.values_mut().for_each(close);
        }
        Value::Array(values) => values.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn check_schema(body: Value, status: u16) -> Result<(), String> {
    let answer = Answer {
        status,
        headers: [
            (reqwest::header::CONTENT_TYPE, "application/json".parse().unwrap()),
            (reqwest::header::HeaderName::from_static("x-request-id"), "r".parse().unwrap()),
        ]
        .into_iter()
        .collect(),
        body,
        words: Arc::default(),
    };
    let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        check("GET", "/api/v1/admin/products/prd_01h455vb4pex5vsknk084sn02q", &answer);
    }));
    checked.map_err(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
}

/// Tests the check itself, as no other test would find its gaps.
#[test]
fn answers_outside_the_document_are_refused() {
    let product = json!({
        "id": "prd_01h455vb4pex5vsknk084sn02q", "name": "Studio", "description": null,
        "createdAt": "2027-01-31T12:00:00.000Z", "updatedAt": "2027-01-31T12:00:00.000Z",
    });
    let with = |change: fn(&mut Map<String, Value>)| {
        let mut product = product.as_object().unwrap().clone();
        change(&mut product);
        json!({ "success": true, "data": product })
    };
    assert_eq!(check_schema(with(|_| {}), 200), Ok(()));
    for (what, body) in [
        ("one more", with(|product| drop(product.insert("more".into(), 1.into())))),
        ("one less", with(|product| drop(product.remove("description")))),
        ("null", with(|product| drop(product.insert("name".into(), Value::Null)))),
        ("another id", with(|product| drop(product.insert("id".into(), "pln_1".into())))),
        ("no time", with(|product| drop(product.insert("createdAt".into(), "soon".into())))),
        ("no envelope", product.clone()),
        ("a refusal", json!({ "success": false, "data": product })),
    ] {
        assert!(check_schema(body, 200).is_err(), "{what}");
    }
    let undocumented = check_schema(with(|_| {}), 201).unwrap_err();
    assert!(undocumented.contains("undocumented"), "{undocumented}");
}

/// The examples of the document have the schemas that they illustrate.
#[test]
fn examples_match_their_schemas() {
    let paths = CONTRACT.document["paths"].as_object().unwrap();
    let operations = paths.values().flat_map(|item| item.as_object().unwrap().values());
    let mut checked = 0;
    for operation in operations {
        let responses = operation["responses"].as_object().unwrap().values();
        for body in responses.chain([&operation["requestBody"]]) {
            let media = &body["content"]["application/json"];
            let named = media["examples"].as_object().into_iter().flat_map(|it| it.values());
            let examples = named.map(|example| &example["value"]).chain(media.get("example"));
            for example in examples {
                let schema = CONTRACT.compile(&media["schema"]);
                let errors: Vec<_> = schema.iter_errors(example).map(|it| it.to_string()).collect();
                assert!(errors.is_empty(), "{}: {errors:?}\n{example}", operation["operationId"]);
                checked += 1;
            }
        }
    }
    assert!(checked > 90, "{checked}");
}
