//! All tables and columns of the schema are copied, so that no migration is forgotten.

use std::collections::BTreeSet;

use super::{Table, for_each_table};
use crate::db::{DatabaseUrl, Db};

/// The columns in SQLite, which has the same schema and a simple catalog. Generated columns are not
/// listed; the target computes them itself. The nodes of the source do not serve the target.
const COLUMNS: &str = "select m.name, c.name from sqlite_master m, pragma_table_info(m.name) c
     where m.type = 'table' and m.name not like 'sqlite_%' and m.name not like '_sqlx_%'
         and m.name <> 'nodes'";

#[tokio::test]
async fn no_table_and_no_column_stays_behind() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open(&DatabaseUrl::Sqlite(folder.path().join("licd.db"))).await.unwrap();
    let columns: Vec<(String, String)> =
        db.read().await.unwrap().query(COLUMNS).fetch_all().await.unwrap();
    let exist: BTreeSet<(&str, &str)> =
        columns.iter().map(|(table, column)| (table.as_str(), column.as_str())).collect();
    let mut copied = BTreeSet::new();
    for_each_table!(T => copied.extend(T::COLUMNS.iter().map(|&column: &&str| (T::NAME, column))));
    assert_eq!(copied, exist);
}
