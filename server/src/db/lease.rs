//! A connection that PostgreSQL's pool has lent, and how it is given back.
//!
//! The pool asks a last answer of every connection that it is given back, and waits for it as long
//! as the network lets it. From a server that fell silent none comes; soon the pool would have no
//! connection left to lend, and would never end. Here that wait has an end of its own.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{Executor, PgConnection, PgPool, Postgres};
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::{Result, within};

/// How long PostgreSQL may take to end what a connection that is given back was doing. One that
/// takes longer is closed.
const LAST_WORD: Duration = Duration::from_secs(1);

pub(super) struct Lease {
    /// None once it is given back.
    conn: Option<PoolConnection<Postgres>>,
    /// In a transaction, which ends without effect unless it is committed.
    open: bool,
}

impl Lease {
    pub async fn take(pool: &PgPool) -> Result<Self> {
        Ok(Self { conn: Some(pool.acquire().await?), open: false })
    }

    /// With a transaction begun by these words.
    pub async fn begin(pool: &PgPool, words: &'static str) -> Result<Self> {
        let mut lease = Self::take(pool).await?;
        // Before it is so: whoever is given up on half-way may have begun all the same.
        lease.open = true;
        lease.execute(words).await?;
        Ok(lease)
    }

    pub async fn commit(mut self) -> Result<()> {
        self.execute("commit").await?;
        self.open = false;
        Ok(())
    }

    pub fn is_in_transaction(&self) -> bool {
        self.open
    }
}

const LENT: &str = "a lease has its connection until it is dropped";

#[expect(clippy::expect_used, reason = "only `drop` takes the connection away")]
impl Deref for Lease {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        self.conn.as_ref().expect(LENT)
    }
}

#[expect(clippy::expect_used, reason = "only `drop` takes the connection away")]
impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut PgConnection {
        self.conn.as_mut().expect(LENT)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // Without a runtime, which is when the process ends, there is nothing to give it back to.
        if let (Some(conn), Ok(runtime)) = (self.conn.take(), Handle::try_current()) {
            runtime.spawn(give_back(conn, self.open));
        }
    }
}

async fn give_back(mut conn: PoolConnection<Postgres>, open: bool) {
    if open && within(LAST_WORD, conn.execute("rollback")).await.is_err() {
        drop(conn.detach());
        return;
    }
    // Given up on, it is closed, and the pool may open another.
    drop(timeout(LAST_WORD, conn.return_to_pool()).await);
}
