//! PostgreSQL servers: whether one of them accepts writes, and whether each meets licd's
//! requirements.

use futures_util::future::join_all;
use licd::db::inspect::{Postgres, PostgresFacts, postgres_servers, sharding_facts};
use licd::db::{DatabaseUrl, Hosts, OpenError};

use super::finding::{Finding, FindingState, in_time, settled};
use super::{clock, secrets, sharding};

/// Number of connections that a node opens, and of those to each server of a sharded PostgreSQL.
const OF_A_NODE: i32 = 17;
const OF_A_NODE_SHARDED: i32 = 40;
const OLDEST: i32 = 150_000;

/// Checks all servers of the URL in parallel. With several, each finding names its server.
pub async fn check(url: &DatabaseUrl, hosts: &Hosts) -> Vec<Finding> {
    let servers = postgres_servers(hosts);
    let reports = join_all(servers.iter().map(|server| report(url, server))).await;
    let has_primary = reports.iter().any(|report| report.takes_writes);
    let is_one = servers.len() == 1;
    let mut findings = Vec::new();
    for (server, report) in servers.iter().zip(reports) {
        let all = report.findings.into_iter().map(|finding| match finding {
            finding if is_one => finding,
            finding => {
                Finding { detail: format!("{}: {}", server.address(), finding.detail), ..finding }
            }
        });
        // One of several may be down, and standbys do not accept writes.
        findings.extend(all.map(|finding| match (finding.check, finding.state) {
            ("database", FindingState::Problem) if has_primary => {
                Finding { state: FindingState::Warning, ..finding }
            }
            _ => finding,
        }));
    }
    findings
}

struct Report {
    findings: Vec<Finding>,
    takes_writes: bool,
}

async fn report(url: &DatabaseUrl, server: &Postgres) -> Report {
    let failed = |error: sqlx::Error| Finding::problem("database", error.to_string());
    let looking = async {
        let mut conn = server.connect().await.map_err(failed)?;
        let facts = server.facts(&mut conn).await.map_err(failed)?;
        Ok((conn, facts))
    };
    let (mut conn, facts) = match in_time("database", looking).await {
        Ok(found) => found,
        Err(finding) => return Report { findings: vec![finding], takes_writes: false },
    };
    let schema = async {
        let checked = server.check_schema(&mut conn).await;
        checked.map_err(|error: OpenError| Finding::problem("schema", error.to_string()))?;
        let unusable = server.unusable_tables(&mut conn).await.map_err(failed)?;
        if !unusable.is_empty() {
            let detail = format!("licd's role cannot read and write these tables: {unusable}");
            return Err(Finding::problem("schema", detail)
                .fix("grant select, insert, update, delete on them, or restore a backup"));
        }
        Ok(Finding::ok("schema", "it matches this licd"))
    };
    let mut findings = vec![writes(&facts), version(&facts)];
    findings.push(settled(in_time("schema", schema).await));
    if findings.last().is_some_and(|schema| schema.state == FindingState::Ok) {
        let sealed = async { server.sealed(&mut conn).await.map_err(failed) };
        match in_time("secret key", sealed).await {
            Ok(sealed) => findings.extend(secrets::check(url, &sealed)),
            Err(finding) => findings.push(finding),
        }
    }
    findings.extend(durability(&facts));
    let sharding = async {
        let facts = sharding_facts(&mut conn).await;
        facts.map_err(|error| Finding::problem("sharding", error.to_string()))
    };
    let (most, of_a_node) = match in_time("sharding", sharding).await {
        Ok(None) => (facts.max_connections, OF_A_NODE),
        Ok(Some(sharding)) => {
            findings.extend(sharding::check(&sharding));
            (facts.max_connections.min(sharding.max_connections), OF_A_NODE_SHARDED)
        }
        Err(finding) => {
            findings.push(finding);
            (facts.max_connections, OF_A_NODE_SHARDED)
        }
    };
    findings.extend([
        connections(most, of_a_node),
        encoding(&facts),
        encryption(&facts, server.is_local()),
        settings(&facts, server.pooler),
        clock::against_server(facts.time, facts.before, facts.after),
    ]);
    Report { findings, takes_writes: !facts.is_read_only }
}

fn writes(facts: &PostgresFacts) -> Finding {
    match (facts.is_standby, facts.is_read_only) {
        (true, _) => {
            Finding::problem("database", "the server is a standby and does not accept writes")
                .fix("name the primary in the URL as well")
        }
        (false, true) => Finding::problem("database", "it does not accept writes")
            .fix("alter database … reset default_transaction_read_only, or the same of the role"),
        (false, false) => Finding::ok("database", "it opens and accepts writes"),
    }
}

fn version(facts: &PostgresFacts) -> Finding {
    let detail = format!("PostgreSQL {}", facts.version_name);
    if facts.version < OLDEST {
        return Finding::problem("version", detail).fix("upgrade it to 15 or later");
    }
    Finding::ok("version", detail)
}

/// The settings that decide whether a confirmed change survives a crash.
fn durability(facts: &PostgresFacts) -> Vec<Finding> {
    let mut findings = Vec::new();
    match &*facts.synchronous_commit {
        "on" | "remote_apply" => {}
        "off" => findings.push(
            Finding::problem(
                "durability",
                "synchronous_commit is off: a crash loses confirmed changes",
            )
            .fix("set synchronous_commit = on, for the server, the database and the role"),
        ),
        weak => findings.push(
            Finding::warning("durability", format!("synchronous_commit is {weak}"))
                .fix("set it to on, or a fail-over may lose confirmed changes"),
        ),
    }
    for (name, is_on) in [("fsync", facts.fsync), ("full_page_writes", facts.full_page_writes)] {
        if !is_on {
            let detail = format!("{name} is off: a crash of the machine may destroy the database");
            let fix = format!("set {name} = on in postgresql.conf");
            findings.push(Finding::problem("durability", detail).fix(fix));
        }
    }
    if findings.is_empty() {
        let detail = "synchronous_commit, fsync and full_page_writes are on";
        findings.push(Finding::ok("durability", detail));
    }
    findings
}

/// During a rolling upgrade each node runs twice.
fn connections(most: i32, of_a_node: i32) -> Finding {
    let nodes = most / of_a_node;
    let detail = match nodes {
        0 => format!("{most} are too few for a node"),
        1 => format!("{most} are enough for 1 node"),
        nodes => format!("{most} are enough for {nodes} nodes"),
    };
    let fix = format!("raise max_connections to {of_a_node} per node, and twice that for upgrades");
    match nodes {
        0 => Finding::problem("connections", detail).fix(fix),
        1 => Finding::warning("connections", detail).fix(fix),
        _ => Finding::ok("connections", detail),
    }
}

fn encoding(facts: &PostgresFacts) -> Finding {
    if facts.encoding == "UTF8" {
        return Finding::ok("encoding", "UTF8");
    }
    let fix = "create the database with: encoding 'UTF8' template template0";
    Finding::problem("encoding", format!("it is {}, not UTF8", facts.encoding)).fix(fix)
}

fn encryption(facts: &PostgresFacts, is_local: bool) -> Finding {
    match (facts.is_encrypted, is_local) {
        (true, _) => Finding::ok("encryption", "connections use TLS"),
        (false, true) => Finding::ok("encryption", "none, on this machine"),
        (false, false) => Finding::warning("encryption", "connections are not encrypted")
            .fix("add ?sslmode=verify-full&sslrootcert=/path/ca.pem to the URL"),
    }
}

/// A pooler may drop licd's settings.
fn settings(facts: &PostgresFacts, pooler: bool) -> Finding {
    let dropped = "licd's settings do not reach PostgreSQL: a pooler drops them";
    let fix = "set them for the role; see PgBouncer in docs/operate/postgresql.md";
    match (facts.took_settings, pooler) {
        (true, _) => Finding::ok("plans", "PostgreSQL uses licd's settings"),
        (false, true) => Finding::warning("plans", dropped).fix(fix),
        (false, false) => Finding::warning("plans", dropped)
            .fix(format!("{fix}; if it pools by transaction, add ?pooler=transaction to the URL")),
    }
}
