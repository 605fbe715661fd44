//! The cost of a flood for others on the same licd: another tenant, and another key of the same
//! tenant, each with a few connections, without and with hundreds of the flood.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::ApiKey;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::bench::Bench;
use crate::process::Server;
use crate::report::say;
use crate::rounds::load_servers;
use crate::seed::{Size, external_id};
use crate::stages::pairs::Pair;
use crate::stats::Series;
use crate::subject::Subject::{self, Postgres, Sqlite};
use crate::wrk::{Load, Order};

/// Number of connections of the neighbour.
pub const FEW: usize = 8;
/// And the flood, which is more than a batch holds.
pub const MANY: usize = 512;
/// The users of the other tenant.
const USERS: u64 = 100;
/// The flood begins this long before the neighbour's round, and ends after it.
const LEAD: Duration = Duration::from_millis(500);

/// Measurements of the stage.
#[derive(Default)]
pub struct Neighbours {
    pub tenants: Vec<Pair>,
    pub keys: Vec<Pair>,
}

pub async fn run(bench: &Bench) -> anyhow::Result<Neighbours> {
    let mut all = Neighbours::default();
    for subject in bench.plan.pick([Sqlite, Postgres]) {
        let size = Size { users: bench.plan.users, newcomers: 0 };
        let url = bench.database(subject, "neighbours", size).await?;
        let tenant = bench.tenant(&url, "neighbour")?;
        let server = [bench.licd(&url)?];
        assign_users(&server[0], &tenant).await?;
        let key = bench.checker.create_keys(server[0].address, 1).await?.remove(0);
        let file = write_key(bench, "tenant", &tenant)?;
        all.tenants.push(beside_a_flood(bench, subject, &server, &file, 0..USERS).await?);
        let file = write_key(bench, "other-key", &key)?;
        let users = 0..bench.plan.users;
        all.keys.push(beside_a_flood(bench, subject, &server, &file, users).await?);
    }
    Ok(all)
}

fn write_key(bench: &Bench, name: &str, key: &ApiKey) -> anyhow::Result<PathBuf> {
    let file = bench.folder.path().join(name);
    fs::write(&file, key.expose())?;
    Ok(file)
}

/// Gives a tenant a license, which its users have.
async fn assign_users(server: &Server, key: &ApiKey) -> anyhow::Result<()> {
    let client = Client::builder().no_proxy().build()?;
    let post = async |path: &str, body: Value| -> anyhow::Result<Value> {
        let request = client.post(format!("http://{}/api/v1/admin/{path}", server.address));
        let answer = request.bearer_auth(key.expose()).json(&body).send().await?;
        let answer = answer.error_for_status()?.bytes().await?;
        Ok(serde_json::from_slice::<Value>(&answer)?["data"]["id"].take())
    };
    let product = post("products", json!({ "name": "Studio" })).await?;
    let plan = post("plans", json!({ "productId": product, "name": "Team" })).await?;
    let license = post("licenses", json!({ "planId": plan })).await?;
    let assign = format!("licenses/{}/assign", license.as_str().unwrap_or_default());
    for user in 0..USERS {
        post(&assign, json!({ "userId": external_id(user) })).await?;
    }
    Ok(())
}

/// Measures the neighbour's validations in rounds, without and with the flood.
async fn beside_a_flood(
    bench: &Bench,
    subject: Subject,
    server: &[Server; 1],
    keys: &Path,
    users: Range<u64>,
) -> anyhow::Result<Pair> {
    let (mut plain, mut changed) = (Series::default(), Series::default());
    let (addresses, flooded) = ([server[0].address], 0..bench.plan.users);
    let load = |keys, connections, seconds, users| Load {
        addresses: &addresses,
        keys,
        connections,
        seconds,
        users,
        order: Order::Random,
        suffix: "",
    };
    let own = load(keys, FEW, bench.plan.seconds, &users);
    let flood = load(&bench.key_file, MANY, bench.plan.seconds + 1, &flooded);
    for _ in 0..bench.plan.rounds {
        plain.0.push(load_servers(bench, server, &own).await?.1);
        let beside = async {
            sleep(LEAD).await;
            load_servers(bench, server, &own).await
        };
        let (flooding, round) = tokio::join!(load_servers(bench, server, &flood), beside);
        let (flooding, round) = (flooding?.1, round?.1);
        say(format_args!(
            "neighbours: {}, {:.0}/s during {:.0}/s of the flood",
            subject.name(),
            round.rate,
            flooding.rate
        ));
        changed.0.push(round);
    }
    Ok(Pair { subject, plain, changed })
}
