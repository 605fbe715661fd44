//! The result of a check.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use tokio::time::timeout;

/// Maximum duration of a check, including all waits.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingState {
    Ok,
    Warning,
    Problem,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub state: FindingState,
    pub detail: String,
    pub fix: Option<String>,
}

impl Finding {
    pub fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self { check, state: FindingState::Ok, detail: detail.into(), fix: None }
    }

    pub fn warning(check: &'static str, detail: impl Into<String>) -> Self {
        Self { state: FindingState::Warning, ..Self::ok(check, detail) }
    }

    pub fn problem(check: &'static str, detail: impl Into<String>) -> Self {
        Self { state: FindingState::Problem, ..Self::ok(check, detail) }
    }

    pub fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            FindingState::Ok => "ok",
            FindingState::Warning => "warning",
            FindingState::Problem => "problem",
        };
        write!(f, "{state:<8} {:<12} {}", self.check, self.detail)?;
        match &self.fix {
            Some(fix) => write!(f, "\n{:<22}fix: {fix}", ""),
            None => Ok(()),
        }
    }
}

/// The result of the check, or a finding that it took too long.
pub async fn in_time<T>(
    check: &'static str,
    finding: impl Future<Output = Result<T, Finding>>,
) -> Result<T, Finding> {
    let late =
        || Finding::problem(check, format!("no response within {} s", CHECK_TIMEOUT.as_secs()));
    timeout(CHECK_TIMEOUT, finding).await.unwrap_or_else(|_| Err(late()))
}

/// Merges both outcomes of a check into one finding.
pub fn settled(outcome: Result<Finding, Finding>) -> Finding {
    outcome.unwrap_or_else(|finding| finding)
}
