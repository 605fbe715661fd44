//! The state that handlers share. `lib` puts it together.

use std::ops::Deref;
use std::sync::Arc;

use crate::auth::gate::KeyGate;
use crate::auth::{SignInLimit, WrongKeys};
use crate::db::Db;
use crate::delivery::sender::Sender;
use crate::metrics::Metrics;
use crate::ops::Operations;
use crate::ops::nodes::Node;
use crate::ops::readiness::Readiness;
use crate::secrets::SecretKeys;
use crate::validation::queue::BatchQueue;
use crate::validation::{
    Claim, LastChecks, OutcomeCounts, Read, ValidationRequest, ValidationResult,
};

/// A request clones it several times, and so it is one pointer.
#[derive(Clone)]
pub struct App(pub(crate) Arc<Parts>);

pub struct Parts {
    pub db: Db,
    pub ops: Operations,
    pub validations: BatchQueue<ValidationRequest, Read>,
    pub claims: BatchQueue<Claim, ValidationResult>,
    pub gate: Arc<KeyGate>,
    pub outcomes: Arc<OutcomeCounts>,
    pub last_checks: Arc<LastChecks>,
    pub metrics: Arc<Metrics>,
    pub readiness: Arc<Readiness>,
    pub secrets: SecretKeys,
    pub node: Node,
    pub webhooks: Arc<Sender>,
    pub sign_ins: SignInLimit,
    pub wrong_keys: WrongKeys,
}

impl App {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}
