//! Every secret that passes through licd, in every way, with the most talkative log: none is found
//! anywhere but in the answers that show it.

use std::fs::File;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use common::{ApiKey, KeyText, Mode};
use reqwest::redirect;
use serde_json::json;
use sqlx::{Connection, PgConnection};
use tempfile::TempDir;

use crate::harness::{Answer, Caller, SECRET_KEY, TestDatabase, client};
use crate::nodes::process::{Process, licd, licd_with};

const TRACE: (&str, &str) = ("LICD_LOG", "trace,sqlx=trace,hyper=trace");
const PASSWORD: &str = "CANARYpasswordCANARY";

/// Secrets, as text and as octets.
#[derive(Default)]
struct Canaries(Vec<Vec<u8>>);

impl Canaries {
    fn add(&mut self, secret: &str) -> String {
        self.0.push(secret.into());
        secret.to_owned()
    }

    /// A secret that signs webhooks, whose octets are another.
    fn add_signing(&mut self, secret: &str) -> String {
        self.0.push(STANDARD.decode(secret.trim_start_matches("whsec_")).unwrap());
        self.add(secret)
    }

    /// Checks that the secret part of a key is not in the content, not even its beginning.
    fn absent_from(&self, place: &str, content: &[u8]) {
        for secret in &self.0 {
            let part = &secret[12..20];
            let found = content.windows(part.len()).position(|window| window == part);
            let shown = found.map(|at| {
                let context = &content[at.saturating_sub(300)..(at + 40).min(content.len())];
                String::from_utf8_lossy(context).into_owned()
            });
            assert_eq!(shown, None, "a secret is in {place}");
        }
    }
}

/// A key whose checksum is that of another, as one mistyped letter makes it.
fn mistyped(key: &str) -> String {
    let other = if key.as_bytes()[20] == b'x' { "y" } else { "x" };
    format!("{}{other}{}", &key[..20], &key[21..])
}

/// Creates, uses, rolls, mistypes and revokes keys over the API.
async fn use_the_api(admin: &Caller, canaries: &mut Canaries) {
    let body = json!({ "name": "canary", "role": "admin" });
    let once = |request: reqwest::RequestBuilder| request.header("idempotency-key", "once");
    let create = |request: reqwest::RequestBuilder| once(request).json(&body);
    let made = admin.send(reqwest::Method::POST, "/api/v1/admin/keys", create).await;
    let key = canaries.add(made["key"].as_str().unwrap());
    let rolled = admin.post(&format!("/api/v1/admin/keys/{}/roll", made.id()), json!({})).await;
    let successor = canaries.add(rolled["key"].as_str().unwrap());
    let unknown = canaries.add(ApiKey::generate(Mode::Test).expose());
    for (key, status) in
        [(&key, 200), (&successor, 200), (&canaries.add(&mistyped(&key)), 401), (&unknown, 401)]
    {
        let caller = admin.with_key(key);
        assert_eq!(caller.get("/api/v1/key").await.status, status);
        caller.validate("ada").await;
        // In wrong places.
        caller.get(&format!("/api/v1/admin/keys/{key}")).await;
        caller.get(&format!("/api/v1/admin/products?after={key}")).await;
        caller.post("/api/v1/admin/products", json!({ "name": "x", key: key })).await;
        let basic = |request: reqwest::RequestBuilder| request.basic_auth(key, Some(key));
        caller.without_key().send(reqwest::Method::GET, "/api/v1/key", basic).await;
    }
    let revoke = format!("/api/v1/admin/keys/{}/revoke", rolled.id());
    admin.post(&revoke, json!({})).await.data();
    assert_eq!(admin.with_key(&successor).get("/api/v1/key").await.status, 401);
}

/// Makes, claims with, finds and reissues license keys.
async fn use_license_keys(admin: &Caller, canaries: &mut Canaries) {
    let license = admin.license(json!({})).await;
    let path = format!("/api/v1/admin/licenses/{license}/keys");
    let made = admin.post(&path, json!({})).await;
    let reissue = format!("/api/v1/admin/license-keys/{}/reissue", made.id());
    let reissued = admin.post(&reissue, json!({})).await;
    let brought = json!({ "key": "CANARYBROUGHTKEYCANARY" });
    let brought = admin.post(&path, brought).await;
    let unknown = KeyText::generate().expose().to_owned();
    let of = |answer: &Answer| answer["key"].as_str().unwrap().to_owned();
    for key in [of(&made), of(&reissued), of(&brought), unknown] {
        canaries.add(&key);
        canaries.add(&key.replace('-', ""));
        admin.post("/api/v1/claim", json!({ "userId": "ada", "key": key })).await;
        admin.post("/api/v1/claim", json!({ "userId": key, "key": 1 })).await;
        admin.post("/api/v1/admin/license-keys/find", json!({ "key": key })).await;
        admin.get(&format!("/api/v1/admin/license-keys?search={key}")).await;
    }
    let claimed = admin.get("/api/v1/admin/events?type=license_key.claimed").await;
    assert_eq!(claimed.list().len(), 1);
}

/// Makes, brings and rolls secrets of webhooks, makes signing keys, and has one sign a lease.
async fn use_what_signs(admin: &Caller, canaries: &mut Canaries) {
    const WEBHOOKS: &str = "/api/v1/admin/webhooks";
    let brought = canaries.add_signing("whsec_Q0FOQVJZYnJvdWdodFNFQ1JFVENBTkFSWQ==");
    let webhook = |secret| json!({ "url": "http://127.0.0.1:9/", "secret": secret });
    admin.post(WEBHOOKS, webhook(Some(brought))).await.data();
    let made = admin.post(WEBHOOKS, webhook(None)).await;
    let rolled = admin.post(&format!("{WEBHOOKS}/{}/roll", made.id()), json!({})).await;
    for answer in [&made, &rolled] {
        canaries.add_signing(answer["secret"].as_str().unwrap());
    }
    admin.post(&format!("{WEBHOOKS}/{}/test", made.id()), json!(null)).await.data();
    admin.post("/api/v1/admin/signing-keys", json!(null)).await.data();
    let license = admin.license(json!({ "maxLeaseSeconds": 600 })).await;
    admin.assign(&license, "ada").await.data();
    let product = admin.get_license(&license).await["productId"].clone();
    let wish = json!({ "userId": "ada", "productId": product });
    let answer = admin.post("/api/v1/lease", wish).await;
    canaries.add(answer["lease"]["token"].as_str().unwrap().rsplit('.').next().unwrap());
    canaries.add(std::fs::read_to_string(SECRET_KEY.path()).unwrap().trim());
}

/// Signs in with keys, right, wrong and mistyped ones, and creates one in the dashboard.
async fn use_the_dashboard(licd: &Process, key: &str, canaries: &mut Canaries) {
    let client = client().redirect(redirect::Policy::none()).build().unwrap();
    let wrong = canaries.add(ApiKey::generate(Mode::Live).expose());
    let mistyped = canaries.add(&mistyped(key));
    for (key, status) in [(&*mistyped, 401), (&*wrong, 401), (key, 303)] {
        let form = form_urlencoded::Serializer::new(String::new()).append_pair("key", key).finish();
        let request = client.post(format!("{}/dashboard/sign-in", licd.base)).body(form);
        let typed = request.header("content-type", "application/x-www-form-urlencoded");
        let answer = typed.send().await.unwrap();
        assert_eq!(answer.status(), status);
        assert!(!answer.text().await.unwrap().contains(&key[12..20]), "it is not shown again");
    }
}

/// Returns the standard error of the commands on the host while they create keys.
fn use_the_host(url: &str, canaries: &mut Canaries) -> Vec<u8> {
    let mut said = Vec::new();
    let at = ["--database-url", url];
    for args in [
        &["keys", "generate"][..],
        &["keys", "create", "--tenant", "default", at[0], at[1]],
        &["tenants", "create", "Canary", at[0], at[1]],
    ] {
        let output = licd_with(&[TRACE], args);
        assert!(output.status.success());
        canaries.add(String::from_utf8(output.stdout).unwrap().trim());
        said.extend(output.stderr);
    }
    canaries.add(PASSWORD);
    let secret = format!("postgres://u:{PASSWORD}@127.0.0.1:1/licd");
    for args in [&["migrate"][..], &["serve", "--listen", "127.0.0.1:0"], &["doctor"]] {
        let output = licd_with(&[TRACE, ("LICD_DATABASE_URL", &secret)], args);
        assert!(!output.status.success());
        said.extend([output.stderr, output.stdout].concat());
    }
    let damaged = mistyped(&canaries.add(ApiKey::generate(Mode::Live).expose()));
    canaries.add(&damaged);
    let settings = [TRACE, ("LICD_BOOTSTRAP_KEY", &*damaged), ("LICD_DATABASE_URL", url)];
    let output = licd_with(&settings, &["serve", "--listen", "127.0.0.1:0"]);
    assert!(!output.status.success());
    said.extend(output.stderr);
    said
}

/// All that is stored, as files or as text.
async fn stored(database: &TestDatabase, folder: &Path) -> Vec<u8> {
    if database.is_postgres() {
        let mut conn = PgConnection::connect(&database.url).await.unwrap();
        let dump = "select cast(schema_to_xml('public', true, false, '') as text)";
        let text: String = sqlx::query_scalar(dump).fetch_one(&mut conn).await.unwrap();
        assert!(text.contains("canary"));
        return text.into_bytes();
    }
    let backup = folder.join("backup.db");
    let made = licd(&["backup", backup.to_str().unwrap(), "--database-url", &database.url]);
    assert!(made.status.success());
    let path = database.url.strip_prefix("sqlite://").unwrap();
    let files = [path, &format!("{path}-wal"), backup.to_str().unwrap()];
    files.map(|file| std::fs::read(file).unwrap()).concat()
}

async fn no_secret_is_found(format: &str) {
    let (database, folder) = (TestDatabase::empty().await, TempDir::new().unwrap());
    let mut canaries = Canaries::default();
    let first = canaries.add(ApiKey::generate(Mode::Live).expose());
    let key_file = folder.path().join("key");
    std::fs::write(&key_file, &first).unwrap();
    let log = folder.path().join("log");
    let settings = [
        TRACE,
        ("LICD_LOG_FORMAT", format),
        ("LICD_BOOTSTRAP_KEY_FILE", key_file.to_str().unwrap()),
    ];
    let stderr = File::create(&log).unwrap();
    let node = Process::start_logging_to(stderr, &database.url, &settings).await;
    let admin = node.caller(&first);
    use_the_api(&admin, &mut canaries).await;
    use_license_keys(&admin, &mut canaries).await;
    use_what_signs(&admin, &mut canaries).await;
    use_the_dashboard(&node, &first, &mut canaries).await;
    let said = use_the_host(&database.url, &mut canaries);
    canaries.absent_from("the log of a command", &said);

    let events = admin.get("/api/v1/admin/events").await;
    assert!(events.body.to_string().contains("key.rolled"));
    canaries.absent_from("the events", events.body.to_string().as_bytes());
    let command_line = std::fs::read(format!("/proc/{}/cmdline", node.id())).unwrap();
    canaries.absent_from("the list of processes", &command_line);
    canaries.absent_from("the database", &stored(&database, folder.path()).await);
    assert!(node.stop().success());
    let said = std::fs::read(&log).unwrap();
    let text = String::from_utf8_lossy(&said);
    assert!(text.contains("TRACE") && text.contains("insert into keys"), "the log is talkative");
    canaries.absent_from("the log", &said);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_in_a_log_of_text_an_event_a_process_or_a_database() {
    no_secret_is_found("text").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_in_a_log_of_json_an_event_a_process_or_a_database() {
    no_secret_is_found("json").await;
}
