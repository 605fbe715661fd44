//! A licd of the test's own, in this process, on a port and a database of its own.

use std::ops::Deref;
use std::sync::LazyLock;

use common::{ApiKey, KeyId, Mode, Name, Role, Timestamp};
use licd::config::{Config, WebhookSettings};
use licd::db::{Db, Row};
use licd::delivery::addresses::AddressRules;
use licd::ops::tenants::{self, NewKey};
use licd::secrets::{SecretKey, SecretKeys};
use tempfile::NamedTempFile;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::caller::Caller;
use super::database::TestDatabase;

/// The file with the key with which all tests seal.
pub static SECRET_KEY: LazyLock<NamedTempFile> = LazyLock::new(new_secret_key);

pub fn new_secret_key() -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(&file, SecretKey::generate().expose()).unwrap();
    file
}

static SECRET_KEYS: LazyLock<SecretKeys> =
    LazyLock::new(|| SecretKeys::named(SECRET_KEY.path().to_owned()).unwrap());

fn with_webhooks(are_on: bool) -> Config {
    let allowed = "127.0.0.1".parse().unwrap();
    let rules = AddressRules { allowed, ..AddressRules::default() };
    Config { webhooks: WebhookSettings { rules, are_off: !are_on }, ..quiet() }
}

/// Returns a configuration without notices.
fn quiet() -> Config {
    Config {
        expiry_notices: "off".parse().unwrap(),
        secret_keys: SECRET_KEYS.clone(),
        ..Config::default()
    }
}

/// A running licd. It is itself the caller with the first live admin key of tenant `default`.
pub struct App {
    admin: Caller,
    node: Node,
    pub database: TestDatabase,
}

impl Deref for App {
    type Target = Caller;

    fn deref(&self) -> &Caller {
        &self.admin
    }
}

impl App {
    pub async fn start() -> Self {
        Self::with(quiet()).await
    }

    /// Starts an app whose webhooks may reach this machine.
    pub async fn with_webhooks() -> Self {
        Self::sending_webhooks(true).await
    }

    /// Starts an app that sends no webhooks.
    pub async fn with_webhooks_off() -> Self {
        Self::sending_webhooks(false).await
    }

    async fn sending_webhooks(are_on: bool) -> Self {
        Self::with(with_webhooks(are_on)).await
    }

    /// Starts an app that sends webhooks, and serves this database.
    pub async fn with_webhooks_on(database: TestDatabase) -> Self {
        Self::on_with(database, with_webhooks(true)).await
    }

    /// Without the secret key, on a database that another licd has left.
    pub async fn without_secret_key(database: TestDatabase) -> Self {
        let secret_keys = SecretKeys::default();
        Self::on_with(database, Config { secret_keys, ..quiet() }).await
    }

    /// With another secret key than the one that has sealed what another licd has left.
    pub async fn with_new_secret_key(database: TestDatabase) -> Self {
        let secret_keys = SecretKeys::named(new_secret_key().path().to_owned()).unwrap();
        Self::on_with(database, Config { secret_keys, ..quiet() }).await
    }

    /// `limit` as in `LICD_RATE_LIMIT`.
    pub async fn with_limit(limit: &str) -> Self {
        let mut config = quiet();
        limit.parse().map(|limit| config.rate_limit = limit).unwrap();
        Self::with(config).await
    }

    pub async fn with(config: Config) -> Self {
        let database = TestDatabase::ready().await;
        let db = database.open().await;
        Self::first_on(database, db, config).await
    }

    /// Each key may make ten new users, and ten events of leases, and then one in ten seconds.
    pub async fn with_few_new_users() -> Self {
        Self::with(Config { new_users: "6/m".parse().unwrap(), ..quiet() }).await
    }

    /// Starts an app on which this many batches of validations read at the same time, as on a
    /// larger machine.
    pub async fn reading_in_batches(most: u32) -> Self {
        let database = TestDatabase::ready().await;
        let db = Db::open_for(&database.url.parse().unwrap(), most).await.unwrap();
        Self::first_on(database, db, quiet()).await
    }

    async fn first_on(database: TestDatabase, db: Db, config: Config) -> Self {
        let key = ApiKey::generate(Mode::Live);
        assert!(tenants::bootstrap(&db, &key, || true).await.unwrap());
        let node = Node::start(db, config).await;
        Self { admin: Caller::new(node.base.clone(), key.expose()), node, database }
    }

    /// On a database that another licd has left, with a new key for tenant `default`.
    pub async fn on(database: TestDatabase) -> Self {
        Self::on_with(database, quiet()).await
    }

    async fn on_with(database: TestDatabase, config: Config) -> Self {
        let db = database.open().await;
        let new = NewKey {
            name: Name::from_static("key of a test"),
            role: Role::Admin,
            mode: Mode::Live,
        };
        let key = tenants::create_key(&db, "default", new, |_| true).await.unwrap();
        let node = Node::start(db, config).await;
        Self { admin: Caller::new(node.base.clone(), key.expose()), node, database }
    }

    /// A caller of tenant `default` with a new key.
    pub async fn caller(&self, role: Role, mode: Mode) -> Caller {
        self.with_key(&self.new_key("default", role, mode).await)
    }

    /// A key made on the host.
    pub async fn new_key(&self, tenant: &str, role: Role, mode: Mode) -> String {
        let new = NewKey { name: Name::from_static("key of a test"), role, mode };
        let key = tenants::create_key(&self.node.db, tenant, new, |_| true).await.unwrap();
        key.expose().to_owned()
    }

    /// Sets the expiry of a key to the past, which licd refuses for new keys.
    pub async fn expire_key(&self, id: &str) {
        let (id, end): (KeyId, Timestamp) =
            (id.parse().unwrap(), "2020-01-01T00:00:00Z".parse().unwrap());
        let mut conn = self.node.db.write().await.unwrap();
        let expire = conn.query("update keys set expires_at = $2 where id = $1").bind(id).bind(end);
        assert_eq!(expire.execute().await.unwrap(), 1);
    }

    pub async fn reader(&self) -> Caller {
        self.caller(Role::Read, Mode::Live).await
    }

    pub async fn asker(&self) -> Caller {
        self.caller(Role::Validate, Mode::Live).await
    }

    /// The admin of tenant `default` in the other mode.
    pub async fn test_mode(&self) -> Caller {
        self.caller(Role::Admin, Mode::Test).await
    }

    /// The admin of another tenant.
    pub async fn other_tenant(&self) -> Caller {
        let name = Name::from_static("other");
        let (_, key) = tenants::create(&self.node.db, name, |_, _| true).await.unwrap();
        self.with_key(key.expose())
    }

    pub fn db(&self) -> &Db {
        &self.node.db
    }

    /// Rows of the database, read directly.
    pub async fn rows<T: Row>(&self, sql: &'static str) -> Vec<T> {
        self.node.db.read().await.unwrap().query(sql).fetch_all().await.unwrap()
    }

    /// The one number that the statement answers.
    pub async fn number(&self, sql: &'static str) -> i64 {
        let rows: Vec<(i64,)> = self.rows(sql).await;
        rows[0].0
    }

    /// Stops the service as SIGTERM does, and waits until it has ended.
    pub async fn stop(self) -> TestDatabase {
        self.node.stop().await;
        self.database
    }

    /// Stops the app and returns its database.
    pub async fn close(self) -> TestDatabase {
        let db = self.db().clone();
        let database = self.stop().await;
        db.close().await;
        database
    }
}

/// One licd of several on a database.
pub struct Node {
    pub base: String,
    db: Db,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<std::io::Result<()>>,
}

impl Node {
    pub async fn start(db: Db, config: Config) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel();
        let served = db.clone();
        let ended = tokio::spawn(async move {
            let stop = async move { drop(stopped.await) };
            licd::serve(served, &config, listener, None, stop).await
        });
        Self { base, db, stop, ended }
    }

    pub async fn stop(self) {
        self.stop.send(()).unwrap();
        self.ended.await.unwrap().unwrap();
    }
}
