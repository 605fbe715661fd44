//! pgbench, the load generator that comes with PostgreSQL, calling one stored function that does
//! what a validation does. It is what the database can do when each call is a transaction and
//! nothing stands between: no HTTP, no JSON to parse, no second process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use common::ApiKey;
use sqlx::{AssertSqlSafe, Connection, PgConnection, raw_sql};

use crate::cluster::Cluster;
use crate::stats::Latencies;

/// A database with the function in it, and the script that calls it.
pub struct Pgbench {
    database: String,
    script: PathBuf,
    folder: PathBuf,
    users: u64,
}

/// What came of one run.
pub struct Outcome {
    pub rate: f64,
    pub latencies: Latencies,
}

impl Pgbench {
    pub async fn prepare(
        url: &str,
        folder: &Path,
        key: &ApiKey,
        users: u64,
    ) -> anyhow::Result<Self> {
        let mut connection = PgConnection::connect(url).await?;
        raw_sql(AssertSqlSafe(FUNCTION)).execute(&mut connection).await?;
        connection.close().await?;
        let folder = folder.join("pgbench");
        fs::create_dir(&folder)?;
        let script = folder.join("validate.sql");
        let hash: String =
            licd::validation::gate::hash(key).iter().map(|byte| format!("{byte:02x}")).collect();
        fs::write(&script, SCRIPT.replace("HASH", &hash))?;
        let database = url.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Self { database, script, folder, users })
    }

    /// Runs for the time given, in whole seconds, as pgbench counts.
    pub async fn run(
        &self,
        cluster: &Cluster,
        connections: usize,
        time: Duration,
    ) -> anyhow::Result<Outcome> {
        let mut command = cluster.program("pgbench");
        command
            .args(["--no-vacuum", "--protocol=prepared", "--log", "--host=127.0.0.1"])
            .args(["--username=postgres", "--jobs", &connections.min(2).to_string()])
            .args(["--port", &cluster.port().to_string()])
            .args(["--client", &connections.to_string()])
            .args(["--time", &time.as_secs_f64().ceil().to_string()])
            .args(["--define", &format!("users={}", self.users)])
            .arg("--file")
            .arg(&self.script)
            .arg(&self.database)
            .current_dir(&self.folder)
            .stdin(Stdio::null());
        let done = tokio::task::spawn_blocking(move || command.output()).await?;
        let done = done.context("cannot run pgbench")?;
        let said = String::from_utf8_lossy(&done.stdout);
        ensure!(done.status.success(), "pgbench: {}", String::from_utf8_lossy(&done.stderr));
        let rate = said
            .lines()
            .find_map(|line| line.strip_prefix("tps = ")?.split_whitespace().next()?.parse().ok());
        let rate = rate.with_context(|| format!("pgbench said no rate: {said}"))?;
        Ok(Outcome { rate, latencies: self.take_latencies()? })
    }

    /// Reads and removes the logs: a line for each transaction, with its microseconds as the third
    /// number.
    fn take_latencies(&self) -> anyhow::Result<Latencies> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path == self.script {
                continue;
            }
            let log = fs::read_to_string(&path)?;
            all.extend(log.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<u32>().ok()));
            fs::remove_file(path)?;
        }
        Ok(Latencies::new(all))
    }
}

const SCRIPT: &str = r"\set user random(0, :users - 1)
\set name (:user * 2654435761) & 4294967295
select validate_user(cast('\xHASH' as bytea),
    'user-' || lpad(to_hex(cast(:name as bigint)), 8, '0'));
";

/// Key, user with the first license in force, seat: the same look-ups, the same one write.
const FUNCTION: &str = r"
create function validate_user(key_hash bytea, user_name text) returns jsonb language plpgsql as $$
declare
    caller record;
    found_link record;
    moment timestamptz := date_trunc('milliseconds', clock_timestamp());
begin
    select tenant_id, mode into caller from keys
    where hash = key_hash and revoked_at is null and (expires_at is null or expires_at > moment);
    if caller is null then
        return jsonb_build_object('success', false);
    end if;
    select u.id as user_id, l.id as license_id, l.product_id, l.plan_id, l.status, l.max_seats,
        l.expires_at, l.features, l.created_at, l.updated_at, a.id as activation_id, a.activated_at
    into found_link
    from users u
    join assignments s on s.tenant_id = u.tenant_id and s.mode = u.mode and s.user_id = u.id
    join licenses l on l.tenant_id = s.tenant_id and l.mode = s.mode and l.id = s.license_id
    left join activations a on a.tenant_id = s.tenant_id and a.mode = s.mode
        and a.user_id = s.user_id and a.license_id = s.license_id
    where u.tenant_id = caller.tenant_id and u.mode = caller.mode and u.external_id = user_name
        and l.status = 'active' and (l.expires_at is null or l.expires_at > moment)
    order by s.id limit 1;
    if found_link.activation_id is null then
        return jsonb_build_object('success', true, 'data', jsonb_build_object('valid', false));
    end if;
    update activations set last_checked_at = moment
    where tenant_id = caller.tenant_id and mode = caller.mode
        and user_id = found_link.user_id and license_id = found_link.license_id;
    return jsonb_build_object('success', true, 'data', jsonb_build_object(
        'valid', true, 'features', found_link.features,
        'license', to_jsonb(found_link),
        'activation', jsonb_build_object('id', found_link.activation_id,
            'userId', found_link.user_id, 'licenseId', found_link.license_id,
            'activatedAt', found_link.activated_at, 'lastCheckedAt', moment)));
end $$";
