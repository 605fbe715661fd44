//! Lists: whole or page by page, oldest first, for every kind of record.

mod filtered;
mod long;
mod slow;

use serde_json::{Value, json};

use crate::harness::App;

const LISTS: [&str; 5] = ["products", "plans", "licenses", "users", "keys"];

/// Seven records of every kind.
async fn fill(app: &App) {
    let product = app.product("Studio").await;
    let plan = app.plan_of(&product, json!({})).await;
    for n in 0..6 {
        app.product("Studio").await;
        app.plan_of(&product, json!({})).await;
        app.validate(&format!("user-{n}")).await;
        app.license_of(&plan).await;
        app.reader().await;
    }
    app.license_of(&plan).await;
    app.validate("user-6").await;
}

/// Follows `nextCursor` to the end.
pub async fn pages(app: &App, path: &str, limit: usize) -> Vec<Vec<Value>> {
    let (mut pages, mut after) = (Vec::new(), String::new());
    loop {
        let separator = if path.contains('?') { '&' } else { '?' };
        let page = app.get(&format!("{path}{separator}limit={limit}{after}")).await;
        pages.push(page.list().to_vec());
        match page.body["nextCursor"].as_str() {
            Some(cursor) => after = format!("&after={cursor}"),
            None => return pages,
        }
    }
}

/// Key records apart from `lastUsedAt`, which asking moves.
fn steady(records: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let unused = |mut record: Value| {
        record.as_object_mut().unwrap().remove("lastUsedAt");
        record
    };
    records.into_iter().map(unused).collect()
}

/// Without `limit` all, in the order of creation; with it pages, which together are the same.
#[tokio::test]
async fn pages_together_are_the_whole_list() {
    let app = App::start().await;
    fill(&app).await;
    for list in LISTS {
        let path = format!("/api/v1/admin/{list}");
        let whole = app.get(&path).await;
        assert_eq!(whole.list().len(), 7, "{list}");
        assert_eq!(whole.body["nextCursor"], json!(null));
        assert!(whole.each("createdAt").is_sorted(), "{list}");
        assert!(whole.each("id").is_sorted(), "{list}");
        let whole = steady(whole.list().to_vec());
        for (limit, sizes) in
            [(1, vec![1; 7]), (3, vec![3, 3, 1]), (6, vec![6, 1]), (7, vec![7]), (1000, vec![7])]
        {
            let pages = pages(&app, &path, limit).await;
            let found: Vec<usize> = pages.iter().map(Vec::len).collect();
            assert_eq!(found, sizes, "{list} by {limit}");
            assert_eq!(steady(pages.into_iter().flatten()), whole, "{list} by {limit}");
        }
    }
}

/// A cursor continues where the page ended, also without a limit, and after records were added.
#[tokio::test]
async fn a_cursor_goes_on_where_the_page_ended() {
    let app = App::start().await;
    fill(&app).await;
    for list in LISTS {
        let path = format!("/api/v1/admin/{list}");
        let whole = app.get(&path).await;
        let first = app.get(&format!("{path}?limit=2")).await;
        let cursor = first.body["nextCursor"].as_str().unwrap();
        let rest = app.get(&format!("{path}?after={cursor}")).await;
        assert_eq!(rest.each("id"), whole.each("id")[2..], "{list}");
    }
    let first = app.get("/api/v1/admin/users?limit=5").await;
    app.validate("late").await;
    let cursor = first.body["nextCursor"].as_str().unwrap();
    let rest = app.get(&format!("/api/v1/admin/users?limit=5&after={cursor}")).await;
    assert_eq!(rest.each("externalId"), ["user-5", "user-6", "late"]);
}

/// Filters and pages combine.
#[tokio::test]
async fn filtered_lists_come_in_pages_too() {
    let app = App::start().await;
    fill(&app).await;
    let product = app.product("Other").await;
    let plan = app.plan_of(&product, json!({})).await;
    for _ in 0..2 {
        app.plan_of(&product, json!({})).await;
        app.license_of(&plan).await;
    }
    for (path, total) in [
        (format!("/api/v1/admin/plans?productId={product}"), 3),
        (format!("/api/v1/admin/licenses?planId={plan}"), 2),
        ("/api/v1/admin/users?externalId=user-3".into(), 1),
    ] {
        let whole = app.get(&path).await;
        assert_eq!(whole.list().len(), total, "{path}");
        let pages = pages(&app, &path, 1).await;
        assert!(pages.iter().all(|page| page.len() == 1), "{path}");
        assert_eq!(pages.concat(), whole.list(), "{path}");
        let last = whole.each("id").pop().unwrap();
        let beyond = app.get(&format!("{path}&after={last}")).await;
        assert!(beyond.list().is_empty(), "{path}");
    }
}
