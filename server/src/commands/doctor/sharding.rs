//! A sharded PostgreSQL: where its tables are, and whether each server responds and has licd's
//! settings.

use licd::db::inspect::ShardingFacts;

use super::finding::Finding;

/// The version that licd was tried with, and the oldest one that is likely to work.
const OLDEST: u32 = 12;

/// One finding if all is well.
pub fn check(facts: &ShardingFacts) -> Vec<Finding> {
    let warning = |detail: String, fix: &str| Finding::warning("sharding", detail).fix(fix);
    let problem = |detail: String, fix: &str| Finding::problem("sharding", detail).fix(fix);
    let ShardingFacts { version, servers, misplaced, lost, unset, leftovers, .. } = facts;
    let mut findings = Vec::new();
    let major = version.split('.').next().and_then(|major| major.parse().ok());
    if major.is_none_or(|major: u32| major < OLDEST) {
        let fix = format!("upgrade Citus to {OLDEST} or later");
        findings.push(warning(format!("the extension Citus has version {version}"), &fix));
    }
    if !misplaced.is_empty() {
        let detail =
            format!("these tables are not distributed, or not as licd expects: {misplaced}");
        findings.push(problem(detail, "licd distribute, while no node runs"));
    }
    if !lost.is_empty() {
        let detail = format!("no response from {}, so its tenants get 503", lost.join(", "));
        findings.push(problem(detail, "start it, and see select * from pg_dist_node"));
    }
    if !unset.is_empty() {
        let detail = format!("{} may choose slow plans, without licd's settings", unset.join(", "));
        let fix = "set them for the role on each server; see docs/operate/scale.md";
        findings.push(warning(detail, fix));
    }
    if *leftovers > 0 {
        let detail = format!("objects that moves of shards have left behind: {leftovers}");
        findings.push(warning(detail, "call citus_cleanup_orphaned_resources()"));
    }
    if findings.is_empty() {
        let detail = format!("Citus {version} has placed all tables; servers: {servers}");
        findings.push(Finding::ok("sharding", detail));
    }
    findings
}
