//! GET /api/v1/admin/users with `search`: the start of the external id, of the email, or of the name.

use common::{Timestamp, UserId};
use licd::store::MANY_FOUND;
use reqwest::Method;
use serde_json::json;

use crate::harness::{Answer, App, Caller};
use crate::lists::pages;

const USERS: &str = "/api/v1/admin/users";

/// External id, email and name of each, in the order of their making.
const PEOPLE: [(&str, Option<&str>, Option<&str>); 15] = [
    ("ada", Some("Ada.Lovelace@example.com"), Some("Ada Lovelace")),
    ("ADA", Some("adam@example.com"), None),
    ("grace", None, Some("adalbert")),
    ("Grace", Some("GRACE@EXAMPLE.COM"), Some("Grace Hopper")),
    ("100%", Some("%"), Some("_")),
    ("100x", Some("x_y@b"), Some("a%b")),
    ("a_b", None, Some("it's")),
    ("axb", None, Some("its")),
    (r"back\slash", None, Some(r"C:\")),
    ("😀", Some("😀@😀"), Some("😁 smile")),
    ("😀😀", None, None),
    ("Élan", Some("élan@b"), Some("ÉLAN")),
    (" space", None, Some("two words")),
    ("\u{10ffff}end", Some("\u{10ffff}\u{10ffff}"), Some("\u{d7ff}")),
    ("\u{e000}", None, Some("\"quoted\"")),
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

/// The external ids of those whom a search must find.
fn wanted(search: &str) -> Vec<&'static str> {
    let begins = |text: Option<&str>| {
        text.is_some_and(|text| text.to_ascii_lowercase().starts_with(&search.to_ascii_lowercase()))
    };
    let matches = |id: &str, email, name| id.starts_with(search) || begins(email) || begins(name);
    let found = PEOPLE.into_iter().filter(|&(id, email, name)| matches(id, email, name));
    found.map(|(id, ..)| id).collect()
}

/// Every start of every text finds those who have it: external ids as they are written, emails and
/// names in either case of A to Z, and of no other letter.
#[tokio::test]
async fn users_are_found_by_the_start_of_what_names_them() {
    let app = App::start().await;
    settle(&app).await;
    for (id, email, name) in PEOPLE {
        for text in [Some(id), email, name].into_iter().flatten() {
            for (at, character) in text.char_indices().take(6) {
                let start = &text[..at + character.len_utf8()];
                for search in [start.to_owned(), start.to_lowercase(), start.to_uppercase()] {
                    let found = find(&app, &[("search", &search)]).await;
                    assert_eq!(found.each("externalId"), wanted(&search), "{search:?}");
                }
            }
        }
    }
}

/// The rows by which the test above is to be judged, in so many words.
#[tokio::test]
async fn a_search_is_a_start_and_no_pattern() {
    let app = App::start().await;
    settle(&app).await;
    let long = "a".repeat(300);
    for (search, found) in [
        ("ada", &["ada", "ADA", "grace"][..]),
        ("ADA", &["ada", "ADA", "grace"]),
        ("ADA ", &["ada"]),
        ("ada.love", &["ada"]),
        ("grac", &["grace", "Grace"]),
        ("GRAC", &["Grace"]),
        ("hopper", &[]),
        ("ce", &[]),
        ("%", &["100%"]),
        ("_", &["100%"]),
        ("a_", &["a_b"]),
        ("100%", &["100%"]),
        ("a%", &["100x"]),
        ("it'", &["a_b"]),
        ("'", &[]),
        ("' or 1=1 --", &[]),
        ("c:\\", &[r"back\slash"]),
        ("back\\", &[r"back\slash"]),
        ("\\", &[]),
        ("\"", &["\u{e000}"]),
        ("😀", &["😀", "😀😀"]),
        ("😁", &["😀"]),
        ("É", &["Élan"]),
        ("é", &["Élan"]),
        ("éL", &["Élan"]),
        ("Él", &["Élan"]),
        ("ÉL", &["Élan"]),
        ("él", &["Élan"]),
        ("éLA", &["Élan"]),
        (" ", &[" space"]),
        ("\u{10ffff}", &["\u{10ffff}end"]),
        ("\u{10ffff}\u{10ffff}", &["\u{10ffff}end"]),
        ("\u{10ffff}\u{10ffff}\u{10ffff}", &[]),
        ("\u{d7ff}", &["\u{10ffff}end"]),
        ("\0", &[]),
        ("ada\0", &[]),
        (&long, &[]),
    ] {
        let answer = find(&app, &[("search", search)]).await;
        assert_eq!(answer.each("externalId"), found, "{search:?}");
    }
}

/// Every text begins with the empty one.
#[tokio::test]
async fn an_empty_search_finds_everyone() {
    let app = App::start().await;
    settle(&app).await;
    let all = app.get(USERS).await;
    assert_eq!(all.list().len(), PEOPLE.len());
    assert_eq!(find(&app, &[("search", "")]).await.list(), all.list());
    let one = find(&app, &[("search", ""), ("externalId", "grace")]).await;
    assert_eq!(one.each("externalId"), ["grace"]);
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

/// Beside an external id, `search` narrows down.
#[tokio::test]
async fn a_search_and_an_external_id_must_both_match() {
    let app = App::start().await;
    settle(&app).await;
    for (id, search, matches) in [
        ("ada", "ad", true),
        ("ada", "ADA L", true),
        ("ada", "ada.L", true),
        ("ada", "ADA.", true),
        ("ada", "grace", false),
        ("grace", "ADAL", true),
        ("grace", "GRACE", false),
        ("ADA", "ad", true),
        ("Élan", "É", true),
        ("Élan", "éLAN@", true),
        ("Élan", "éLAn@c", false),
        ("😀", "\u{1f601} S", true),
        ("nobody", "ad", false),
        ("", "ad", false),
        ("ada", "ada\0", false),
    ] {
        let query = [("externalId", id), ("search", search)];
        let found = find(&app, &query).await;
        assert_eq!(found.each("externalId"), [id][..matches as usize], "{query:?}");
        let wanted = wanted(search).contains(&id);
        assert_eq!(matches, wanted, "{query:?}: as the search alone finds them");
        if let Some(user) = found.list().first() {
            let after = [&query[..], &[("after", user["id"].as_str().unwrap())]].concat();
            assert!(find(&app, &after).await.list().is_empty(), "{query:?}");
        }
    }
    let twice = app.get(&format!("{USERS}?search=a&search=b")).await;
    assert_eq!(twice.refusal(), "400 invalid_request search");
}

/// What a user is named now, and nobody who was deleted.
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
    app.delete(&path).await.data();
    assert_eq!(found("u").await, 0);
}
