//! The keys of what is sealed, and what else webhooks need: certificate authorities, and events that
//! are kept for longer than a receiver may be down.

use std::collections::BTreeSet;

use clap::Parser;
use licd::db::DatabaseUrl;
use licd::db::inspect::Sealed;
use licd::delivery::connect::system_roots;
use licd::secrets::{SecretKeys, key_of};

use super::finding::Finding;
use crate::commands::{Args, Command};

/// As long as a webhook may have failed and still be sent everything.
const KEPT_DAYS: u16 = 7;

pub fn check(database: &DatabaseUrl, sealed: &Sealed) -> Vec<Finding> {
    let Ok(Args { command: Command::Serve(serve), .. }) = Args::try_parse_from(["licd", "serve"])
    else {
        // The check of the settings says why.
        return Vec::new();
    };
    let keys = match serve.secret_keys.read(database) {
        Ok(keys) => keys,
        Err(error) => return vec![Finding::problem("secret key", error.to_string())],
    };
    let Sealed { webhooks, signing_keys } = sealed;
    let webhooks_wait = opened(&keys, webhooks, "webhooks are not sent: their secrets need");
    let none_signs = opened(&keys, signing_keys, "signing keys sign no lease: they need");
    let mut findings: Vec<_> = webhooks_wait.into_iter().chain(none_signs).collect();
    if findings.is_empty() && !(webhooks.is_empty() && signing_keys.is_empty()) {
        findings.push(Finding::ok("secret key", "it opens all that is sealed"));
    }
    if webhooks.is_empty() {
        return findings;
    }
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

/// Whether the keys of this machine open all of these, and what it means if not.
fn opened(keys: &SecretKeys, sealed: &[Vec<u8>], meaning: &str) -> Option<Finding> {
    let locked: Vec<_> = sealed.iter().filter(|sealed| !keys.has_key_of(sealed)).collect();
    let needed = locked.iter().map(|sealed| match key_of(sealed) {
        Some(key) => key.to_string(),
        None => "of a later licd".to_owned(),
    });
    let needed: Vec<_> = needed.collect::<BTreeSet<_>>().into_iter().collect();
    let detail = format!("{} {meaning} the key {}", locked.len(), needed.join(", "));
    let fix = "add its line to the file of LICD_SECRET_KEY_FILE, on each node; see \
               docs/operate/backups.md";
    (!locked.is_empty()).then(|| Finding::problem("secret key", detail).fix(fix))
}
