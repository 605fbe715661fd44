//! The sample data: a vendor with two products, and one user for each result that a validation can
//! have.

use anyhow::Context;
use common::{ApiKey, License, LicenseId, Plan, PlanId, Product, Success, Validation};
use reqwest::{Client, Method};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

/// The result of a validation, and what its user demonstrates.
pub struct DemoRow {
    pub user: &'static str,
    pub shows: &'static str,
    pub validation: Validation,
}

/// Creates the sample and validates each of its users.
pub async fn fill_and_ask(server: &str, key: &ApiKey) -> anyhow::Result<Vec<DemoRow>> {
    let vendor = Vendor { http: Client::new(), server, key };
    let studio = vendor.product("Studio", "Draws pictures").await?;
    let render = vendor.product("Render", "Makes films of them").await?;
    let plan = |product: &Product, name, seats, days, features: &[&str]| {
        let body = json!({ "productId": product.id, "name": name, "maxSeats": seats,
            "expiresInDays": days, "features": features });
        vendor.plan(body)
    };
    let team = plan(&studio, "Team", Some(5), Some(365), &["export", "sso"]).await?;
    let solo = plan(&studio, "Solo", Some(1), Some(30), &["export"]).await?;
    let farm = plan(&render, "Farm", None, None, &["gpu"]).await?;

    vendor.license(team, &["ada", "margaret"]).await?;
    vendor.license(farm, &["ada"]).await?;
    vendor.license(solo, &["linus", "grace"]).await?;
    let lapsed = vendor.license(solo, &["alan"]).await?;
    vendor.change(lapsed, "", json!({ "expiresAt": "2026-01-01T00:00:00Z" })).await?;
    let paused = vendor.license(team, &["ken"]).await?;
    vendor.change(paused, "/status", json!({ "status": "suspended" })).await?;
    let refunded = vendor.license(team, &["barbara"]).await?;
    vendor.change(refunded, "/status", json!({ "status": "revoked" })).await?;

    let mut rows = Vec::new();
    for (user, shows) in [
        ("ada", "a valid license; the first validation takes a seat"),
        ("linus", "the only seat of a license, now taken"),
        ("grace", "the same license: its seat is held by linus"),
        ("alan", "the license has expired"),
        ("ken", "the license is suspended"),
        ("barbara", "the license is revoked"),
        ("dennis", "no license; the user was unknown, and is created"),
    ] {
        let body = json!({ "userId": user });
        let validation = vendor.send(Method::POST, "/validate", body).await?;
        rows.push(DemoRow { user, shows, validation });
    }
    Ok(rows)
}

/// The holder of the tenant's admin key.
struct Vendor<'a> {
    http: Client,
    server: &'a str,
    key: &'a ApiKey,
}

impl Vendor<'_> {
    async fn product(&self, name: &str, description: &str) -> anyhow::Result<Product> {
        let body = json!({ "name": name, "description": description });
        self.send(Method::POST, "/admin/products", body).await
    }

    async fn plan(&self, body: Value) -> anyhow::Result<PlanId> {
        Ok(self.send::<Plan>(Method::POST, "/admin/plans", body).await?.id)
    }

    /// A license of the plan, assigned to `users` in order.
    async fn license(&self, plan: PlanId, users: &[&str]) -> anyhow::Result<LicenseId> {
        let body = json!({ "planId": plan });
        let id = self.send::<License>(Method::POST, "/admin/licenses", body).await?.id;
        for user in users {
            let path = format!("/admin/licenses/{id}/assign");
            self.send::<IgnoredAny>(Method::POST, &path, json!({ "userId": user })).await?;
        }
        Ok(id)
    }

    async fn change(&self, id: LicenseId, what: &str, body: Value) -> anyhow::Result<()> {
        let path = format!("/admin/licenses/{id}{what}");
        self.send::<License>(Method::PATCH, &path, body).await.map(drop)
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Value,
    ) -> anyhow::Result<T> {
        let url = format!("{}/api/v1{path}", self.server);
        let request = self.http.request(method, url).bearer_auth(self.key.expose()).json(&body);
        let answer = request.send().await?.error_for_status()?;
        let answer: Success<T> = answer
            .json()
            .await
            .with_context(|| format!("{path} returned an unexpected response"))?;
        Ok(answer.data)
    }
}
