//! Responses of a full queue: an immediate refusal with `Retry-After`, while everything else works,
//! and service resumes as soon as the database does.
//!
//! The requests pass through the whole service, with a real key and a real database. Only the
//! worker of validations is blocked, as by a database that does not respond.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use axum::Router;
use axum::body::Body;
use axum::http::{Method, Request, header};
use common::{ApiKey, Name, Validation};
use http_body_util::BodyExt;
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tower::Service;

use super::super::{BatchQueue, Handler, MAX_WAITING, Note, Placement};
use super::ONE;
use crate::auth::gate::{CallerInfo, hash};
use crate::config::Config;
use crate::db::Db;
use crate::error::Error;
use crate::ops::tenants;
use crate::validation::{BatchValidator, Read, ValidationRequest, ValidationResult};
use crate::{App, routes};

type Asking = Pin<Box<dyn Future<Output = Result<ValidationResult, Error>> + Send>>;

/// A service whose validations wait.
struct Held {
    app: App,
    router: Router,
    key: ApiKey,
    /// A permit lets the worker run one batch.
    allowed: Arc<Semaphore>,
    /// A permit for each batch that the worker has started.
    begun: Arc<Semaphore>,
    _folder: TempDir,
}

/// Validates once it is allowed.
struct Waiting {
    validator: BatchValidator,
    allowed: Arc<Semaphore>,
    begun: Arc<Semaphore>,
}

impl Handler<ValidationRequest> for Waiting {
    type Answer = Read;

    async fn handle(&self, requests: &[ValidationRequest]) -> Result<Vec<Read>, Error> {
        self.begun.add_permits(1);
        self.allowed.acquire().await.unwrap().forget();
        self.validator.handle(requests).await
    }
}

impl Held {
    async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let url = format!("sqlite://{}", folder.path().join("licd.db").display());
        let db = Db::open(&url.parse().unwrap()).await.unwrap();
        let name = Name::from_static("default");
        let (_, key) = tenants::create(&db, name, |_, _| true).await.unwrap();
        let (allowed, begun) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let (mut app, _) = crate::start(db, &Config::default(), None);
        let validator = BatchValidator {
            db: app.db.clone(),
            gate: app.gate.clone(),
            outcomes: app.outcomes.clone(),
            last_checks: app.last_checks.clone(),
            metrics: app.metrics.clone(),
        };
        let note: Note = Arc::new(|_| {});
        let waiting = Waiting { validator, allowed: allowed.clone(), begun: begun.clone() };
        let (validations, _) =
            BatchQueue::start("reads", ONE, &app.metrics, &Arc::new(waiting), &note);
        Arc::get_mut(&mut app.0).unwrap().validations = validations;
        Self { router: routes::router(app.clone()), app, key, allowed, begun, _folder: folder }
    }

    /// Returns the status, `Retry-After`, and the body.
    async fn send(&self, method: Method, path: &str, body: &str) -> (u16, Option<String>, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "licd")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.key.expose()))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_owned()))
            .unwrap();
        let response = self.router.clone().call(request).await.unwrap();
        let later = response.headers().get(header::RETRY_AFTER);
        let later = later.map(|later| later.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, later, serde_json::from_slice(&body).unwrap())
    }

    async fn validate(&self) -> (u16, Option<String>, Value) {
        self.send(Method::POST, "/api/v1/validate", r#"{"userId":"ada"}"#).await
    }

    /// Submits a validation without HTTP, and polls it once.
    fn submit(&self, user: &str) -> (bool, Asking) {
        let (validations, claims) = (self.app.validations.clone(), self.app.claims.clone());
        let (key, user) = (hash(&self.key), user.parse().unwrap());
        let place = Placement { tenant: None, key, cost: 1 };
        let request = ValidationRequest {
            key,
            caller: CallerInfo::default(),
            request_id: "r".into(),
            user,
            product: None,
        };
        let mut asking: Asking = Box::pin(async move {
            match validations.submit(place, request).await? {
                Read::Answered(answer) => Ok(answer),
                Read::NeedsWrite(claim) => claims.submit(place, claim).await,
            }
        });
        let step = asking.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        (step.is_pending(), asking)
    }
}

#[tokio::test]
async fn a_full_queue_refuses_immediately_and_delays_nothing_else() {
    let held = Held::start().await;
    let first = held.submit("first").1;
    held.begun.acquire().await.unwrap().forget();
    let (waits, waiting): (Vec<bool>, Vec<Asking>) =
        (0..MAX_WAITING).map(|n| held.submit(&format!("user-{}", n % 50))).unzip();
    assert_eq!(waits, [true; MAX_WAITING]);

    for _ in 0..3 {
        let (status, later, body) = held.validate().await;
        let later: u64 = later.unwrap().parse().unwrap();
        assert_eq!((status, (1..=4).contains(&later)), (503, true), "{body}");
        assert_eq!((&body["success"], &body["code"]), (&false.into(), &"overloaded".into()));
    }
    for path in ["/healthz", "/readyz", "/api/v1/key", "/api/v1/admin/users"] {
        assert_eq!(held.send(Method::GET, path, "").await.0, 200, "{path}");
    }
    let made = held.send(Method::POST, "/api/v1/admin/products", r#"{"name":"Studio"}"#).await;
    assert_eq!(made.0, 201, "{}", made.2);

    held.allowed.add_permits(Semaphore::MAX_PERMITS / 2);
    for answer in [vec![first], waiting].into_iter().flatten() {
        assert!(matches!(answer.await, Ok(Ok(Validation::Invalid(_)))), "no user has a license");
    }
    let (status, _, body) = held.validate().await;
    assert_eq!((status, &body["data"]["reason"]), (200, &"no_license".into()));
    let (_, _, users) = held.send(Method::GET, "/api/v1/admin/users", "").await;
    assert_eq!(users["data"].as_array().unwrap().len(), 52, "each was made, and once");
}
