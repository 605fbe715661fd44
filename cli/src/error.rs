//! Errors: the message, reason and fix for a person, the JSON for a program, and the exit code for
//! a script.

use std::borrow::Cow;
use std::fmt;

use common::ErrorCode;
use serde_json::{Value, json};

use crate::escape::{clean, redact};

/// The code for a connection that broke before the response was complete.
pub const BROKEN_ANSWER: &str = "broken_answer";

/// The code for a response that cannot be decoded.
pub const MISUNDERSTOOD: &str = "misunderstood";
/// The code for a response that does not come from licd.
pub const NOT_LICD: &str = "not_licd";

/// The code for a request that timed out.
pub const TIMEOUT: &str = "timeout";

/// The code for a server that cannot be reached.
pub const UNREACHABLE: &str = "unreachable";

pub type Result<T> = std::result::Result<T, Error>;

/// The exit codes. Scripts rely on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Success = 0,
    Internal = 1,
    Usage = 2,
    NotFound = 3,
    NotAuthenticated = 4,
    Forbidden = 5,
    Rejected = 6,
    Unreachable = 7,
    RateLimited = 8,
    /// Some of several items succeeded.
    Partial = 9,
    /// The command succeeded, and the result is negative.
    Negative = 10,
    Cancelled = 130,
}

impl Exit {
    pub fn code(self) -> u8 {
        self as u8
    }
}

/// An error of a command. Keys are redacted in every part, as errors go into logs and reports.
#[derive(Debug)]
pub struct Error {
    pub exit: Exit,
    code: Cow<'static, str>,
    message: Box<str>,
    /// The reason, in the words of the server or the operating system.
    reason: Option<Box<str>>,
    /// The fix, a command where there is one.
    fix: Option<Box<str>>,
    status: Option<u16>,
    request_id: Option<Box<str>>,
    /// Seconds after which the server accepts a retry.
    pub retry_after: Option<u64>,
    /// Whether the server's name does not resolve, which waiting rarely fixes.
    pub is_unknown_host: bool,
}

impl Error {
    pub fn new(exit: Exit, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            exit,
            code: Cow::Borrowed(code),
            message: redact(&message.into()).into(),
            reason: None,
            fix: None,
            status: None,
            request_id: None,
            retry_after: None,
            is_unknown_host: false,
        }
    }

    /// A failure of licctl itself.
    pub fn internal(error: impl fmt::Display) -> Self {
        Self::new(Exit::Internal, "internal", error.to_string())
    }

    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Exit::NotFound, "not_found", message)
    }

    /// Ctrl-C ended a command; how far it got is unknown here.
    pub fn interrupted() -> Self {
        let message = "Interrupted. Completed requests remain in effect.";
        Self::new(Exit::Cancelled, "cancelled", message)
    }

    /// The person declined, or pressed Ctrl-C at a prompt.
    pub fn cancelled() -> Self {
        Self::new(Exit::Cancelled, "cancelled", "Cancelled; nothing was changed.")
    }

    /// Replaces the message.
    pub fn saying(mut self, message: impl Into<String>) -> Self {
        self.message = redact(&message.into()).into();
        self
    }

    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(redact(&reason.into()).into());
        self
    }

    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(redact(&fix.into()).into());
        self
    }

    /// [`Self::fix`], for a request that may have taken effect.
    pub fn fix_in_doubt(self, fix: impl Into<String>) -> Self {
        if self.had_no_effect() { self } else { self.fix(fix) }
    }

    pub fn coded(mut self, code: impl Into<String>) -> Self {
        self.code = Cow::Owned(code.into());
        self
    }

    pub fn answered(mut self, status: u16, request_id: Option<String>) -> Self {
        self.status = Some(status);
        self.request_id = request_id.map(Into::into);
        self
    }

    /// Whether the next of several items would fail in the same way.
    pub fn stops_the_rest(&self) -> bool {
        match self.exit {
            Exit::NotAuthenticated
            | Exit::Forbidden
            | Exit::Unreachable
            | Exit::RateLimited
            | Exit::Cancelled => true,
            // A failure of the server may concern only this item. A failure of licctl concerns all.
            Exit::Internal => self.status.is_none(),
            _ => false,
        }
    }

    /// Whether the request certainly changed nothing: it was refused, or never arrived. A request
    /// that timed out may have taken effect.
    pub fn had_no_effect(&self) -> bool {
        // An overloaded licd refuses a request before it begins.
        let refused =
            self.status.is_some_and(|status| status < 500) || self.is(ErrorCode::Overloaded);
        refused || self.code == UNREACHABLE || self.exit == Exit::Cancelled
    }

    pub fn code(&self) -> &str {
        &self.code
    }

    /// Whether the service responded with this code.
    pub fn is(&self, code: ErrorCode) -> bool {
        self.code == code.as_str()
    }

    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// Whether the response could not be decoded.
    pub fn is_misunderstood(&self) -> bool {
        self.code == MISUNDERSTOOD
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    pub fn advice(&self) -> Option<&str> {
        self.fix.as_deref()
    }

    /// The lines for a person: message, reason, fix and destination.
    pub fn text(&self, place: Option<&Destination>) -> String {
        let mut lines = vec![format!("error: {}", clean(&self.message))];
        lines.extend(self.reason.as_ref().map(|reason| format!("  {}", clean(reason))));
        lines.extend(self.fix.as_ref().map(|fix| format!("fix: {}", clean(fix))));
        if let Some(place) = place.filter(|_| self.concerns_the_server()) {
            let request = self.request_id.as_ref().map(|id| format!("request {} · ", clean(id)));
            lines.push(format!("{}{place}", request.unwrap_or_default()));
        }
        lines.join("\n") + "\n"
    }

    /// The error for a program.
    pub fn json(&self) -> Value {
        let message = match &self.reason {
            Some(reason) => format!("{} {reason}", self.message),
            None => self.message.to_string(),
        };
        json!({
            "code": self.code,
            "message": message,
            "hint": self.fix,
            "status": self.status,
            "requestId": self.request_id,
            "retryAfter": self.retry_after,
            "exitCode": self.exit.code(),
        })
    }

    fn concerns_the_server(&self) -> bool {
        self.status.is_some() || matches!(self.exit, Exit::Unreachable | Exit::NotAuthenticated)
    }
}

/// The profile and server of a request, the last line of an error.
pub struct Destination {
    pub profile: Option<String>,
    pub server: String,
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(profile) = &self.profile {
            write!(f, "profile {} · ", clean(profile))?;
        }
        f.write_str(&clean(&self.server))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Error {
        Error::new(Exit::Rejected, "invalid", "The server refused the plan.")
            .because("\"name: must be a string\"")
            .fix("licctl plans create --name NAME")
            .answered(400, Some("r1".into()))
    }

    #[test]
    fn an_error_has_at_most_five_lines() {
        let place =
            Destination { profile: Some("acme".into()), server: "https://licenses.example".into() };
        insta::assert_snapshot!(refused().text(Some(&place)), @r#"
        error: The server refused the plan.
          "name: must be a string"
        fix: licctl plans create --name NAME
        request r1 · profile acme · https://licenses.example
        "#);
    }

    #[test]
    fn a_program_gets_one_object() {
        insta::assert_snapshot!(format!("{:#}", refused().json()), @r#"
        {
          "code": "invalid",
          "message": "The server refused the plan. \"name: must be a string\"",
          "hint": "licctl plans create --name NAME",
          "status": 400,
          "requestId": "r1",
          "retryAfter": null,
          "exitCode": 6
        }
        "#);
    }

    #[test]
    fn an_error_escapes_control_characters() {
        let error = Error::not_found("No such plan.").because("\u{1b}[2Jgone");
        assert!(!error.text(None).contains('\u{1b}'));
    }
}
