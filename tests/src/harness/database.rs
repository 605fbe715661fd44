//! A database for one test: created when the test begins, deleted when it ends.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use licd::db::sharding::{self, DistributeError};
use licd::db::{DatabaseUrl, Db};
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use tempfile::TempDir;
use tokio::sync::OnceCell;

/// Chooses the PostgreSQL server on which the tests make their databases. Without it, SQLite.
const SERVER: &str = "LICD_TEST_DATABASE_URL";

/// With a value, licd takes the databases for sharded ones, and sends the statements for those. They
/// run on any PostgreSQL. If new databases of the server have the extension, they are distributed.
const SHARDED: &str = "LICD_TEST_SHARDED";

/// Stands in for the catalog of the extension, in which all tables are distributed over one server.
pub fn catalog() -> String {
    let of_worlds: Vec<String> =
        sharding::tables_of_worlds().map(|table| format!("'{table}'")).collect();
    format!(
        "create table if not exists pg_dist_partition as
            select cast(oid as regclass) as logicalrelid, 1 as colocationid,
                case when relname in ({}) then 'h' else 'n' end as partmethod
            from pg_class
            where relkind = 'r' and relnamespace = cast('public' as regnamespace);
        create table if not exists pg_dist_node as
            select 1 as nodeid, 'server' as nodename, 5432 as nodeport, 'primary' as noderole,
                true as isactive, false as shouldhaveshards;
        create table if not exists pg_dist_cleanup (record_id bigint);
        create or replace function citus_version() returns text language sql
            as $$select 'Citus 13.2.2 on x86_64'$$;
        create or replace function run_command_on_all_nodes(command text)
            returns table (nodeid int, success boolean, result text) language plpgsql
            as $$begin
                execute command into result;
                nodeid := 1; success := true; return next;
            end$$",
        of_worlds.join(", ")
    )
}

/// A database with licd's schema and nothing in it.
pub struct TestDatabase {
    pub url: String,
    storage: Storage,
}

enum Storage {
    /// The folder goes with the value.
    Sqlite {
        _folder: TempDir,
    },
    Postgres {
        server: String,
        name: String,
    },
}

impl TestDatabase {
    /// With licd's schema, copied: that is quicker than migrating.
    pub async fn ready() -> Self {
        match std::env::var(SERVER) {
            Ok(server) => postgres(server, template().await).await,
            Err(_) => {
                let (database, path) = sqlite();
                // licd creates the file like this: no other user can read it.
                let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
                file.unwrap().write_all(migrated_file().await).unwrap();
                database
            }
        }
    }

    /// Without even a schema, as a first start finds it.
    pub async fn empty() -> Self {
        match std::env::var(SERVER) {
            Ok(server) => postgres(server, "template0").await,
            Err(_) => sqlite().0,
        }
    }

    pub async fn open(&self) -> Db {
        let url: DatabaseUrl = self.url.parse().unwrap();
        Db::open(&url).await.unwrap_or_else(|error| panic!("{}: {error}", self.url))
    }

    pub fn is_postgres(&self) -> bool {
        matches!(self.storage, Storage::Postgres { .. })
    }

    /// Returns the number of deadlocks that PostgreSQL broke up here. Sessions report when they
    /// end, so call this after all nodes are gone.
    pub async fn deadlocks(&self) -> i64 {
        let Storage::Postgres { server, name } = &self.storage else { return 0 };
        let mut server = PgConnection::connect(server).await.unwrap();
        sqlx::query_scalar("select deadlocks from pg_stat_database where datname = $1")
            .bind(name)
            .fetch_one(&mut server)
            .await
            .unwrap()
    }
}

/// A path at which there is no file yet.
fn sqlite() -> (TestDatabase, PathBuf) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("licd.db");
    let url = format!("sqlite://{}", path.display());
    (TestDatabase { url, storage: Storage::Sqlite { _folder: folder } }, path)
}

/// An SQLite file with the schema in it, made once for each run.
async fn migrated_file() -> &'static [u8] {
    static FILE: OnceCell<Vec<u8>> = OnceCell::const_new();
    FILE.get_or_init(async || {
        let (database, path) = sqlite();
        database.open().await.close().await;
        fs::read(path).unwrap()
    })
    .await
}

async fn postgres(server: String, template: &str) -> TestDatabase {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("licd_test_{}_{number}", std::process::id());
    run(&server, &format!("create database {name} template {template}")).await;
    TestDatabase { url: beside(&server, &name), storage: Storage::Postgres { server, name } }
}

/// A database with the schema in it, made once for each run.
async fn template() -> &'static str {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    TEMPLATE
        .get_or_init(async || {
            let server = std::env::var(SERVER).unwrap();
            let is_sharded = std::env::var(SHARDED).is_ok();
            let kind = if is_sharded { "_sharded" } else { "" };
            let name = format!("licd_template_{}{kind}", fingerprint());
            let mut conn = connect(&server).await;
            // Another run on the same server may be about to make it too.
            sqlx::query("select pg_advisory_lock(7357)").execute(&mut conn).await.unwrap();
            let known = "select count(*) from pg_database where datname = $1";
            let known: i64 =
                sqlx::query_scalar(known).bind(&name).fetch_one(&mut conn).await.unwrap();
            if known == 0 {
                let draft = format!("{name}_draft");
                run(&server, &format!("drop database if exists {draft} with (force)")).await;
                run(&server, &format!("create database {draft}")).await;
                let url: DatabaseUrl = beside(&server, &draft).parse().unwrap();
                Db::open(&url).await.unwrap().close().await;
                if is_sharded {
                    distribute(&server, &draft, &url).await;
                }
                run(&server, &format!("alter database {draft} rename to {name}")).await;
            }
            conn.close().await.unwrap();
            name
        })
        .await
}

/// Distributes a database, or makes it look so. It may be copied once no session is left, such as
/// that of the extension.
async fn distribute(server: &str, name: &str, url: &DatabaseUrl) {
    let DatabaseUrl::Postgres(hosts) = url else { panic!("{url} is no PostgreSQL") };
    match sharding::distribute(hosts, 4, |_| ()).await {
        Err(DistributeError::NoExtension) => run(&beside(server, name), &catalog()).await,
        distributed => distributed.unwrap(),
    }
    let end = "select pg_terminate_backend(pid) from pg_stat_activity where datname =";
    run(server, &format!("{end} '{name}'")).await;
}

/// Of the migrations, so that a changed one gets a template of its own.
fn fingerprint() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../migrations");
    let files = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let mut sum = 0xcbf2_9ce4_8422_2325u64;
    for byte in paths.iter().flat_map(|path| fs::read(path).unwrap()) {
        sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{sum:016x}")
}

/// The address of another database on the same server.
fn beside(server: &str, name: &str) -> String {
    let (address, options) = match server.split_once('?') {
        Some((address, options)) => (address, format!("?{options}")),
        None => (server, String::new()),
    };
    let authority = address.find("://").map_or(0, |at| at + 3);
    let end = address[authority..].find('/').map_or(address.len(), |at| authority + at);
    format!("{}/{name}{options}", &address[..end])
}

async fn connect(server: &str) -> PgConnection {
    match PgConnection::connect(server).await {
        Ok(conn) => conn,
        Err(error) => panic!("{SERVER} leads to no PostgreSQL server: {error}"),
    }
}

async fn run(server: &str, statement: &str) {
    let mut conn = connect(server).await;
    let done = conn.execute(AssertSqlSafe(statement)).await;
    done.unwrap_or_else(|error| panic!("{statement}: {error}"));
    conn.close().await.unwrap();
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        let Storage::Postgres { server, name } = &self.storage else { return };
        let (server, drop) = (server.clone(), format!("drop database {name} with (force)"));
        // A thread of its own: the test's own runtime cannot be waited for from inside.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(run(&server, &drop));
        });
        // When it fails the test already has its verdict, and the server its leftovers.
        std::mem::drop(dropping.join());
    }
}
