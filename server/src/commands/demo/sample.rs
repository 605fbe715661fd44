//! The sample data: a vendor with two products, one user for each result that a validation can have,
//! a license key that has not been used, and a key that signs leases.

use anyhow::{Context, Result};
use common::{
    ApiKey, CreatedLicenseKey, KeyText, License, LicenseId, Plan, PlanId, Product, Success,
    Timestamp, Validation,
};
use reqwest::{Client, Method};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

/// The result of a validation, and what its user demonstrates.
pub struct DemoRow {
    pub user: &'static str,
    pub shows: &'static str,
    pub validation: Validation,
}

/// Creates the sample and validates each of its users. Returns the results and the license key.
pub async fn fill_and_ask(server: &str, key: &ApiKey) -> Result<(Vec<DemoRow>, KeyText)> {
    let vendor = Vendor { http: Client::new(), server, key };
    let studio = vendor.product("Studio", "Draws pictures").await?;
    let render = vendor.product("Render", "Makes films of them").await?;
    let team = json!({ "productId": studio.id, "name": "Team", "maxSeats": 5, "expiresInDays": 365,
        "features": ["export", "sso"], "graceDays": 14, "maxLeaseSeconds": 7 * 24 * 60 * 60 });
    let solo = json!({ "productId": studio.id, "name": "Solo", "maxSeats": 1, "expiresInDays": 30,
        "features": ["export"] });
    let lab = json!({ "productId": studio.id, "name": "Lab", "maxSeats": 1, "seatIdleMinutes": 10,
        "features": ["export"] });
    let farm = json!({ "productId": render.id, "name": "Farm", "features": ["gpu"] });
    let (team, solo) = (vendor.plan(team).await?, vendor.plan(solo).await?);
    let (lab, farm) = (vendor.plan(lab).await?, vendor.plan(farm).await?);

    vendor.license(team, &["ada", "margaret"]).await?;
    vendor.license(farm, &["ada"]).await?;
    vendor.license(solo, &["linus", "grace"]).await?;
    let lapsed = vendor.license(solo, &["alan"]).await?;
    vendor.change(lapsed, "", json!({ "expiresAt": "2026-01-01T00:00:00Z" })).await?;
    let unpaid = vendor.license(team, &["edsger"]).await?;
    vendor.change(unpaid, "", json!({ "expiresAt": Timestamp::now() })).await?;
    vendor.license(lab, &["radia", "frances"]).await?;
    let paused = vendor.license(team, &["ken"]).await?;
    vendor.change(paused, "/status", json!({ "status": "suspended" })).await?;
    let refunded = vendor.license(team, &["barbara"]).await?;
    vendor.change(refunded, "/status", json!({ "status": "revoked" })).await?;

    let mut rows = Vec::new();
    for (user, shows) in [
        ("ada", "a valid license; the first validation takes a seat"),
        ("linus", "the only seat of a license, now taken"),
        ("grace", "the same license: its seat is held by linus"),
        ("edsger", "the license has ended, and is in its days of grace"),
        ("radia", "a floating seat, which is free after 10 minutes without a validation"),
        ("alan", "the license has expired"),
        ("ken", "the license is suspended"),
        ("barbara", "the license is revoked"),
        ("dennis", "no license; the user was unknown, and is created"),
    ] {
        let body = json!({ "userId": user });
        let validation = vendor.send(Method::POST, "/validate", body).await?;
        rows.push(DemoRow { user, shows, validation });
    }
    let sold = vendor.license(solo, &[]).await?;
    vendor.send::<IgnoredAny>(Method::POST, "/admin/signing-keys", json!({})).await?;
    let path = format!("/admin/licenses/{sold}/keys");
    let created: CreatedLicenseKey = vendor.send(Method::POST, &path, json!({})).await?;
    Ok((rows, created.key))
}

/// The holder of the tenant's admin key.
struct Vendor<'a> {
    http: Client,
    server: &'a str,
    key: &'a ApiKey,
}

impl Vendor<'_> {
    async fn product(&self, name: &str, description: &str) -> Result<Product> {
        let body = json!({ "name": name, "description": description });
        self.send(Method::POST, "/admin/products", body).await
    }

    async fn plan(&self, body: Value) -> Result<PlanId> {
        Ok(self.send::<Plan>(Method::POST, "/admin/plans", body).await?.id)
    }

    /// A license of the plan, assigned to `users` in order.
    async fn license(&self, plan: PlanId, users: &[&str]) -> Result<LicenseId> {
        let body = json!({ "planId": plan });
        let id = self.send::<License>(Method::POST, "/admin/licenses", body).await?.id;
        for user in users {
            let path = format!("/admin/licenses/{id}/assign");
            self.send::<IgnoredAny>(Method::POST, &path, json!({ "userId": user })).await?;
        }
        Ok(id)
    }

    async fn change(&self, id: LicenseId, what: &str, body: Value) -> Result<()> {
        let path = format!("/admin/licenses/{id}{what}");
        self.send::<License>(Method::PATCH, &path, body).await.map(drop)
    }

    async fn send<T: DeserializeOwned>(&self, verb: Method, path: &str, body: Value) -> Result<T> {
        let url = format!("{}/api/v1{path}", self.server);
        let request = self.http.request(verb, url).bearer_auth(self.key.expose()).json(&body);
        let answer = request.send().await?.error_for_status()?;
        let answer = answer.json::<Success<T>>().await;
        Ok(answer.with_context(|| format!("{path} returned an unexpected response"))?.data)
    }
}
