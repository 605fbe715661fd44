//! Properties of all pages of the dashboard, over HTTP: access, forms, headers and sizes.
//! `dashboard` opens them in a browser.

mod acts;
mod forms;
mod licensing;
mod lookups;
mod questions;
mod terms;

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use common::{Mode, Role};
use reqwest::Method;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, LOCATION};
use serde_json::json;

use crate::harness::{App, Visitor};

/// A visitor with a live admin key.
pub async fn admin(app: &App) -> Visitor {
    Visitor::with_key(app, &app.new_key("default", Role::Admin, Mode::Live).await).await
}

/// A record of each kind, by the part of an address that stands for it.
struct Records(Vec<(&'static str, String)>);

impl Records {
    async fn create(app: &App) -> Self {
        let product = app.product("Studio").await;
        let plan = app.plan_of(&product, json!({ "maxSeats": 1 })).await;
        let license = app.license_of(&plan).await;
        app.assign(&license, "ada").await.data();
        app.validate("ada").await.data();
        let user = app.user("ada").await["id"].as_str().unwrap().to_owned();
        let key =
            app.post("/api/v1/admin/keys", json!({ "name": "ci", "role": "read" })).await.id();
        Self(vec![
            ("PRODUCT", product),
            ("PLAN", plan),
            ("LICENSE", license),
            ("USER", user),
            ("KEY", key),
        ])
    }

    /// The address of a page or form.
    fn path(&self, pattern: &str) -> String {
        self.fill_in(&format!("/dashboard/live{pattern}"))
    }

    /// A text with the ids of the records that it names.
    fn fill_in(&self, pattern: &str) -> String {
        self.0.iter().fold(pattern.to_owned(), |text, (kind, id)| text.replace(kind, id))
    }
}

/// Every page.
const PAGES: [&str; 13] = [
    "",
    "/licenses",
    "/licenses/new",
    "/licenses/LICENSE",
    "/users",
    "/users/USER",
    "/products",
    "/products/PRODUCT",
    "/plans/PLAN",
    "/keys",
    "/keys/KEY",
    "/refusals",
    "/events",
];

/// Every form, with fields that it takes.
const FORMS: [(&str, &[(&str, &str)]); 21] = [
    ("/licenses", &[("planId", "PLAN")]),
    ("/licenses/LICENSE/terms", &[("name", "Acme")]),
    ("/licenses/LICENSE/status", &[("status", "suspended")]),
    ("/licenses/LICENSE/terms", &[("maxSeats", "7")]),
    ("/licenses/LICENSE/terms", &[("expiresAt", "2090-01-31")]),
    ("/licenses/LICENSE/terms", &[("features", "sso")]),
    ("/licenses/LICENSE/assign", &[("userId", "grace")]),
    ("/licenses/LICENSE/unassign", &[("userId", "ada")]),
    ("/users", &[("externalId", "grace")]),
    ("/users/USER", &[("name", "Ada")]),
    ("/users/USER/assign", &[("licenseId", "LICENSE")]),
    ("/users/USER/licenses", &[("planId", "PLAN")]),
    ("/users/USER/delete", &[]),
    ("/products", &[("name", "Render")]),
    ("/products/PRODUCT", &[("name", "Render")]),
    ("/products/PRODUCT/plans", &[("name", "Farm")]),
    ("/plans/PLAN", &[("name", "Farm")]),
    ("/keys", &[("name", "new"), ("role", "admin"), ("expires", "never")]),
    ("/keys/KEY/roll", &[("overlap", "0")]),
    ("/keys/KEY/revoke", &[]),
    ("/sessions/ses_01h455vb4pex5vsknk084sn02q/end", &[]),
];

/// Returns the number of events: every change is one.
async fn changes(app: &App) -> i64 {
    app.number("select cast(sum(last) as bigint) from event_counters").await
}

/// A read key looks at everything and changes nothing; a stranger does neither.
#[tokio::test]
async fn who_may_look_may_not_act() {
    let app = App::start().await;
    let records = Records::create(&app).await;
    let stranger = Visitor::stranger(&app);
    let reader =
        Visitor::with_key(&app, &app.new_key("default", Role::Read, Mode::Live).await).await;
    let before = changes(&app).await;
    for page in PAGES {
        let path = records.path(page);
        assert_eq!(stranger.status(&path).await, 303, "{path}");
        // The form for a new license is nothing to look at.
        let seen = if page == "/licenses/new" { 403 } else { 200 };
        assert_eq!(reader.status(&path).await, seen, "{path}");
    }
    for (form, fields) in FORMS {
        let path = records.path(form);
        assert_eq!(stranger.post(&path, fields).await.status(), 303, "{path}");
        assert_eq!(reader.post(&path, fields).await.status(), 403, "{path}");
    }
    assert_eq!(changes(&app).await, before);
}

/// Records of another tenant, or of the other mode, are not there.
#[tokio::test]
async fn other_worlds_are_out_of_reach() {
    let app = App::start().await;
    let records = Records::create(&app).await;
    let stranger = app.other_tenant().await.key.unwrap();
    let tester = app.new_key("default", Role::Admin, Mode::Test).await;
    for (key, mode) in [(stranger, "live"), (tester, "test")] {
        let visitor = Visitor::with_key(&app, &key).await;
        let before = changes(&app).await;
        let in_mode = |path: String| path.replace("/live", &format!("/{mode}"));
        for page in PAGES.iter().filter(|page| page.contains(char::is_uppercase)) {
            let path = in_mode(records.path(page));
            assert_eq!(visitor.status(&path).await, 404, "{path}");
        }
        for (form, fields) in FORMS.iter().filter(|(form, _)| form.contains(char::is_uppercase)) {
            let path = in_mode(records.path(form));
            let fields: Vec<(&str, String)> =
                fields.iter().map(|(name, value)| (*name, records.fill_in(value))).collect();
            let fields: Vec<(&str, &str)> =
                fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let status = visitor.post(&path, &fields).await.status();
            assert!(status == 404 || status == 400, "{path}: {status}");
        }
        assert_eq!(changes(&app).await, before, "{mode}");
    }
}

/// No page is kept by the browser, framed, or runs what a user wrote. Its files are kept for good.
#[tokio::test]
async fn pages_are_kept_to_themselves_and_their_files_for_good() {
    let app = App::start().await;
    let records = Records::create(&app).await;
    let admin = admin(&app).await;
    let mut page = String::new();
    for pattern in PAGES.into_iter().chain(["/nowhere"]) {
        let answer = admin.get(&records.path(pattern)).await;
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        assert_eq!(header("cache-control"), "no-store", "{pattern}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{pattern}");
        assert_eq!(header("content-type"), "text/html; charset=utf-8", "{pattern}");
        let policy = header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; "), "{pattern}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
        page = answer.text().await.unwrap();
        assert!(!page.contains(" style=") && !page.contains(" onclick="), "{pattern}");
    }
    let files: Vec<&str> = page.split('"').filter(|it| it.contains("/assets/")).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let answer = Visitor::stranger(&app).get(file).await;
        assert_eq!(answer.status(), 200, "{file}");
        assert_eq!(answer.headers()["cache-control"], "public, max-age=31536000, immutable");
    }
}

/// A person who types the server's name comes to the dashboard; a program gets the usual refusal.
#[tokio::test]
async fn the_front_door_leads_people_to_the_dashboard() {
    let app = App::start().await;
    let stranger = Visitor::stranger(&app);
    let person = stranger.request(Method::GET, "/").header(ACCEPT, "text/html,*/*;q=0.8");
    let answer = person.send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()[LOCATION]),
        (303, &"/dashboard".parse().unwrap())
    );
    let program = stranger.get("/").await;
    assert_eq!(program.status(), 404);
    assert_eq!(program.headers()["content-type"], "application/json");
    let admin = admin(&app).await;
    assert_eq!(admin.status("/dashboard/").await, 303);
    assert_eq!(admin.status("/dashboard/live/").await, 200);
    assert_eq!(admin.status("/dashboard/nowhere").await, 404);
    assert_eq!(admin.status("/dashboard/live/keys/nowhere").await, 404);
    assert_eq!(admin.status("/dashboard/live/licenses/lic_nonsense").await, 404);
}

/// At most 60 KB come with the first page, and 15 with each that follows.
#[tokio::test]
async fn pages_are_small() {
    let app = App::start().await;
    let records = Records::create(&app).await;
    let license = app.license(json!({})).await;
    for number in 0..60 {
        app.license(json!({})).await;
        app.assign(&license, &format!("user-{number:08}")).await.data();
        app.validate(&format!("user-{number:08}")).await.data();
    }
    let admin = admin(&app).await;
    let size = async |path: &str| {
        let request = admin.request(Method::GET, path).header(ACCEPT_ENCODING, "gzip");
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        answer.bytes().await.unwrap()
    };
    for page in PAGES.into_iter().chain(["/licenses?product=", "/users?q=user-"]) {
        let bytes = size(&records.path(page)).await.len();
        assert!(bytes < 15_000, "{page}: {bytes} bytes");
    }
    let overview = size("/dashboard/live").await;
    let html = unpack(&overview);
    let files = html.split('"').filter(|it| it.contains("/assets/"));
    let mut first = size("/dashboard/sign-in").await.len() + overview.len();
    for file in files {
        first += size(file).await.len();
    }
    assert!(first < 60_000, "{first} bytes");
}

fn unpack(packed: &[u8]) -> String {
    let mut gzip = Command::new("gzip")
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, packed) = (gzip.stdin.take().unwrap(), packed.to_vec());
    let writing = std::thread::spawn(move || input.write_all(&packed).unwrap());
    let mut text = String::new();
    gzip.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    writing.join().unwrap();
    assert!(gzip.wait().unwrap().success());
    text
}

/// As in the API: what is not UTF-8 is not stored as something else, and nothing is given twice.
#[tokio::test]
async fn forms_are_read_strictly() {
    let app = App::start().await;
    let visitor = admin(&app).await;
    for body in ["name=%ff", "name=Studio&%ff=x", "name=a&name=b", "name=a&once=x&once=y"] {
        let form = visitor.form("/dashboard/live/products", &[]).body(body);
        assert_eq!(form.send().await.unwrap().status(), 400, "{body}");
    }
    assert_eq!(app.number("select count(*) from products").await, 0);
    let form = visitor.form("/dashboard/live/products", &[]).body("name=%c3%84+b&once=x&other=1");
    assert_eq!(form.send().await.unwrap().status(), 303);
}
