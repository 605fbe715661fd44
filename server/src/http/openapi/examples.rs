//! Examples of bodies, composed from their schemas. All are about one vendor, whose product is
//! Studio, and one user, ada.

use aide::openapi::{Example, MediaType, OpenApi, Operation, ReferenceOr};
use aide::util::iter_operations_mut;
use serde_json::{Value, json};

/// The request id in examples.
pub const REQUEST_ID: &str = "01a2024ada1f7d10b1a3b0a8bb3f2c61";

/// Optional members that examples of a schema have, and members that are not null although they may
/// be.
pub const SHOWN: [(&str, &str); 32] = [
    ("AssignLicense", "metadata"),
    ("CreateKey", "mode"),
    ("CreateLicense", "expiresInDays name"),
    ("CreateLicenseKey", "maxUses"),
    ("CreatePlan", "maxSeats expiresInDays features"),
    ("CreateUser", "email name"),
    ("CreateWebhook", "types"),
    ("CreatedKey", "createdBy"),
    ("EventActor", "keyId"),
    ("ExplainedLicense", "activation"),
    ("Explanation", "user"),
    ("ForgetUser", "externalId"),
    ("Key", "createdBy"),
    ("LeaseAnswer", "license activation features lease"),
    ("LicenseAssignment", "activation"),
    ("LicenseWithSeats", "terms"),
    ("RelatedRecords", "productId planId licenseId"),
    ("Release", "checkedAt"),
    ("ReplayWebhook", "after"),
    ("RenewLicense", "for"),
    ("RequestLease", "productId device"),
    ("RevokeKey", "made"),
    ("RollKey", "overlapSeconds"),
    ("RotateSigningKeys", "standby"),
    ("UpdateLicense", "maxSeats"),
    ("UpdatePlan", "maxSeats"),
    ("UpdateProduct", "description"),
    ("UpdateUser", "email"),
    ("UpdateWebhook", "enabled"),
    ("UserRefusal", "licenseId"),
    ("Validation", "license activation features"),
    ("WebhookFailure", "event"),
];

/// Values of members, by their names or by those of their schema and themselves. The signing key is
/// that of RFC 7515, appendix A.3.
pub const VALUES: &str = include_str!("examples.json");

/// Composes examples.
struct Composer {
    /// Components by their names.
    schemas: Value,
    values: Value,
}

/// Adds examples to the bodies of requests, and of responses that succeed.
pub fn describe(document: &mut OpenApi) {
    let schemas = document.components.as_ref().map(|it| serde_json::to_value(&it.schemas));
    let schemas = schemas.and_then(Result::ok).unwrap_or_default();
    let values = serde_json::from_str(VALUES).unwrap_or_default();
    let composer = Composer { schemas, values };
    let paths = document.paths.iter_mut().flat_map(|paths| paths.paths.values_mut());
    for item in paths.filter_map(ReferenceOr::as_item_mut) {
        for (_, operation) in iter_operations_mut(item) {
            bodies(operation).for_each(|body| composer.describe(body));
        }
    }
}

fn bodies(operation: &mut Operation) -> impl Iterator<Item = &mut MediaType> {
    let request = operation.request_body.as_mut().and_then(ReferenceOr::as_item_mut);
    let responses = operation.responses.iter_mut().flat_map(|it| it.responses.values_mut());
    let responses = responses.filter_map(ReferenceOr::as_item_mut).map(|it| &mut it.content);
    let contents = request.map(|it| &mut it.content).into_iter().chain(responses);
    contents.flat_map(|content| content.values_mut())
}

impl Composer {
    fn describe(&self, body: &mut MediaType) {
        let schema = body.schema.as_ref().map(|it| serde_json::to_value(&it.json_schema));
        let Some(Ok(schema)) = schema else { return };
        let example = self.compose(&schema, "");
        if !matches!(name_of(&schema), Some("ValidationResponse" | "LeaseAnswerResponse")) {
            body.example = Some(example);
            return;
        }
        let refused =
            json!({ "success": true, "data": { "valid": false, "reason": "no_license" } });
        for (name, value) in [("valid", example), ("invalid", refused)] {
            let example = Example { value: Some(value), ..Example::default() };
            body.examples.insert(name.to_owned(), ReferenceOr::Item(example));
        }
    }

    /// Returns an example of a schema, which is a component if it has a name.
    fn compose(&self, schema: &Value, name: &str) -> Value {
        if let Some(name) = name_of(schema) {
            return self.compose(&self.schemas[name], name);
        }
        let first = |member: &str| schema[member].get(0).cloned();
        if let Some(value) = first("examples").or_else(|| schema.get("const").cloned()) {
            return value;
        }
        if let Some(value) = first("enum").or_else(|| first("x-extensible-enum")) {
            return value;
        }
        if let Some(variant) = first("anyOf").or_else(|| first("oneOf")) {
            return self.compose(&variant, name);
        }
        match schema["type"].get(0).unwrap_or(&schema["type"]).as_str() {
            Some("object") => self.object(schema, name),
            Some("array") => json!([self.compose(&schema["items"], "")]),
            Some("integer") => schema.get("minimum").cloned().unwrap_or(json!(1)),
            Some("boolean") => json!(true),
            _ => json!("text"),
        }
    }

    fn object(&self, schema: &Value, name: &str) -> Value {
        let shown = SHOWN.iter().find(|(shown, _)| *shown == name).map_or("", |it| it.1);
        let shown: Vec<&str> = shown.split_whitespace().collect();
        let required = schema["required"].as_array().into_iter().flatten();
        let required: Vec<&str> = required.filter_map(Value::as_str).collect();
        let optional = shown.iter().filter(|member| !required.contains(member));
        let members = required.iter().chain(optional).map(|&member| {
            let property = &schema["properties"][member];
            let own = self.values.get(format!("{name}.{member}"));
            let value = match own.or_else(|| self.values.get(member)) {
                Some(value) => value.clone(),
                None if is_nullable(property) && !shown.contains(&member) => Value::Null,
                None => self.compose(property, ""),
            };
            (member.to_owned(), value)
        });
        Value::Object(members.collect())
    }
}

/// Returns the name of the component that a schema refers to.
fn name_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

fn is_nullable(property: &Value) -> bool {
    let variants = property["anyOf"].as_array().into_iter().flatten();
    let types = property["type"].as_array().into_iter().flatten();
    variants.map(|it| &it["type"]).chain(types).any(|it| it == "null")
}
