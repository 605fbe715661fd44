//! An answer of licd, with accessors for tests.

use std::fmt;
use std::ops::Index;
use std::sync::Arc;

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::words::Words;

/// An answer. As text it is its status and its body, with stable words for ids and times.
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    /// Null when there is none.
    pub body: Value,
    pub(super) words: Arc<Words>,
}

impl Answer {
    /// The `data` of a success; anything else fails the test and shows what came instead.
    #[track_caller]
    pub fn data(&self) -> &Value {
        assert!((200..300).contains(&self.status), "not a success: {self}");
        &self.body["data"]
    }

    /// The id of the one thing answered.
    #[track_caller]
    pub fn id(&self) -> String {
        self.data()["id"].as_str().unwrap_or_else(|| panic!("no id in {self}")).to_owned()
    }

    /// The records of a list.
    #[track_caller]
    pub fn list(&self) -> &[Value] {
        self.data().as_array().unwrap_or_else(|| panic!("no list in {self}"))
    }

    /// One member of each record of a list.
    #[track_caller]
    pub fn each(&self, member: &str) -> Vec<&str> {
        self.list().iter().map(|record| record[member].as_str().unwrap_or("-")).collect()
    }

    /// The one thing answered, with this member added.
    #[track_caller]
    pub fn with(&self, member: &str, value: Value) -> Value {
        let mut data = self.data().clone();
        assert!(data.get(member).is_none(), "{member} is there already: {self}");
        data[member] = value;
        data
    }

    /// A refusal's status, code and field, in one line.
    #[track_caller]
    pub fn refusal(&self) -> String {
        assert_eq!(self.body["success"], false, "not a refusal: {self}");
        let code = self.body["code"].as_str().unwrap_or("-");
        match self.body["field"].as_str() {
            Some(field) => format!("{} {code} {field}", self.status),
            None => format!("{} {code}", self.status),
        }
    }

    /// The result of a validation: `valid`, or the reason.
    #[track_caller]
    pub fn verdict(&self) -> &str {
        match &self.data()["reason"] {
            Value::Null if self.data()["valid"] == true => "valid",
            Value::String(reason) if self.data()["valid"] == false => reason,
            _ => panic!("no verdict in {self}"),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The number in a header.
    #[track_caller]
    pub fn number(&self, header: &str) -> u64 {
        let value = self.header(header).unwrap_or_else(|| panic!("no {header} in {self}"));
        value.parse().unwrap()
    }

    /// The status and the body without the request id, to compare answers.
    pub fn told(&self) -> (u16, Value) {
        let mut body = self.body.clone();
        if let Some(members) = body.as_object_mut() {
            members.remove("requestId");
        }
        (self.status, body)
    }
}

impl Index<&str> for Answer {
    type Output = Value;

    /// A member of `data`.
    #[track_caller]
    fn index(&self, member: &str) -> &Value {
        &self.data()[member]
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        if self.body.is_null() {
            return Ok(());
        }
        write!(f, " {:#}", self.words.stable(&self.body))
    }
}
