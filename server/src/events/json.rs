//! Records as JSON, and the members in which two of them differ.

use serde::Serialize;
use serde_json::{Map, Value};

/// A record as callers see it.
pub fn as_json(record: &impl Serialize) -> Value {
    // Fails only for maps whose keys are not strings, and no record has one.
    serde_json::to_value(record).unwrap_or_default()
}

pub fn as_text(json: &impl Serialize) -> String {
    // Cannot fail for the same reason.
    serde_json::to_string(json).unwrap_or_default()
}

/// The values in `before` of the members that differ in `after`; null for one that it lacks.
pub fn changed_members(before: Value, after: &Value) -> Map<String, Value> {
    let (Value::Object(mut before), Value::Object(after)) = (before, after) else {
        return Map::new();
    };
    for name in after.keys() {
        before.entry(name.as_str()).or_insert(Value::Null);
    }
    before.into_iter().filter(|(name, value)| after.get(name) != Some(value)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_previous_values_are_those_of_changed_members_alone() {
        let before = json!({ "id": 1, "name": "a", "limit": null, "features": ["x"] });
        let after = json!({ "id": 1, "name": "b", "limit": 5, "features": ["x"] });
        let previous = changed_members(before, &after);
        assert_eq!(Value::Object(previous), json!({ "name": "a", "limit": null }));
    }
}
