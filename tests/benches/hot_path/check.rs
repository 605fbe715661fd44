//! Whether answers are right, checked by a client of the benchmark's own, before and after each
//! stage, when there is no load.

use std::net::SocketAddr;
use std::ops::Range;

use anyhow::{Context, bail, ensure};
use common::{ApiKey, CreatedKey, Success, Timestamp, Validation};
use reqwest::Client;
use serde_json::json;

use crate::seed;

/// Number of users that are checked, evenly spread over all.
const SAMPLES: u64 = 16;

/// Content of the responses of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answers {
    /// Every user gets the same bytes.
    Static,
    /// Each user's own license.
    Licenses,
    /// A refusal, as all seats are taken.
    Full,
}

pub struct Checker {
    client: Client,
    key: ApiKey,
    /// The answer of those that answer everyone alike.
    pub sample: String,
}

impl Checker {
    pub fn new(key: ApiKey) -> anyhow::Result<Self> {
        // There is one provider of TLS, and the client wants it installed, though it uses none.
        drop(rustls::crypto::ring::default_provider().install_default());
        Ok(Self { client: Client::builder().no_proxy().build()?, key, sample: String::new() })
    }

    /// Takes the response of licd at this address as the sample.
    pub async fn take_sample(&mut self, licd: SocketAddr) -> anyhow::Result<()> {
        self.check(licd, &(0..1), Answers::Licenses).await?;
        self.sample = self.validate(licd, 0).await?.0;
        Ok(())
    }

    /// Checks the responses to some of `users`, and returns the bytes of one, including its head.
    pub async fn check(
        &self,
        server: SocketAddr,
        users: &Range<u64>,
        answers: Answers,
    ) -> anyhow::Result<usize> {
        let (count, mut bytes) = (users.end - users.start, 0);
        for sample in 0..SAMPLES.min(count) {
            let user = users.start + sample * count / SAMPLES.min(count);
            let asked = Timestamp::now();
            let (body, length) = self.validate(server, user).await?;
            match answers {
                Answers::Static => ensure!(body == self.sample, "unexpected answer: {body}"),
                Answers::Licenses => check_license(&body, user, asked)?,
                Answers::Full => {
                    ensure!(body.contains("exceeded_seats"), "user {user} is not refused: {body}");
                }
            }
            bytes = length;
        }
        Ok(bytes)
    }

    async fn validate(&self, server: SocketAddr, user: u64) -> anyhow::Result<(String, usize)> {
        let request = self.client.post(format!("http://{server}/api/v1/validate"));
        let body = json!({ "userId": seed::external_id(user) });
        let answer = request.bearer_auth(self.key.expose()).json(&body).send().await?;
        let status = answer.status();
        let head: usize = answer
            .headers()
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + 4)
            .sum();
        let body = answer.text().await?;
        ensure!(status == 200, "user {user} got {status}: {body}");
        let length = "HTTP/1.1 200 OK\r\n\r\n".len() + head + body.len();
        Ok((body, length))
    }

    /// Makes keys that may validate, over the interface.
    pub async fn create_keys(&self, licd: SocketAddr, count: usize) -> anyhow::Result<Vec<ApiKey>> {
        let mut keys = Vec::with_capacity(count);
        for number in 1..=count {
            let request = self.client.post(format!("http://{licd}/api/v1/admin/keys"));
            let body = json!({ "name": format!("key {number}"), "role": "validate" });
            let answer = request.bearer_auth(self.key.expose()).json(&body).send().await?;
            let answer = answer.error_for_status()?.bytes().await?;
            keys.push(serde_json::from_slice::<Success<CreatedKey>>(&answer)?.data.key);
        }
        Ok(keys)
    }
}

/// The user's license, and a seat on it that was checked just now.
fn check_license(body: &str, user: u64, asked: Timestamp) -> anyhow::Result<()> {
    let answer: Success<Validation> =
        serde_json::from_str(body).with_context(|| format!("unexpected answer: {body}"))?;
    let Validation::Valid(valid) = answer.data else { bail!("user {user} is refused: {body}") };
    let license = seed::license_of(user);
    ensure!(valid.license.id == license, "user {user} has another license: {body}");
    ensure!(valid.activation.license_id == license, "user {user} has another's seat: {body}");
    ensure!(valid.activation.last_checked_at >= asked, "user {user} has an old answer: {body}");
    Ok(())
}
