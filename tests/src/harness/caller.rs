//! A caller of licd: an address, a key, and the requests that tests need.

use std::sync::Arc;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, ClientBuilder, Method, RequestBuilder};
use serde_json::{Value, json};

use super::answer::Answer;
use super::contract;
use super::words::Words;

/// A client for plain HTTP. Reading the machine's certificates, which it does not need, would take
/// longer than many a test.
pub fn client() -> ClientBuilder {
    // The TLS provider is installed once for the process.
    drop(rustls::crypto::ring::default_provider().install_default());
    Client::builder().no_proxy().tls_certs_only([])
}

/// A caller, which checks every answer against the OpenAPI document.
#[derive(Clone)]
pub struct Caller {
    pub base: String,
    /// None calls without a key.
    pub key: Option<String>,
    client: Client,
    words: Arc<Words>,
}

impl Caller {
    pub fn new(base: String, key: &str) -> Self {
        let client = client().build().unwrap();
        Self { base, key: Some(key.to_owned()), client, words: Arc::default() }
    }

    /// Returns this caller with another key.
    pub fn with_key(&self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self.clone() }
    }

    pub fn without_key(&self) -> Self {
        Self { key: None, ..self.clone() }
    }

    /// Returns this caller at another node.
    pub fn at(&self, base: &str) -> Self {
        Self { base: base.to_owned(), ..self.clone() }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, |request| request).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, |request| request.json(&body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PATCH, path, |request| request.json(&body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, |request| request).await
    }

    /// A POST of exactly this text, declared as JSON.
    pub async fn post_text(&self, path: &str, body: impl Into<reqwest::Body>) -> Answer {
        let typed = |request: RequestBuilder| request.header(CONTENT_TYPE, "application/json");
        self.send(Method::POST, path, |request| typed(request).body(body)).await
    }

    /// Anything else.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> Answer {
        let answer = self.try_send(method.clone(), path, with).await;
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error:?}"))
    }

    /// For tests in which licd goes away: an answer that did not arrive whole is an error.
    pub async fn try_send(
        &self,
        method: Method,
        path: &str,
        with: impl FnOnce(RequestBuilder) -> RequestBuilder,
    ) -> reqwest::Result<Answer> {
        let response = with(self.request(method.clone(), path)).send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await?;
        let body = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|_| panic!("no JSON: {text}")),
        };
        let answer = Answer { status, headers, body, words: self.words.clone() };
        contract::check(method.as_str(), path, &answer);
        Ok(answer)
    }

    /// A request without checks, for answers that are read in parts.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }
}

/// Requests that many tests need.
impl Caller {
    pub async fn product(&self, name: &str) -> String {
        self.post("/api/v1/admin/products", json!({ "name": name })).await.id()
    }

    /// A plan of a product of its own. `terms` are the plan's further members.
    pub async fn plan(&self, terms: Value) -> String {
        let product = self.product("Studio").await;
        self.plan_of(&product, terms).await
    }

    pub async fn plan_of(&self, product: &str, mut terms: Value) -> String {
        terms["productId"] = product.into();
        if terms["name"].is_null() {
            terms["name"] = "Team".into();
        }
        self.post("/api/v1/admin/plans", terms).await.id()
    }

    /// A license from a plan of its own.
    pub async fn license(&self, terms: Value) -> String {
        let plan = self.plan(terms).await;
        self.license_of(&plan).await
    }

    pub async fn license_of(&self, plan: &str) -> String {
        self.post("/api/v1/admin/licenses", json!({ "planId": plan })).await.id()
    }

    pub async fn assign(&self, license: &str, user: &str) -> Answer {
        let path = format!("/api/v1/admin/licenses/{license}/assign");
        self.post(&path, json!({ "userId": user })).await
    }

    /// The user id must be one that needs no encoding in an address.
    pub async fn unassign(&self, license: &str, user: &str) -> Answer {
        self.delete(&format!("/api/v1/admin/licenses/{license}/assign/{user}")).await
    }

    /// Unassigns the user, even while a lease holds the seat.
    pub async fn unassign_dropping(&self, license: &str, user: &str) -> Answer {
        let path = format!("/api/v1/admin/licenses/{license}/assign/{user}?leases=drop");
        self.delete(&path).await
    }

    /// Deletes the user with this external id, or an unknown one if there is none.
    pub async fn delete_user(&self, name: &str) -> Answer {
        self.delete_user_with(name, "").await
    }

    /// Deletes a user with a query.
    pub async fn delete_user_with(&self, name: &str, query: &str) -> Answer {
        let user = self.user(name).await;
        let id = user["id"].as_str().unwrap_or("usr_01h455vb4pex5vsknk084sn02q");
        self.delete(&format!("/api/v1/admin/users/{id}{query}")).await
    }

    pub async fn set_status(&self, license: &str, status: &str) -> Answer {
        let path = format!("/api/v1/admin/licenses/{license}/status");
        self.patch(&path, json!({ "status": status })).await
    }

    pub async fn update(&self, license: &str, change: Value) -> Answer {
        self.patch(&format!("/api/v1/admin/licenses/{license}"), change).await
    }

    pub async fn get_license(&self, license: &str) -> Answer {
        self.get(&format!("/api/v1/admin/licenses/{license}")).await
    }

    pub async fn validate(&self, user: &str) -> Answer {
        self.post("/api/v1/validate", json!({ "userId": user })).await
    }

    pub async fn validate_for(&self, user: &str, product: &Value) -> Answer {
        self.post("/api/v1/validate", json!({ "userId": user, "productId": product })).await
    }

    pub async fn usage(&self, license: &str) -> Answer {
        self.get(&format!("/api/v1/admin/licenses/{license}/usage")).await
    }

    pub async fn explain(&self, user: &str) -> Answer {
        self.post("/api/v1/admin/explain", json!({ "userId": user })).await
    }

    /// The known user of that name, as the list of users shows it; null when unknown.
    pub async fn user(&self, name: &str) -> Value {
        let found = self
            .send(Method::GET, "/api/v1/admin/users", |request| {
                request.query(&[("externalId", name)])
            })
            .await;
        found.list().first().cloned().unwrap_or_default()
    }
}
