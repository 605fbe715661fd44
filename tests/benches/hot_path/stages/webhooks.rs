//! Webhooks: the cost for validations while events are sent, the speed of a burst of events, and
//! the latency of one tenant's event while the receivers of others hang.

mod receiver;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use common::{CreatedWebhook, Success, WebhookId};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::bench::Bench;
use crate::process::{Server, free_address};
use crate::report::say;
use crate::rounds::load_servers;
use crate::seed::Size;
use crate::stages::pairs::Pair;
use crate::stages::{CONNECTIONS, seats};
use crate::stats::Series;
use crate::subject::Subject::{self, Postgres, Sqlite};
use crate::wrk::{Load, Order};
use receiver::{Received, Receiver};

/// Tenants, each with as many webhooks as it may have, and those of them whose receivers hang.
const TENANTS: usize = 50;
const HANGING: usize = 35;
const WEBHOOKS: usize = 20;
/// Events of another tenant, one after the other, while the others hang.
const WATCHED: usize = 20;
/// Time without a further event after all have arrived.
const QUIET: Duration = Duration::from_secs(3);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Measurements of sending from one database.
pub struct Burst {
    pub subject: Subject,
    pub events: usize,
    pub seconds: f64,
    /// Resident bytes of licd.
    pub memory: f64,
    /// Longest time, in seconds, that an event took while the receivers of other tenants hang.
    pub longest: f64,
    pub memory_of_crowd: f64,
}

/// Measurements of the stage.
#[derive(Default)]
pub struct Webhooks {
    /// Validations without and with webhooks.
    pub seats: Vec<Pair>,
    pub validations: Vec<Pair>,
    pub bursts: Vec<Burst>,
}

pub async fn run(bench: &Bench) -> anyhow::Result<Webhooks> {
    let mut all = Webhooks::default();
    for subject in bench.plan.pick([Sqlite, Postgres]) {
        say(format_args!("webhooks: seeding for {}", subject.name()));
        let mut sending = Sending::start(bench, subject).await?;
        all.seats.push(sending.beside(bench, Order::Once).await?);
        all.validations.push(sending.beside(bench, Order::Random).await?);
        all.bursts.push(sending.finish(bench).await?);
    }
    Ok(all)
}

/// A licd with webhooks: a fast receiver, a slow one, and one that is away.
struct Sending {
    subject: Subject,
    url: String,
    server: [Server; 1],
    client: Client,
    receiver: Receiver,
    address: SocketAddr,
    webhooks: Vec<WebhookId>,
    /// The first user who has no seat yet.
    next: u64,
}

impl Sending {
    async fn start(bench: &Bench, subject: Subject) -> anyhow::Result<Self> {
        let size = Size { users: bench.plan.users, newcomers: bench.plan.newcomers };
        let url = bench.database(subject, "webhooks", size).await?;
        let server = [bench.sending_licd(&url)?];
        let receiver = Receiver::default();
        let address = receiver.listen().await?;
        let (client, next) = (Client::builder().no_proxy().build()?, bench.plan.users);
        let mut sending =
            Self { subject, url, server, client, receiver, address, webhooks: vec![], next };
        let away = free_address()?;
        for to in [format!("{address}/fast"), format!("{address}/slow"), format!("{away}/")] {
            let id = sending.create(bench.key.expose(), &to).await?;
            sending.webhooks.push(id);
        }
        Ok(sending)
    }

    fn request(&self, method: Method, path: &str, key: &str, body: &Value) -> RequestBuilder {
        let url = format!("http://{}/api/v1/admin/{path}", self.server[0].address);
        self.client.request(method, url).bearer_auth(key).json(body)
    }

    async fn create(&self, key: &str, to: &str) -> anyhow::Result<WebhookId> {
        let types = ["seat.taken", "product.created"];
        let body = json!({ "url": format!("http://{to}"), "types": types });
        let answer = self.request(Method::POST, "webhooks", key, &body).send().await?;
        let bytes = answer.error_for_status()?.bytes().await?;
        Ok(serde_json::from_slice::<Success<CreatedWebhook>>(&bytes)?.data.record.id)
    }

    async fn enable(&self, bench: &Bench, enabled: bool) -> anyhow::Result<()> {
        for id in &self.webhooks {
            let body = json!({ "enabled": enabled });
            let path = format!("webhooks/{id}");
            let request = self.request(Method::PATCH, &path, bench.key.expose(), &body);
            request.send().await?.error_for_status()?;
        }
        Ok(())
    }

    /// Rounds in which the webhooks are disabled, and rounds in which they are enabled.
    async fn beside(&mut self, bench: &Bench, order: Order) -> anyhow::Result<Pair> {
        let mut sides = [Series::default(), Series::default()];
        // The first round is the warm-up.
        for turn in 0..=bench.plan.rounds {
            for (side, enabled) in sides.iter_mut().zip([false, true]) {
                self.enable(bench, enabled).await?;
                let newcomers = self.next..bench.plan.users + bench.plan.newcomers;
                let holders = 0..bench.plan.users;
                let once = order == Order::Once;
                let load = Load {
                    addresses: &[self.server[0].address],
                    keys: &bench.key_file,
                    connections: CONNECTIONS,
                    seconds: if once { seats::SECONDS } else { bench.plan.seconds },
                    users: if once { &newcomers } else { &holders },
                    order,
                    suffix: "",
                };
                let (report, round) = load_servers(bench, &self.server, &load).await?;
                self.next += if once { report.asked } else { 0 };
                ensure!(self.next < newcomers.end, "there are too few newcomers");
                if turn > 0 {
                    let (name, rate, p99) = (self.subject.name(), round.rate, round.p99);
                    say(format_args!("webhooks, {enabled}: {name}: {rate:.0}/s, p99 {p99:.1} ms"));
                    side.0.push(round);
                }
            }
        }
        let [plain, changed] = sides;
        Ok(Pair { subject: self.subject, plain, changed })
    }

    /// Sends all events once more, and then those of a crowd of tenants.
    async fn finish(self, bench: &Bench) -> anyhow::Result<Burst> {
        self.enable(bench, false).await?;
        self.until_quiet().await;
        self.replay(bench).await?;
        *self.receiver.received.lock().await = Received::default();
        let started = Instant::now();
        self.enable(bench, true).await?;
        let last = self.until_quiet().await;
        let events = self.receiver.received.lock().await.in_order_and_once()?;
        let memory = self.server[0].usage().resident_bytes;
        let seconds = (last - started).as_secs_f64();
        say(format_args!("webhooks: {}: {events} events in {seconds:.1} s", self.subject.name()));
        let longest = self.crowd(bench).await?.as_secs_f64();
        let memory_of_crowd = self.server[0].usage().resident_bytes;
        let subject = self.subject;
        Ok(Burst { subject, events, seconds, memory, longest, memory_of_crowd })
    }

    /// Waits until nothing has arrived for a while, and returns when the last event came.
    async fn until_quiet(&self) -> Instant {
        let (mut events, mut last) = (0, Instant::now());
        while last.elapsed() < QUIET {
            sleep(Duration::from_millis(20)).await;
            let received = self.receiver.received.lock().await;
            if received.events() + received.repeated > events {
                (events, last) = (received.events() + received.repeated, Instant::now());
            }
        }
        last
    }

    async fn replay(&self, bench: &Bench) -> anyhow::Result<()> {
        let path = format!("webhooks/{}/replay", self.webhooks[0]);
        let request = self.request(Method::POST, &path, bench.key.expose(), &json!({ "after": 0 }));
        request.send().await?.error_for_status()?;
        Ok(())
    }

    /// Measures the slowest of some events while the receivers of most tenants begin to hang.
    async fn crowd(&self, bench: &Bench) -> anyhow::Result<Duration> {
        let watched = bench.tenant(&self.url, "watched")?;
        self.create(watched.expose(), &format!("{}/watched", self.address)).await?;
        let mut keys = Vec::new();
        for tenant in 0..TENANTS {
            let key = bench.tenant(&self.url, &format!("tenant {tenant}"))?;
            let path = if tenant < HANGING { "hangs" } else { "fast" };
            for _ in 0..WEBHOOKS {
                self.create(key.expose(), &format!("{}/{path}", self.address)).await?;
            }
            keys.push(key);
        }
        for key in &keys {
            self.record(key.expose()).await?;
        }
        let mut longest = Duration::ZERO;
        for _ in 0..WATCHED {
            let arrived = self.receiver.arrived.notified();
            let started = Instant::now();
            self.record(watched.expose()).await?;
            timeout(LONGEST_WAIT, arrived).await.context("an event did not arrive")?;
            longest = longest.max(started.elapsed());
        }
        Ok(longest)
    }

    /// Creates something, which records an event.
    async fn record(&self, key: &str) -> anyhow::Result<()> {
        let name = json!({ "name": format!("{:?}", Instant::now()) });
        self.request(Method::POST, "products", key, &name).send().await?.error_for_status()?;
        Ok(())
    }
}
