//! Records which nodes serve a PostgreSQL database with which secret keys, so that no node replaces
//! a value that another node can open. An SQLite database has one node, so nothing is recorded.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::db::{self, Conn, Db};
use crate::secrets::{SecretKeyId, SecretKeys, key_of};
use crate::store::{nodes, uptime};

/// This node. Cheap to clone.
#[derive(Clone)]
pub struct Node {
    /// Host name and address, so that a node keeps its name when it restarts.
    name: Arc<str>,
    keys: SecretKeys,
}

impl Node {
    pub fn new(address: Option<SocketAddr>, keys: SecretKeys) -> Self {
        let host = rustix::system::uname();
        let address = address.map_or_else(String::new, |it| it.to_string());
        Self { name: format!("{} {address}", host.nodename().to_string_lossy()).into(), keys }
    }

    /// Records that this node serves.
    pub async fn record(&self, db: &Db) -> db::Result<()> {
        if matches!(db, Db::Sqlite(_)) {
            return Ok(());
        }
        let mut tx = db.begin().await?;
        let Some(now) = uptime::find(&mut tx).await?.and_then(|it| it.now) else { return Ok(()) };
        let ids: Vec<_> = self.keys.ids().iter().map(SecretKeyId::to_string).collect();
        nodes::note(&mut tx, &self.name, &ids.join(" "), now).await?;
        tx.commit().await
    }

    /// Removes this node, because it stops.
    pub async fn leave(&self, db: &Db) -> db::Result<()> {
        nodes::remove(&mut db.write().await?, &self.name).await
    }

    /// Whether another serving node can open this value.
    pub(super) async fn can_others_open(&self, conn: &mut Conn, sealed: &[u8]) -> db::Result<bool> {
        let now = uptime::find(conn).await?.and_then(|it| it.now);
        let Some((key, now)) = key_of(sealed).zip(now) else { return Ok(false) };
        nodes::others_have(conn, &self.name, &key.to_string(), now).await
    }
}
