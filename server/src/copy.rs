//! Copies a whole database to another place: from SQLite to PostgreSQL when one machine is no
//! longer enough, or back.
//!
//! The source is read from one snapshot and written in one transaction, in batches, so that the
//! size of the database does not matter. Before the commit everything is read back and compared; if
//! anything differs, the transaction is rolled back.

use sha2::{Digest, Sha256};

use crate::db::{Conn, Db};
use crate::store::copy::{self as store, PORTION, Table, for_each_table};
use crate::store::worlds;

/// Reason why a copy failed. The messages are for the operator.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error(
        "the target is not empty: there are rows in its table {0}. Copy into a new database; one \
         that `licd serve` has been started on has a tenant already"
    )]
    NotEmpty(&'static str),
    #[error("the rows that arrived in table {0} differ from those sent; nothing was copied")]
    Differs(&'static str),
    #[error("cannot read the source: {0}")]
    Source(sqlx::Error),
    #[error("cannot write the target, where nothing was changed: {0}")]
    Target(sqlx::Error),
    #[error(
        "the target did not confirm that it keeps the copy: {0}. It holds all of it or nothing; \
         `licd tenants list` on it shows which. If nothing, copy again"
    )]
    Unconfirmed(sqlx::Error),
}

/// A digest of a table's rows. Tables with equal rows have equal digests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDigest {
    pub table: &'static str,
    pub rows: u64,
    /// The sum of the seats in use on all licenses.
    pub seats: i64,
    /// The sum of the rows' hashes. It does not depend on their order, since the databases sort
    /// texts differently.
    pub sum: [u64; 4],
}

/// Step of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Copying(&'static str),
    Verifying(&'static str),
}

/// Called for each portion, with the step and the number of rows.
pub trait Progress: FnMut(Step, u64) {}

impl<F: FnMut(Step, u64)> Progress for F {}

pub async fn count(db: &Db) -> Result<u64, sqlx::Error> {
    let mut conn = db.read().await?;
    Ok(for_each_table!(T => store::count::<T>(&mut conn).await?).into_iter().sum())
}

/// Copies everything or nothing, and returns the digest of each table.
pub async fn copy(
    from: &Db,
    to: &Db,
    mut progress: impl Progress,
) -> Result<Vec<TableDigest>, CopyError> {
    let mut target = to.begin().await.map_err(CopyError::Target)?;
    // A licd that starts on the target in the meantime waits here, and then finds a tenant.
    worlds::lock(&mut target).await.map_err(CopyError::Target)?;
    for_each_table!(T => refuse_rows::<T>(&mut target).await?);

    let mut source = from.snapshot().await.map_err(CopyError::Source)?;
    let sent = for_each_table!(T => send::<T>(&mut source, &mut target, &mut progress).await?);
    drop(source);
    let arrived = for_each_table!(T => digest::<T>(&mut target, &mut progress).await?);
    for (sent, arrived) in sent.iter().zip(&arrived) {
        if sent != arrived {
            return Err(CopyError::Differs(sent.table));
        }
    }
    target.commit().await.map_err(CopyError::Unconfirmed)?;
    Ok(arrived.into())
}

async fn refuse_rows<T: Table>(target: &mut Conn) -> Result<(), CopyError> {
    match store::any::<T>(target).await {
        Ok(false) => Ok(()),
        Ok(true) => Err(CopyError::NotEmpty(T::NAME)),
        Err(error) => Err(CopyError::Target(error)),
    }
}

async fn send<T: Table>(
    source: &mut Conn,
    target: &mut Conn,
    progress: &mut impl Progress,
) -> Result<TableDigest, CopyError> {
    let mut count = Count::default();
    let mut last: Option<T> = None;
    loop {
        let rows = store::read(source, last.as_ref()).await.map_err(CopyError::Source)?;
        store::insert_all(target, &rows).await.map_err(CopyError::Target)?;
        count.add(&rows);
        progress(Step::Copying(T::NAME), rows.len() as u64);
        let full = rows.len() == PORTION;
        last = rows.into_iter().next_back().filter(|_| full);
        if last.is_none() {
            // A plan made for a table that was analyzed while empty would later scan all of it.
            if count.rows > 0 {
                store::measure::<T>(target).await.map_err(CopyError::Target)?;
            }
            return Ok(count.digest::<T>());
        }
    }
}

async fn digest<T: Table>(
    target: &mut Conn,
    progress: &mut impl Progress,
) -> Result<TableDigest, CopyError> {
    let mut count = Count::default();
    let mut last: Option<T> = None;
    loop {
        let rows = store::read(target, last.as_ref()).await.map_err(CopyError::Target)?;
        count.add(&rows);
        progress(Step::Verifying(T::NAME), rows.len() as u64);
        let full = rows.len() == PORTION;
        last = rows.into_iter().next_back().filter(|_| full);
        if last.is_none() {
            return Ok(count.digest::<T>());
        }
    }
}

/// A digest in progress.
#[derive(Default)]
struct Count {
    rows: u64,
    seats: i64,
    sum: [u64; 4],
}

impl Count {
    fn add<T: Table>(&mut self, rows: &[T]) {
        for row in rows {
            let mut encoded = Vec::new();
            row.encode_canonical(&mut encoded);
            let hash = Sha256::digest(&encoded);
            for (sum, part) in self.sum.iter_mut().zip(hash.chunks_exact(8)) {
                let part = part.iter().fold(0, |part, &byte| part << 8 | u64::from(byte));
                *sum = sum.wrapping_add(part);
            }
            self.seats += row.seats();
            self.rows += 1;
        }
    }

    fn digest<T: Table>(self) -> TableDigest {
        TableDigest { table: T::NAME, rows: self.rows, seats: self.seats, sum: self.sum }
    }
}
