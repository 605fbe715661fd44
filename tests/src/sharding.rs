//! `licd distribute`, as far as a PostgreSQL without the extension shows it. The statements of a
//! sharded database are tested by `LICD_TEST_SHARDED=1`, which has the other tests run them.

use crate::harness::TestDatabase;
use crate::host::refused;

#[tokio::test]
async fn a_database_that_cannot_be_distributed_is_left_as_it_is() {
    let database = TestDatabase::ready().await;
    let settings = [("LICD_DATABASE_URL", &*database.url)];
    let told = refused(&settings, &["distribute"], &database.url);
    let reason = match database.is_postgres() {
        true => "the extension Citus is missing",
        false => "only PostgreSQL can be distributed",
    };
    assert!(told.contains(reason), "{told}");
    let told = refused(&settings, &["distribute", "--shards", "0"], &database.url);
    assert!(told.contains("0 is not in 1..=1024"), "{told}");
    database.open().await.close().await;
}
