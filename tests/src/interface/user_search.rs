//! GET /api/v1/admin/users with `search`: any word of the external id, of the email, or of the name.

use common::{Timestamp, UserId};
use licd::store::{MANY_FOUND, phrases};
use reqwest::Method;
use serde_json::json;

use crate::harness::{Answer, App, Caller};
use crate::lists::pages;

const USERS: &str = "/api/v1/admin/users";

/// External id, email and name of each, in the order of their making.
const PEOPLE: [(&str, Option<&str>, Option<&str>); 12] = [
    ("ada", Some("Ada.Lovelace@example.com"), Some("Ada Lovelace")),
    ("u-10005", None, Some("Sven Larsen")),
    ("sven", Some("s.larsen@acmestudio.com"), None),
    ("auth0|7f3c", None, Some("Zoë Österlund")),
    ("kim@acmestudio.com", None, None),
    ("山田", None, Some("山田 太郎")),
    ("100%", Some("%"), Some("SØREN")),
    ("😀", None, Some("O'Brien & Co")),
    (" space", None, Some("Larsen-Berg")),
    ("adam/laptop", None, None),
    ("ada/laptop", None, None),
    ("Straße", None, Some("İpek E\u{301}lan")),
];

async fn settle(app: &App) {
    for (id, email, name) in PEOPLE {
        let body = json!({ "externalId": id, "email": email, "name": name });
        assert_eq!(app.post(USERS, body).await.status, 201, "{id}");
    }
}

async fn find(caller: &Caller, query: &[(&str, &str)]) -> Answer {
    caller.send(Method::GET, USERS, |request| request.query(query)).await
}

/// Searches with what people know about others: a name, a part of an address, some of an id, in
/// their own spelling.
#[tokio::test]
async fn users_are_found_by_any_word() {
    let app = App::start().await;
    settle(&app).await;
    let long = "a".repeat(300);
    for (search, found) in [
        // Words of names, from their start on, single and one after the other.
        ("larsen", &["u-10005", "sven", " space"][..]),
        ("LARS", &["u-10005", "sven", " space"]),
        ("sven larsen", &["u-10005", "sven"]),
        ("arsen", &[]),
        ("larsen sven", &["u-10005", "sven"]),
        ("berg larsen", &[" space"]),
        ("lovelace ada example", &["ada"]),
        ("berg", &[" space"]),
        ("o'brien", &["😀"]),
        ("brien & co", &["😀"]),
        ("obrien", &["😀"]),
        // With or without accents, in any case and any form.
        ("zoe", &["auth0|7f3c"]),
        ("ZOË ÖST", &["auth0|7f3c"]),
        ("zoe\u{308}", &["auth0|7f3c"]),
        ("osterlund", &["auth0|7f3c"]),
        ("sØreN", &["100%"]),
        ("soren", &["100%"]),
        ("strasse", &["Straße"]),
        ("ipek elan", &["Straße"]),
        ("ÉLAN", &["Straße"]),
        ("山", &["山田"]),
        ("太郎", &["山田"]),
        ("田", &["山田"]),
        // Addresses by the mailbox and by the domain, wherever they stand.
        ("ada.love", &["ada"]),
        ("lovelace@", &["ada"]),
        ("@acmestudio.com", &["sven", "kim@acmestudio.com"]),
        ("acmestudio", &["sven", "kim@acmestudio.com"]),
        ("com", &[]),
        ("kim@acmestudio.com", &["kim@acmestudio.com"]),
        // Parts of ids.
        ("10005", &["u-10005"]),
        ("U-100", &["u-10005"]),
        ("7F3C", &["auth0|7f3c"]),
        ("laptop", &["adam/laptop", "ada/laptop"]),
        // What ends with a sign or a blank ends with a whole word.
        ("ada", &["ada", "adam/laptop", "ada/laptop"]),
        ("ada/", &["ada", "ada/laptop"]),
        ("Ada ", &["ada", "ada/laptop"]),
        ("100%", &["100%"]),
        ("10", &["u-10005", "100%"]),
        // What has no word is searched for as it is, and nothing is a pattern.
        ("😀", &["😀"]),
        ("%", &["100%"]),
        ("_", &[]),
        ("' or 1=1 --", &[]),
        ("\0", &[]),
        ("ada\0", &[]),
        (&long, &[]),
    ] {
        let answer = find(&app, &[("search", search)]).await;
        assert_eq!(answer.each("externalId"), found, "{search:?}");
        // The same words in addition to an external id.
        for (id, ..) in PEOPLE {
            let both = find(&app, &[("search", search), ("externalId", id)]).await;
            assert_eq!(both.list().len(), usize::from(found.contains(&id)), "{search:?} {id}");
        }
    }
    let foreign = app.other_tenant().await;
    assert!(find(&foreign, &[("search", "ada")]).await.list().is_empty());
}

/// Every text begins with the empty one.
#[tokio::test]
async fn an_empty_search_finds_everyone() {
    let app = App::start().await;
    settle(&app).await;
    let all = app.get(USERS).await;
    assert_eq!(all.list().len(), PEOPLE.len());
    assert_eq!(find(&app, &[("search", "")]).await.list(), all.list());
    let one = find(&app, &[("search", ""), ("externalId", "sven")]).await;
    assert_eq!(one.each("externalId"), ["sven"]);
    assert_eq!(pages(&app, &format!("{USERS}?search="), 4).await.concat(), all.list());
}

/// A user whose texts all match stands in the list once, and pages hold what the whole list does.
#[tokio::test]
async fn a_search_comes_in_pages() {
    let app = App::start().await;
    for n in 0..7 {
        let name = format!("ada {n}");
        let body = json!({ "externalId": format!("ada-{n}"), "email": name, "name": name });
        app.post(USERS, body).await.data();
        app.validate(&format!("other-{n}")).await;
    }
    let whole = find(&app, &[("search", "ada")]).await;
    assert_eq!(whole.list().len(), 7);
    assert!(whole.each("id").is_sorted());
    for (limit, sizes) in [(1, vec![1; 7]), (3, vec![3, 3, 1]), (7, vec![7]), (1000, vec![7])] {
        let pages = pages(&app, &format!("{USERS}?search=ada"), limit).await;
        assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), sizes, "by {limit}");
        assert_eq!(pages.concat(), whole.list(), "by {limit}");
    }
    let third = whole.each("id")[2];
    let rest = find(&app, &[("search", "ADA "), ("after", third)]).await;
    assert_eq!(rest.list(), &whole.list()[3..], "a cursor of one search goes on in another");
}

/// A search that finds thousands reads its pages in another way, and finds the same in that order.
#[tokio::test]
async fn a_search_that_finds_many_is_as_one_that_finds_few() {
    let app = App::start().await;
    app.post(USERS, json!({ "externalId": "first", "email": "CUSTOMER@b" })).await.data();
    let insert = "insert into users (id, world, external_id, name, created_at, updated_at)
         values ($1, 1, $2, $3, $4, $4)";
    let mut tx = app.db().begin().await.unwrap();
    for n in 0..=MANY_FOUND {
        let (id, now) = (UserId::new(Timestamp::now()), Timestamp::now());
        let (external_id, name) = match n % 2 {
            0 => (format!("customer-{n}"), format!("Customer {n}")),
            _ => (format!("other-{n}"), format!("cusTOMER {n}")),
        };
        let query = tx.query(insert).bind(id).bind(external_id.as_str()).bind(name.as_str());
        query.bind(now).execute().await.unwrap();
        let all = [format!("customer {n}"), n.to_string()].into();
        phrases::add_to_users(&mut tx, std::iter::once((1.into(), id, all))).await.unwrap();
    }
    tx.commit().await.unwrap();
    app.post(USERS, json!({ "externalId": "last", "name": "cust" })).await.data();
    let many = find(&app, &[("search", "customer")]).await;
    assert_eq!(many.list().len() as i64, MANY_FOUND + 2);
    assert!(many.each("id").is_sorted());
    assert_eq!(many.each("externalId")[..3], ["first", "customer-0", "other-1"]);
    let page = find(&app, &[("search", "customer"), ("limit", "7")]).await;
    assert_eq!(page.list(), &many.list()[..7]);
    let few = find(&app, &[("search", "customer-1")]).await;
    assert!(few.list().len() > 500 && few.list().iter().all(|user| many.list().contains(user)));
}

/// One text, not several.
#[tokio::test]
async fn a_search_is_given_once() {
    let app = App::start().await;
    let twice = app.get(&format!("{USERS}?search=a&search=b")).await;
    assert_eq!(twice.refusal(), "400 invalid_request search");
}

/// The search finds current names of users, and no deleted ones.
#[tokio::test]
async fn a_search_finds_users_as_they_are() {
    let app = App::start().await;
    let made = app.post(USERS, json!({ "externalId": "u1", "email": "old@b" })).await.id();
    let found = async |search: &str| find(&app, &[("search", search)]).await.list().len();
    assert_eq!(found("old").await, 1);
    let path = format!("{USERS}/{made}");
    app.patch(&path, json!({ "email": "new@b", "name": "Newton" })).await.data();
    assert_eq!((found("old").await, found("NEW").await), (0, 1));
    app.patch(&path, json!({ "clear": ["email", "name"] })).await.data();
    assert_eq!((found("new").await, found("u").await), (0, 1));
    app.patch(&path, json!({ "externalId": "U2" })).await.data();
    assert_eq!((found("u1").await, found("u2").await), (0, 1));
    app.delete(&path).await.data();
    assert_eq!(found("u").await, 0);
}

/// Whom a person may mean who typed something else: in other letters, by an email, with a typo.
#[tokio::test]
async fn users_similar_to_a_text_are_found() {
    let app = App::start().await;
    settle(&app).await;
    for (text, found) in [
        ("ADA", &["ada"][..]),
        ("'ada'", &["ada"]),
        ("ada.lovelace@example.com", &["ada"]),
        ("ada.lovelace@example.con", &["ada"]),
        ("ada@example.org", &["ada"]),
        ("zoe osterlund", &["auth0|7f3c"]),
        ("space", &[" space"]),
        ("kim@acmestudio.con", &["kim@acmestudio.com"]),
        ("kim", &["kim@acmestudio.com"]),
        ("u-10006", &[]),
        ("nobody", &[]),
        ("", &[]),
        ("\0", &[]),
    ] {
        let similar = find(&app, &[("similarTo", text)]).await;
        assert_eq!(similar.each("externalId"), found, "{text}");
        assert_eq!(similar.body["nextCursor"], json!(null), "{text}");
    }
    // Who has this very id is not similar to it; others may be.
    assert_eq!(
        find(&app, &[("similarTo", "ada")]).await.each("externalId"),
        ["ada/laptop", "adam/laptop"]
    );
    let one = find(&app, &[("similarTo", "ADA"), ("search", "lovelace")]).await;
    assert_eq!(one.each("externalId"), ["ada"]);
    assert_eq!(find(&app, &[("similarTo", "ADA"), ("search", "kim")]).await.list().len(), 0);
}

/// The values of metadata are found, of users and of licenses, until they change.
#[tokio::test]
async fn values_of_metadata_are_found() {
    let app = App::start().await;
    let user = json!({ "externalId": "ada", "metadata": { "crm": "CRM-4711", "tags": ["Öko"] } });
    let user = app.post(USERS, user).await.id();
    let plan = app.plan(json!({})).await;
    let license = json!({ "planId": plan, "metadata": { "order": { "number": 815 } } });
    let license = app.post("/api/v1/admin/licenses", license).await.id();
    let found = async |list: &str, search: &str| {
        let path = format!("/api/v1/admin/{list}?search={search}");
        app.get(&path).await.list().len()
    };
    let after = async |users: [usize; 2], licenses: usize| {
        assert_eq!([found("users", "crm-47").await, found("users", "oko%20ada").await], users);
        assert_eq!(found("licenses", "815").await, licenses);
    };
    after([1, 1], 1).await;
    app.patch(&format!("{USERS}/{user}"), json!({ "metadata": { "tags": "oko" } })).await.data();
    let path = format!("/api/v1/admin/licenses/{license}");
    app.patch(&path, json!({ "clear": ["metadata"] })).await.data();
    after([0, 1], 0).await;
}
