//! Writes JSON as YAML. Readers of YAML 1.1 take words such as `yes` and dates for other things than
//! texts, so that this quotes them, as no library does.

use serde_json::Value;

/// Words that some reader does not take for a text, in lower case.
const RESERVED: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

pub fn yaml(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => block(value).join("\n") + "\n",
        scalar => inline(scalar) + "\n",
    }
}

/// The lines of an object or a list.
fn block(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) if !fields.is_empty() => fields.iter().flat_map(field).collect(),
        Value::Array(values) if !values.is_empty() => values.iter().flat_map(item).collect(),
        other => vec![inline(other)],
    }
}

fn field((name, value): (&String, &Value)) -> Vec<String> {
    let name = text(name);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let inner = block(value).into_iter().map(|line| format!("  {line}"));
            std::iter::once(format!("{name}:")).chain(inner).collect()
        }
        Value::Array(values) if !values.is_empty() => {
            std::iter::once(format!("{name}:")).chain(block(value)).collect()
        }
        other => vec![format!("{name}: {}", inline(other))],
    }
}

fn item(value: &Value) -> Vec<String> {
    let lines = block(value).into_iter().enumerate();
    lines.map(|(at, line)| format!("{} {line}", if at == 0 { "-" } else { " " })).collect()
}

fn inline(value: &Value) -> String {
    match value {
        Value::String(value) => text(value),
        other => other.to_string(),
    }
}

/// The text bare where every reader takes it for a text, and else in double quotes.
fn text(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || " -_./()+,'·&@%".contains(letter);
    let begins = text.chars().next().is_some_and(char::is_alphabetic);
    let is_reserved = RESERVED.contains(&&*text.to_lowercase());
    if begins && !is_reserved && text.chars().all(is_plain) && !text.ends_with(' ') {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted += "\\n",
            '\u{feff}' | '\u{2028}' | '\u{2029}' => {
                quoted += &format!("\\u{:04x}", u32::from(letter));
            }
            letter if letter.is_control() => quoted += &format!("\\u{:04x}", u32::from(letter)),
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use serde_json::json;

    use super::*;

    #[test]
    fn every_value_reads_back() {
        let value = json!({
            "none": null, "number": 5, "yes": true, "empty": [], "nothing": {}, "": "",
            "texts": ["no", "Off", "2026-01-01", "12:30", "1_000", "0x1F", "null", "~", "- a", "#"],
            "list": [[1, [2]], { "a": { "b": ["c: d", "e #f"] }, "g": [] }, {}],
            "odd": ["a\nb", "\"\\", "\u{85}\u{7}", "ü 漢 🙂", " a", "a ", "a:", "{a}", "%a", "@a"],
        });
        let text = yaml(&value);
        assert_eq!(yaml_serde::from_str::<Value>(&text).unwrap(), value, "{text}");
        assert_eq!(yaml(&json!("no")), "\"no\"\n");
        assert_eq!(yaml(&json!([])), "[]\n");
    }

    #[test]
    fn what_old_readers_misread_is_quoted() {
        let value =
            json!([{ "name": "no", "on": "2026-01-01", "plans": [{ "name": "Pro annual" }] }]);
        insta::assert_snapshot!(yaml(&value), @r#"
        - name: "no"
          "on": "2026-01-01"
          plans:
          - name: Pro annual
        "#);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[-~#:{}\\[\\]!&*?|>%@,'\" .0-9a-z]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map("\\PC{0,6}", inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_reads_back(value in any_value()) {
            let text = yaml(&value);
            prop_assert_eq!(yaml_serde::from_str::<Value>(&text).unwrap(), value, "{}", text);
        }
    }
}
