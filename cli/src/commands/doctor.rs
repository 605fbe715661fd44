//! `licctl doctor`: checks everything between this terminal and the service in order, and prints a
//! fix for each failed check.

use std::fs;
use std::net::ToSocketAddrs;

use chrono::{DateTime, TimeDelta, Utc};
use common::{Tenant, Timestamp};
use reqwest::header::DATE;
use serde_json::{Value, json};
use url::Url;

use crate::client::{self, CurrentKey, TlsFault};
use crate::commands::prelude::*;
use crate::context::Endpoint;
use crate::profile::{self, Config, Folder, address, others_can_read};

/// The tolerated difference between the clocks of the server and this machine.
const MAX_CLOCK_SKEW_SECONDS: i64 = 30;

/// OK, a warning, or the exit code of a failed check.
type State = std::result::Result<Tone, Exit>;

/// The result of one check.
struct Finding {
    check: &'static str,
    state: State,
    detail: String,
    fix: Option<String>,
}

impl Finding {
    fn new(check: &'static str, state: State, detail: impl Into<String>) -> Self {
        Self { check, state, detail: detail.into(), fix: None }
    }

    fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self::new(check, Ok(Tone::Good), detail)
    }

    fn warning(check: &'static str, detail: impl Into<String>) -> Self {
        Self::new(check, Ok(Tone::Warning), detail)
    }

    fn unreachable(check: &'static str, detail: impl Into<String>) -> Self {
        Self::new(check, Err(Exit::Unreachable), detail)
    }

    /// The error that a command would report, in one line.
    fn from_error(check: &'static str, error: &Error) -> Self {
        let detail = format!("{} {}", error.message(), error.reason().unwrap_or_default());
        let fix = error.advice().map(str::to_owned);
        Self { fix, ..Self::new(check, Err(error.exit), detail.trim()) }
    }

    fn fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }

    fn word(&self) -> &'static str {
        match self.state {
            Ok(Tone::Good) => "ok",
            Ok(_) => "warning",
            Err(_) => "no",
        }
    }
}

pub async fn run(ctx: &Context) -> Result<View> {
    let mut findings = vec![configuration(ctx), permissions(ctx)];
    match ctx.endpoint() {
        Ok(endpoint) => {
            findings.push(Finding::ok("server", address(&endpoint.server)));
            remote_checks(ctx, endpoint, &mut findings).await;
        }
        Err(error) => findings.push(Finding::from_error("server", &error)),
    }
    let exit = findings.iter().find_map(|finding| finding.state.err()).unwrap_or(Exit::Success);
    show(&findings).map(|view| view.exit(exit))
}

fn configuration(ctx: &Context) -> Finding {
    let loaded = Folder::locate(&ctx.env).and_then(|folder| Ok((Config::load(&folder)?, folder)));
    match loaded {
        Ok((config, folder)) => {
            let (count, path) = (config.profiles.len(), folder.file(""));
            let noun = if count == 1 { "profile" } else { "profiles" };
            Finding::ok("configuration", format!("{} has {count} {noun}", path.display()))
        }
        Err(error) => Finding::from_error("configuration", &error),
    }
}

fn permissions(ctx: &Context) -> Finding {
    let Ok(folder) = Folder::locate(&ctx.env) else {
        return Finding::ok("permissions", "no key is stored");
    };
    let path = folder.file(profile::CREDENTIALS_FILE);
    let shown = path.display().to_string();
    match fs::metadata(&path) {
        Ok(file) if others_can_read(&file) => {
            let fix = format!("chmod 600 {}", quote(&shown));
            let state = Err(Exit::NotAuthenticated);
            Finding::new("permissions", state, format!("other users can read {shown}")).fix(fix)
        }
        Ok(_) => Finding::ok("permissions", format!("only you can read {shown}")),
        Err(_) => Finding::ok("permissions", "no key is stored in a file"),
    }
}

/// The checks that need the server's address. Later checks depend on earlier ones.
async fn remote_checks(ctx: &Context, endpoint: &Endpoint, findings: &mut Vec<Finding>) {
    findings.push(name(&endpoint.server).await);
    let reached = connection(ctx, endpoint).await;
    let there = reached.iter().all(|finding| finding.state.is_ok());
    findings.extend(reached);
    findings.push(key(ctx, there).await);
}

/// Whether the server's name resolves.
async fn name(server: &Url) -> Finding {
    let host = server.host_str().unwrap_or_default().to_owned();
    let port = server.port_or_known_default().unwrap_or(443);
    let target = (host.trim_matches(['[', ']']).to_owned(), port);
    let resolved = tokio::task::spawn_blocking(move || {
        target
            .to_socket_addrs()
            .map(|found| found.map(|it| it.ip().to_string()).collect::<Vec<_>>())
    });
    match resolved.await {
        Ok(Ok(mut addresses)) => {
            addresses.dedup();
            Finding::ok("name", format!("{host} is {}", addresses.join(", ")))
        }
        Ok(Err(error)) => Finding::unreachable("name", format!("{host}: {error}"))
            .fix("check the server name and this machine's network"),
        Err(error) => Finding::new("name", Err(Exit::Internal), error.to_string()),
    }
}

/// Whether something responds, whether it is licd and ready, and whether its clock agrees.
async fn connection(ctx: &Context, endpoint: &Endpoint) -> Vec<Finding> {
    let secure = if endpoint.server.scheme() == "https" { "over TLS" } else { "unencrypted" };
    let health = match probe(ctx, endpoint, "/healthz").await {
        Ok(answer) => answer,
        Err(error) => return vec![error],
    };
    if health.body["success"] != true {
        let detail = format!("the server is not licd: status {}", health.status);
        let finding = Finding::unreachable("connection", detail);
        return vec![finding.fix("check the URL, and any proxies in between")];
    }
    let connected = Finding::ok("connection", format!("licd responds, {secure}"));
    let ready = match probe(ctx, endpoint, "/readyz").await {
        Ok(answer) if answer.body["success"] == true => {
            Finding::ok("database", "licd can reach it")
        }
        _ => Finding::unreachable("database", "licd cannot reach it")
            .fix("check the server's log and its database"),
    };
    vec![connected, ready, clock(health.date, ctx.now), version(ctx, endpoint).await]
}

fn clock(date: Option<DateTime<Utc>>, now: Timestamp) -> Finding {
    let Some(server) = date.and_then(|date| date.to_rfc3339().parse::<Timestamp>().ok()) else {
        return Finding::warning("clock", "the server sent no date")
            .fix("compare the clocks by hand");
    };
    let ahead = server.since(now);
    match ahead.num_seconds() {
        seconds if seconds.abs() <= MAX_CLOCK_SKEW_SECONDS => {
            Finding::ok("clock", format!("within {MAX_CLOCK_SKEW_SECONDS} s of the server"))
        }
        seconds => {
            let side = if ahead > TimeDelta::zero() { "ahead of" } else { "behind" };
            let detail = format!("the server is {} s {side} this machine", seconds.abs());
            Finding::warning("clock", detail)
                .fix("correct the clock that is wrong; times are misleading")
        }
    }
}

async fn version(ctx: &Context, endpoint: &Endpoint) -> Finding {
    let own = env!("CARGO_PKG_VERSION");
    let answer = probe(ctx, endpoint, "/api/v1/openapi.json").await;
    let body = answer.map(|answer| answer.body).unwrap_or_default();
    match body["info"]["version"].as_str().unwrap_or("of unknown version") {
        theirs if theirs == own => Finding::ok("version", format!("licd and licctl {own}")),
        theirs => Finding::warning("version", format!("licd {theirs}, licctl {own}"))
            .fix("use the same version of licctl as the server"),
    }
}

async fn key(ctx: &Context, there: bool) -> Finding {
    let client = match ctx.client().await {
        Ok(client) => client,
        Err(error) => return Finding::from_error("key", &error),
    };
    let source = client.key_source();
    if !there {
        return Finding::warning("key", format!("from {source}, not checked"));
    }
    match client.current_key().await {
        Ok(key) => {
            let CurrentKey { prefix, role, mode, tenant: Tenant { name, .. }, .. } = &*key;
            Finding::ok("key", format!("{prefix}… from {source}: {role}, {mode}, tenant {name}"))
        }
        Err(error) => Finding::from_error("key", &error),
    }
}

/// The response to a request without a key.
struct ProbeResponse {
    status: u16,
    date: Option<DateTime<Utc>>,
    body: Value,
}

async fn probe(
    ctx: &Context,
    endpoint: &Endpoint,
    path: &str,
) -> std::result::Result<ProbeResponse, Finding> {
    let failed = |error: Error| Finding::from_error("connection", &error);
    let ca_cert = ctx.ca_cert(endpoint).map_err(failed)?;
    let http = client::http(&endpoint.server, ctx.globals.timeout.std(), ca_cert.as_ref())
        .map_err(failed)?;
    let broken = |error: reqwest::Error| {
        let (why, fix) = match TlsFault::of(&error) {
            Some(fault) => (fault.why, fault.fix),
            None => (client::cause(&error), "check that licd is running there"),
        };
        Finding::unreachable("connection", why).fix(fix)
    };
    let response =
        http.get(format!("{}{path}", address(&endpoint.server))).send().await.map_err(broken)?;
    let date = response.headers().get(DATE).and_then(|date| date.to_str().ok());
    let date = date.and_then(|date| DateTime::parse_from_rfc2822(date).ok()).map(|it| it.to_utc());
    let status = response.status().as_u16();
    let body = response.bytes().await.map_err(broken)?;
    Ok(ProbeResponse { status, date, body: serde_json::from_slice(&body).unwrap_or_default() })
}

fn show(findings: &[Finding]) -> Result<View> {
    let json = |it: &Finding| json!({ "check": it.check, "state": it.word(), "detail": it.detail, "fix": it.fix });
    let all: Vec<Value> = findings.iter().map(json).collect();
    let mut view = View::new(all, findings.iter().map(|it| it.check.to_owned()).collect())?;
    for finding in findings {
        let line = format!("{:<8} {:<14} {}", finding.word(), finding.check, finding.detail);
        let tone = finding.state.unwrap_or(Tone::Bad);
        view = view.line(TextCell::text(line).toned(tone));
        if let Some(fix) = &finding.fix {
            view = view.line(TextCell::text(format!("{:<8} fix: {fix}", "")));
        }
    }
    Ok(view)
}
