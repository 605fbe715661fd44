//! The dashboard with many users: the time for each page, and the cost for validations while a
//! visitor clicks through it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use common::{LicenseWithSeats, List, User};
use reqwest::header::{COOKIE, SET_COOKIE};
use reqwest::{Client, redirect};
use serde::de::DeserializeOwned;

use crate::bench::Bench;
use crate::process::Server;
use crate::report::say;
use crate::rounds::load_servers;
use crate::seed::{Size, external_id};
use crate::stages::CONNECTIONS;
use crate::stages::pairs::Pair;
use crate::stats::{Series, median};
use crate::subject::Subject::{self, Postgres, Sqlite};
use crate::wrk::{Load, Order};

/// Number of loads of each page in a round.
const LOADS: usize = 20;
/// Between two pages of a visitor, who is a quick one.
const CLICK_INTERVAL: Duration = Duration::from_millis(100);

/// One page of one database.
pub struct PageTime {
    pub subject: Subject,
    pub name: &'static str,
    pub bytes: usize,
    /// Milliseconds, at the client on the same machine.
    pub median: f64,
    pub worst: f64,
}

/// Measurements of the stage.
#[derive(Default)]
pub struct Pages {
    pub times: Vec<PageTime>,
    /// Validations without and with a visitor.
    pub visited: Vec<Pair>,
}

pub async fn run(bench: &Bench) -> anyhow::Result<Pages> {
    let mut all = Pages::default();
    for subject in bench.plan.pick([Sqlite, Postgres]) {
        let users = bench.plan.many_users;
        say(format_args!("pages: seeding {users} users for {}", subject.name()));
        let url = bench.database(subject, "pages", Size { users, newcomers: 0 }).await?;
        let server = [bench.licd(&url)?];
        let visitor = Visitor::sign_in(bench, &server[0]).await?;
        all.times.extend(visitor.time_pages(subject, bench.plan.rounds as usize * LOADS).await?);
        all.visited.push(beside_a_visitor(bench, subject, &server, Arc::new(visitor)).await?);
    }
    Ok(all)
}

/// Validations in rounds with and without a visitor who clicks.
async fn beside_a_visitor(
    bench: &Bench,
    subject: Subject,
    server: &[Server; 1],
    visitor: Arc<Visitor>,
) -> anyhow::Result<Pair> {
    let (mut plain, mut changed) = (Series::default(), Series::default());
    let load = Load {
        addresses: &[server[0].address],
        keys: &bench.key_file,
        connections: CONNECTIONS,
        seconds: bench.plan.seconds,
        users: &(0..bench.plan.many_users),
        order: Order::Random,
        suffix: "",
    };
    for _ in 0..bench.plan.rounds {
        plain.0.push(load_servers(bench, server, &load).await?.1);
        let stop = Arc::new(AtomicBool::new(false));
        let clicks = tokio::spawn(visitor.clone().click_until(stop.clone()));
        let round = load_servers(bench, server, &load).await;
        stop.store(true, Ordering::Relaxed);
        let clicks = clicks.await??;
        changed.0.push(round?.1);
        say(format_args!("pages: {}, {clicks} pages during validations", subject.name()));
    }
    Ok(Pair { subject, plain, changed })
}

/// A visitor with a session in the dashboard.
struct Visitor {
    client: Client,
    base: String,
    cookie: String,
    pages: Vec<(&'static str, String)>,
}

impl Visitor {
    async fn sign_in(bench: &Bench, server: &Server) -> anyhow::Result<Self> {
        let client = Client::builder().no_proxy().redirect(redirect::Policy::none()).build()?;
        let (base, key) = (format!("http://{}", server.address), bench.key.expose());
        let sign_in = client.post(format!("{base}/dashboard/sign-in"));
        let form = ("content-type", "application/x-www-form-urlencoded");
        let answer = sign_in.header(form.0, form.1).body(format!("key={key}")).send().await?;
        let cookie = answer.headers().get(SET_COOKIE).context("no session")?.to_str()?;
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        let mut visitor = Self { client, base, cookie, pages: Vec::new() };
        let license: LicenseWithSeats = visitor.first("licenses", key).await?;
        let user: User = visitor.first("users", key).await?;
        let name = external_id(bench.plan.many_users / 2);
        let end = license.id.to_string();
        let live = |path: String| format!("/dashboard/live{path}");
        visitor.pages = vec![
            ("sign in, for comparison", "/dashboard/sign-in".to_owned()),
            ("overview", live(String::new())),
            ("licenses", live("/licenses".into())),
            ("suspended licenses", live("/licenses?status=suspended".into())),
            ("licenses that expire soon", live("/licenses?expiry=30".into())),
            ("licenses by the end of the id", live(format!("/licenses?end={}", &end[24..]))),
            ("license", live(format!("/licenses/{}", license.id))),
            ("users", live("/users".into())),
            ("users found by a beginning", live("/users?q=user-".into())),
            ("user found by the id", live(format!("/users?q={name}"))),
            ("user", live(format!("/users/{}", user.id))),
            ("products", live("/products".into())),
            ("keys", live("/keys".into())),
            ("events", live("/events".into())),
        ];
        Ok(visitor)
    }

    /// The first record of a list of the API.
    async fn first<T: DeserializeOwned>(&self, list: &str, key: &str) -> anyhow::Result<T> {
        let url = format!("{}/api/v1/admin/{list}?limit=1", self.base);
        let page = self.client.get(url).bearer_auth(key).send().await?.json::<List<T>>().await?;
        page.data.into_iter().next().with_context(|| format!("there are no {list}"))
    }

    /// Loads a page, and returns its size.
    async fn load(&self, path: &str) -> anyhow::Result<usize> {
        let url = format!("{}{path}", self.base);
        let answer = self.client.get(url).header(COOKIE, &self.cookie).send().await?;
        let status = answer.status();
        ensure!(status.is_success() || status.as_u16() == 303, "{path}: {status}");
        Ok(answer.bytes().await?.len())
    }

    async fn time_pages(&self, subject: Subject, loads: usize) -> anyhow::Result<Vec<PageTime>> {
        let mut all = Vec::new();
        for (name, path) in &self.pages {
            let (mut times, mut bytes) = (Vec::new(), self.load(path).await?);
            for _ in 0..loads {
                let started = Instant::now();
                bytes = self.load(path).await?;
                times.push(started.elapsed().as_secs_f64() * 1e3);
            }
            let worst = times.iter().copied().fold(0.0, f64::max);
            all.push(PageTime { subject, name, bytes, median: median(times), worst });
        }
        Ok(all)
    }

    /// Loads page after page, and returns how many.
    async fn click_until(self: Arc<Self>, stop: Arc<AtomicBool>) -> anyhow::Result<usize> {
        let mut clicks = 0;
        for (_, path) in self.pages.iter().cycle() {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            self.load(path).await?;
            clicks += 1;
            tokio::time::sleep(CLICK_INTERVAL).await;
        }
        Ok(clicks)
    }
}
