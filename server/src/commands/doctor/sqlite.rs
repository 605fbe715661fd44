//! An SQLite database: whether it opens, is intact, and has the schema of this licd.

use std::path::Path;
use std::time::Duration;

use common::Timestamp;
use licd::db::DatabaseUrl;
use licd::db::inspect::Sqlite;

use super::finding::{Finding, in_time, settled};
use super::{clock, secrets};

/// Enough for some gigabytes, and shorter than the limit of a check.
const INTEGRITY_LIMIT: Duration = Duration::from_secs(4);

/// Later checks depend on the first ones.
pub async fn check(path: &Path) -> Vec<Finding> {
    let opening = async {
        let failed = |error: String| Finding::problem("database", error);
        let mut sqlite = Sqlite::open(path).await.map_err(|error| failed(error.to_string()))?;
        let mode = sqlite.journal_mode().await.map_err(|error| failed(error.to_string()))?;
        Ok((sqlite, mode))
    };
    let (mut sqlite, mode) = match in_time("database", opening).await {
        Ok(opened) => opened,
        Err(finding) => return vec![finding],
    };
    let place = format!("sqlite://{} opens", path.display());
    let mut findings = vec![Finding::ok("database", place), journal(&mode)];
    findings.push(settled(in_time("database", writes(&mut sqlite, path)).await));
    findings.push(settled(in_time("integrity", integrity(&mut sqlite)).await));
    let schema = async {
        let checked = sqlite.check_schema().await;
        checked.map_err(|error| Finding::problem("schema", error.to_string()))?;
        let missing = sqlite.missing_tables().await;
        let missing = missing.map_err(|error| Finding::problem("schema", error.to_string()))?;
        if missing.is_empty() {
            return Ok(());
        }
        let detail = format!("these tables are missing: {}", missing.join(", "));
        Err(Finding::problem("schema", detail).fix("restore a backup; see docs/operate/backups.md"))
    };
    match in_time("schema", schema).await {
        Ok(()) => findings.push(Finding::ok("schema", "it matches this licd")),
        Err(finding) => {
            findings.push(finding);
            return findings;
        }
    }
    let newest = async {
        let newest = sqlite.newest_event().await;
        let newest = newest.map_err(|error| Finding::problem("clock", error.to_string()))?;
        Ok(clock::against_records(newest, Timestamp::now()))
    };
    findings.push(settled(in_time("clock", newest).await));
    let secrets = async {
        let sealed = sqlite.sealed().await;
        let sealed = sealed.map_err(|error| Finding::problem("secret key", error.to_string()))?;
        Ok(secrets::check(&DatabaseUrl::Sqlite(path.to_owned()), &sealed))
    };
    findings.extend(in_time("secret key", secrets).await.unwrap_or_else(|finding| vec![finding]));
    findings
}

fn journal(mode: &str) -> Finding {
    match mode {
        "wal" => Finding::ok("journal", "a write-ahead log"),
        mode => Finding::warning("journal", format!("its mode is {mode}, not wal"))
            .fix("none is needed: licd serve changes it when it starts"),
    }
}

async fn writes(sqlite: &mut Sqlite, path: &Path) -> Result<Finding, Finding> {
    let tried = sqlite.try_to_write(path).await;
    tried.map_err(|error| {
        Finding::problem("database", format!("it does not accept writes: {error}"))
            .fix("see which process keeps it locked (fuser FILE), who owns it, and mount or dmesg")
    })?;
    Ok(Finding::ok("database", "it accepts writes"))
}

async fn integrity(sqlite: &mut Sqlite) -> Result<Finding, Finding> {
    let restore = "restore a backup; see docs/operate/backups.md";
    match sqlite.faults(INTEGRITY_LIMIT).await {
        Ok(None) => Ok(Finding::ok(
            "integrity",
            format!(
                "not fully checked, since it takes longer than {} s; `licd backup` checks its copy",
                INTEGRITY_LIMIT.as_secs()
            ),
        )),
        Ok(Some(faults)) if faults.is_empty() => Ok(Finding::ok("integrity", "the file is intact")),
        Ok(Some(faults)) => Err(Finding::problem("integrity", faults.join("; ")).fix(restore)),
        Err(error) => Err(Finding::problem("integrity", error.to_string()).fix(restore)),
    }
}
