//! The keys of what is sealed, and what else webhooks need: certificate authorities, and events
//! that are kept for longer than a receiver may be down.

use clap::Parser;
use licd::db::DatabaseUrl;
use licd::db::inspect::Sealed;
use licd::delivery::connect::system_roots;
use licd::permissions::chmod_hint;

use super::finding::Finding;
use crate::commands::secret_key::missing_keys;
use crate::commands::serve::Serve;
use crate::commands::{Args, Command};

/// As long as a webhook may have failed and still be sent everything.
const KEPT_DAYS: u16 = 7;

/// Whether there is a file with secret keys where licd does not create one itself, and whether only
/// its owner can read it.
pub fn file(database: &DatabaseUrl) -> Option<Finding> {
    let Ok(keys) = settings()?.secret_keys.read(database) else {
        // The check of what is sealed says why.
        return None;
    };
    match (keys.path(), database) {
        (Some(path), _) => chmod_hint(path).map(|fix| {
            let detail = "others can read or change the file of LICD_SECRET_KEY_FILE";
            Finding::warning("secret key", detail).fix(fix)
        }),
        (None, DatabaseUrl::Sqlite(_)) => None,
        (None, DatabaseUrl::Postgres(_)) => {
            let detail = "no secret key is configured, so there can be no webhooks and no leases";
            let fix = "licd secret-key generate FILE, and LICD_SECRET_KEY_FILE=FILE on each node";
            Some(Finding::warning("secret key", detail).fix(fix))
        }
    }
}

/// The settings of `licd serve`. None if they are invalid: the check of the settings says why.
fn settings() -> Option<Serve> {
    match Args::try_parse_from(["licd", "serve"]) {
        Ok(Args { command: Command::Serve(serve), .. }) => Some(serve),
        _ => None,
    }
}

pub fn check(database: &DatabaseUrl, sealed: &Sealed) -> Vec<Finding> {
    let Some(serve) = settings() else { return Vec::new() };
    let keys = match serve.secret_keys.read(database) {
        Ok(keys) => keys,
        Err(error) => return vec![Finding::problem("secret key", error.to_string())],
    };
    let Sealed { webhooks, signing_keys } = sealed;
    let fix = "add its line to the file of LICD_SECRET_KEY_FILE, on each node; see \
               docs/operate/backups.md";
    let missing = missing_keys(&keys, sealed).into_iter();
    let mut findings: Vec<_> =
        missing.map(|missing| Finding::problem("secret key", missing).fix(fix)).collect();
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
