//! `licd doctor`: its findings on a sound database, and on one with each fault. Faults of only one
//! of the two databases are in `host::doctor` and in `cluster::doctor`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::harness::{App, SECRET_KEY, TestDatabase};
use crate::nodes::process::{Process, command, first_key, licd};

/// Output of the doctor.
#[derive(Debug)]
pub struct Examination {
    pub code: Option<i32>,
    findings: Vec<Value>,
}

impl Examination {
    pub fn of(url: &str, settings: &[(&str, &str)]) -> Self {
        let mut doctor = command(&["doctor", "--json", "--database-url", url]);
        doctor.env("LICD_SECRET_KEY_FILE", SECRET_KEY.path());
        Self::by(doctor.envs(settings.to_vec()))
    }

    pub fn by(doctor: &mut std::process::Command) -> Self {
        let output = doctor.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        let findings = serde_json::from_slice(&output.stdout);
        Self { code: output.status.code(), findings: findings.unwrap_or_else(|_| panic!("{told}")) }
    }

    /// The findings in this state, each as `check: detail [fix]`.
    pub fn with(&self, state: &str) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let line = |finding: &Value| {
            let [check, detail, fix] = ["check", "detail", "fix"].map(|name| text(&finding[name]));
            format!("{check}: {detail} [{fix}]")
        };
        self.findings.iter().filter(|finding| finding["state"] == state).map(line).collect()
    }

    /// The one finding in this state that is not about the disk of the machine that runs the tests,
    /// nor its limits, nor about how its PostgreSQL is set up.
    pub fn only(&self, state: &str) -> String {
        let about_machine = ["disk space:", "open files:", "durability: f"];
        let mut found = self.with(state);
        found.retain(|line| !about_machine.iter().any(|about| line.starts_with(about)));
        assert_eq!(found.len(), 1, "{found:#?} in {:#?}", self.findings);
        found.remove(0)
    }
}

/// No findings while a licd serves. PostgreSQL for tests runs without fsync, which is the only one.
#[tokio::test(flavor = "multi_thread")]
async fn a_sound_database_has_no_problem() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let licd = Process::start(&database.url, &key);
    let found = Examination::of(&database.url, &[]);
    let mut problems = found.with("problem");
    if database.is_postgres() {
        problems.retain(|line| !line.starts_with("durability: f"));
        assert_eq!(found.with("ok").len(), 10, "{:?}", found.with("ok"));
    } else {
        assert_eq!(found.code, Some(0), "{problems:?}");
        assert!(found.with("ok").len() >= 7, "{:?}", found.with("ok"));
        let oks = found.with("ok").join("\n");
        assert!(oks.contains("clock: no event is from the future"), "{oks}");
    }
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(licd.stop().success());
}

/// Without the keys of their secrets webhooks wait, and no one notices.
#[tokio::test]
async fn the_keys_of_sealed_secrets_are_looked_for() {
    let app = App::with_webhooks().await;
    let webhook = json!({ "url": "https://example.com/licd" });
    app.post("/api/v1/admin/webhooks", webhook).await.data();
    let database = app.stop().await;
    let found = |file: &Path, kept: &str| {
        let file = ("LICD_SECRET_KEY_FILE", file.to_str().unwrap());
        Examination::of(&database.url, &[file, ("LICD_EVENTS_KEEP", kept)])
    };
    let sound = found(SECRET_KEY.path(), "400d");
    let opens = "secret key: it opens all that is sealed []".to_owned();
    assert!(sound.with("ok").contains(&opens), "{:?}", sound.with("ok"));
    let problems = |found: &Examination| {
        let mut problems = found.with("problem");
        problems.retain(|line| !line.starts_with("durability: f"));
        problems
    };
    assert!(problems(&sound).is_empty(), "{:?}", problems(&sound));
    let other = tempfile::NamedTempFile::new().unwrap();
    fs::write(other.path(), licd(&["secret-key", "generate"]).stdout).unwrap();
    let locked = found(other.path(), "6d");
    let said = "secret key: 1 webhooks are not sent: they need the secret key ";
    assert!(problems(&locked)[0].starts_with(said), "{:?}", problems(&locked));
    let warned = locked.with("warning");
    assert!(warned.iter().any(|line| line.starts_with("events: events are deleted")), "{warned:?}");
    fs::write(other.path(), "no key").unwrap();
    let damaged = found(other.path(), "400d");
    assert!(problems(&damaged)[0].contains("line 1 is not a valid secret key"), "{damaged:?}");
}

/// Runs a statement in the database.
async fn change(database: &TestDatabase, statement: &'static str) {
    let db = database.open().await;
    assert_ne!(db.write().await.unwrap().query(statement).execute().await.unwrap(), 0);
    db.close().await;
}

/// The schema is compared with that of this licd, and not changed.
#[tokio::test]
async fn another_schema_is_a_problem() {
    for (version, said) in [
        (
            "delete from _sqlx_migrations
             where version = (select max(version) from _sqlx_migrations)",
            "bring it up to date with `licd migrate`",
        ),
        (
            "insert into _sqlx_migrations (version, description, success, checksum, execution_time)
             select 9999, description, success, checksum, 0 from _sqlx_migrations limit 1",
            "a newer licd has upgraded it",
        ),
        (
            "update _sqlx_migrations set checksum = substr(checksum, 2)",
            "This database was created before the first release",
        ),
        ("delete from _sqlx_migrations", "this database contains no tables of licd"),
    ] {
        let database = TestDatabase::ready().await;
        change(&database, version).await;
        for _ in 0..2 {
            let found = Examination::of(&database.url, &[]);
            assert_eq!(found.code, Some(1));
            let problem = found.only("problem");
            assert!(problem.starts_with("schema: ") && problem.contains(said), "{problem}");
        }
    }
}

/// Without a secret key there are no leases, which shows only when one is asked for.
#[tokio::test]
async fn a_secret_key_that_is_not_configured_is_a_warning_on_postgresql() {
    let database = TestDatabase::ready().await;
    let found =
        Examination::by(&mut command(&["doctor", "--json", "--database-url", &database.url]));
    let warned =
        found.with("warning").iter().any(|line| line.contains("no secret key is configured"));
    assert_eq!(warned, database.is_postgres());
}

/// The settings that PostgreSQL applies to licd's database.
#[tokio::test]
async fn settings_of_postgresql_are_checked() {
    let database = TestDatabase::ready().await;
    if !database.is_postgres() {
        let found = Examination::of(&database.url, &[]);
        assert!(!found.with("ok").iter().any(|line| line.starts_with("durability")));
        return;
    }
    let clock = "
        create schema shadow;
        create function shadow.clock_timestamp() returns timestamptz language sql
            as 'select pg_catalog.clock_timestamp() - interval ''20 s''';
        alter database {} set search_path = public, shadow, pg_catalog";
    for (set, reset, state, said) in [
        (
            "alter database {} set synchronous_commit = off",
            "synchronous_commit",
            "problem",
            "durability: synchronous_commit is off",
        ),
        (
            "alter database {} set synchronous_commit = local",
            "synchronous_commit",
            "warning",
            "durability: synchronous_commit is local",
        ),
        (
            "alter database {} set default_transaction_read_only = on",
            "all",
            "problem",
            "database: it does not accept writes",
        ),
        // A busy machine measures a little less than 20 s.
        (clock, "search_path", "problem", " s ahead of the database"),
        ("alter database {} connection limit 16", "all", "problem", "connections: 16 are"),
        ("alter database {} connection limit 20", "all", "warning", "connections: 20 are"),
    ] {
        let (server, name) = database.url.rsplit_once('/').unwrap();
        let mut conn = PgConnection::connect(&format!("{server}/postgres")).await.unwrap();
        let mut inside = PgConnection::connect(&database.url).await.unwrap();
        let conn = if set == clock { &mut inside } else { &mut conn };
        let set = AssertSqlSafe(set.replace("{}", name));
        sqlx::raw_sql(set).execute(&mut *conn).await.unwrap();
        let found = Examination::of(&database.url, &[]).only(state);
        assert!(found.contains(said), "{found}");
        let reset = AssertSqlSafe(format!("alter database {name} reset {reset}"));
        sqlx::raw_sql(reset).execute(&mut *conn).await.unwrap();
        let unlimited = AssertSqlSafe(format!("alter database {name} connection limit -1"));
        sqlx::raw_sql(unlimited).execute(&mut *conn).await.unwrap();
    }
    // The way to 0.0.0.0 is not known to stay on this machine.
    let far = database.url.replace("127.0.0.1", "0.0.0.0");
    let found = Examination::of(&far, &[]).only("warning");
    assert!(
        found.starts_with("encryption: connections are not encrypted [add ?sslmode="),
        "{found}"
    );
}
