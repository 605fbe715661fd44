//! What webhooks need: the keys of their secrets, certificate authorities, and events that are kept
//! for longer than a receiver may be down.

use std::collections::BTreeSet;

use clap::Parser;
use licd::db::DatabaseUrl;
use licd::delivery::connect::system_roots;
use licd::secrets::key_of;

use super::finding::Finding;
use crate::commands::{Args, Command};

/// As long as a webhook may have failed and still be sent everything.
const KEPT_DAYS: u16 = 7;

/// `secrets` are those of all webhooks, sealed.
pub fn check(database: &DatabaseUrl, secrets: &[Vec<u8>]) -> Vec<Finding> {
    let Ok(Args { command: Command::Serve(serve), .. }) = Args::try_parse_from(["licd", "serve"])
    else {
        // The check of the settings says why.
        return Vec::new();
    };
    let keys = match serve.secret_keys.read(database) {
        Ok(keys) => keys,
        Err(error) => return vec![Finding::problem("secret key", error.to_string())],
    };
    if secrets.is_empty() {
        return Vec::new();
    }
    let locked = secrets.iter().filter(|sealed| !keys.has_key_of(sealed));
    let mut findings = vec![secret_key(&locked.collect::<Vec<_>>())];
    if system_roots().is_empty() {
        let detail = "there are no certificate authorities, so webhooks reach no https address";
        let fix = "install the package ca-certificates, or name a file by SSL_CERT_FILE";
        findings.push(Finding::problem("authorities", detail).fix(fix));
    }
    if serve.events_keep.days().is_some_and(|days| days < KEPT_DAYS) {
        let detail = "events are deleted before a receiver that was down can get them";
        let fix = format!("LICD_EVENTS_KEEP={KEPT_DAYS}d, or longer");
        findings.push(Finding::warning("events", detail).fix(fix));
    }
    findings
}

/// `locked` are the secrets that the keys of this machine do not open.
fn secret_key(locked: &[&Vec<u8>]) -> Finding {
    if locked.is_empty() {
        return Finding::ok("secret key", "it opens the secrets of all webhooks");
    }
    let needed = locked.iter().map(|sealed| match key_of(sealed) {
        Some(key) => key.to_string(),
        None => "of a later licd".to_owned(),
    });
    let needed: Vec<_> = needed.collect::<BTreeSet<_>>().into_iter().collect();
    let (count, needed) = (locked.len(), needed.join(", "));
    let detail = format!("{count} webhooks are not sent: their secrets need the key {needed}");
    Finding::problem("secret key", detail).fix(
        "add its line to the file of LICD_SECRET_KEY_FILE, on each node; see docs/operate/backups.md",
    )
}
