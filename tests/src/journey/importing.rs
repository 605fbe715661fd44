//! `licctl import`: each sample export becomes the records that `docs/moving.md` says, once.

use serde_json::{Value, json};

use super::Shell;
use crate::harness::App;
use crate::tidy::root;

/// A shell, and the folder of the sample exports.
async fn start() -> (App, Shell, String) {
    let app = App::start().await;
    let shell = Shell::at(&app);
    let samples = root().join("tests/samples/import").display().to_string();
    (app, shell, samples)
}

/// All that an import creates, in the words of its CSV, without ids and times of creation.
fn records(shell: &Shell) -> String {
    let licenses = "licctl licenses list -o csv -c productName,planName,status,maxSeats,seatsUsed,expiresAt,features";
    [
        "licctl plans list -o csv -c name,maxSeats,expiresInDays",
        licenses,
        "licctl users list -o csv -c externalId,name",
    ]
    .map(|list| shell.get(&format!("{list} --no-headers | sort")))
    .join("\n")
}

fn assigned(shell: &Shell, plan: &str) -> String {
    let license = shell.get(&format!("licctl licenses list --plan '{plan}' -q | head -1"));
    shell.get(&format!("licctl licenses assignments {license} -q | sort | tr '\\n' ' '"))
}

#[tokio::test(flavor = "multi_thread")]
async fn each_export_becomes_what_its_table_says_and_a_second_run_changes_nothing() {
    let (app, shell, samples) = start().await;
    let claims = [
        ("keygen", "", "KG-TEAM-0001-ABCD-EFGH", "valid"),
        ("lemonsqueezy", "", "80e15db5-c796-436b-850c-8f9c98a48abe", "valid"),
        ("gumroad", ".csv", "9B1C0A12-11AA22BB-33CC44DD-55EE66FF", "suspended"),
        ("cryptlex", "", "7A9F2C-C3D4E5-F6A7B8-C9D0E1-F2A3B4-C5D6E7", "revoked"),
    ];
    for (number, (source, ending, key, verdict)) in claims.into_iter().enumerate() {
        let import = format!("licctl import --from {source} {samples}/{source}{ending} --yes");
        let planned = shell.json(&format!("{import} --dry-run"));
        assert_ne!(planned["plans"], json!([]));
        shell.get(&format!("{import} --report {number}.jsonl"));
        let (made, sequence) = (records(&shell), newest_event(&app).await);
        let again = shell.run(&format!("{import} --report again-{number}.jsonl"));
        assert!(again.stderr.contains("note: 0 succeeded") && again.code == 0, "{}", again.stderr);
        assert_eq!((records(&shell), newest_event(&app).await), (made, sequence), "{source}");
        let compared = shell.run(&format!("{import} --compare"));
        assert_eq!(compared.code, 0, "{}", compared.stdout);
        // Shipped applications keep their keys.
        let body = json!({ "userId": format!("claimer-{number}"), "key": key });
        assert_eq!(app.post("/api/v1/claim", body).await.verdict(), verdict, "{source}");
    }
    insta::assert_snapshot!(records(&shell), @"
    (Desktop),2,
    5 activations,5,
    Sealed,,
    Solo,1,31
    Standard,1,
    Team,3,365
    hosted-floating,,
    node-locked,2,
    Brush,5 activations,active,5,1,2099-01-24T14:15:07.000Z,
    Club,Standard,active,1,0,2099-05-01T23:59:59.000Z,
    Compass,hosted-floating,revoked,,0,,
    Compass,node-locked,active,2,0,2099-12-31T23:59:59.000Z,
    Font,(Desktop),active,2,0,,
    Font,(Desktop),suspended,1,0,,
    Studio,Sealed,active,,0,,
    Studio,Solo,suspended,1,0,,
    Studio,Team,active,3,1,2099-01-31T00:00:00.000Z,EXPORT
    ada@example.com,Ada Lovelace
    bob@example.com,
    claimer-0,
    claimer-1,
    claimer-2,
    claimer-3,
    cy@example.com,Cy
    gift@example.com,Bob
    ");
    assert_eq!(assigned(&shell, "Studio/Team"), "ada@example.com bob@example.com claimer-0");
}

async fn newest_event(app: &App) -> Value {
    app.get("/api/v1/admin/events?order=newest&limit=1").await.list()[0]["sequence"].clone()
}

/// Licenses, users and statuses that an administrator has changed in licd stay.
#[tokio::test(flavor = "multi_thread")]
async fn later_rows_are_added_and_changes_in_licd_stay() {
    let (app, shell, _) = start().await;
    let header = "product,plan,seats,status,email,sourceId\n";
    let first = format!("{header}Reef,Team,3,active,ada@x.org,1\nReef,Team,3,active,bob@x.org,1\n");
    shell.write("rows.csv", &format!("{first}Reef,Solo,1,suspended,cy@x.org,2\n"));
    let import = "licctl import --from csv rows.csv --take-seats";
    shell.get(&format!("{import} --report 1.jsonl"));
    let license =
        |plan: &str| shell.json(&format!("licctl licenses list --plan {plan}"))[0].clone();
    let [team, solo] = ["Team", "Solo"].map(license);
    assert_eq!((&team["seats"]["used"], &solo["status"]), (&json!(2), &json!("suspended")));
    let [team, solo] = [team, solo].map(|it| it["id"].as_str().unwrap().to_owned());
    shell.get(&format!("licctl licenses unassign {team} bob@x.org"));
    shell.get(&format!("licctl licenses activate {solo}"));
    shell.write("rows.csv", &format!("{first}Reef,Solo,1,suspended,cy@x.org,2\nReef,Team,3,,dee@x.org,1\nReef,Team,3,,eve@x.org,3\n"));
    let later = shell.run(&format!("{import} --report 2.jsonl"));
    assert!(later.stderr.contains("2 succeeded, 1 skipped"), "{}", later.stderr);
    let users = shell.get(&format!("licctl licenses assignments {team} -q | sort | tr '\\n' ' '"));
    assert_eq!(users, "ada@x.org dee@x.org");
    assert_eq!(app.get_license(&solo).await["status"], "active");
    assert_eq!(shell.json("licctl licenses list").as_array().unwrap().len(), 3);
    let differs = shell.run("licctl import --from csv rows.csv --compare -o json");
    assert_eq!(differs.code, 10);
    let differs: Value = serde_json::from_str(&differs.stdout).unwrap();
    let of = |user: &str| differs.as_array().unwrap().iter().any(|it| it["userId"] == user);
    assert_eq!(["ada@x.org", "bob@x.org", "cy@x.org"].map(of), [false, true, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_id_is_what_the_application_sends_and_a_mapping_can_be_ones_own() {
    for (choice, users, keys) in [
        ("id", "user-ada user-bob", "1"),
        ("machine", "4c:4c:45:44", "1"),
        ("key", "KG-TEAM-0001-ABCD-EFGH", "0"),
    ] {
        let (_app, shell, samples) = start().await;
        shell.get("licctl import --print-mapping keygen > mine.jq");
        shell.get("sed -i 's/attributes.name,$/attributes.name + \" 2\",/' mine.jq");
        let import = format!("licctl import --mapping mine.jq {samples}/keygen --user-id {choice}");
        shell.get(&import);
        assert_eq!(assigned(&shell, "Studio 2/Team 2"), users, "{choice}");
        let license = shell.json("licctl licenses list --plan 'Team 2'")[0].clone();
        assert_eq!(license["metadata"]["importedFrom"], json!({ "source": "mine", "id": "lic-1" }));
        let id = license["id"].as_str().unwrap();
        assert_eq!(
            shell.get(&format!("licctl licenses keys list {id} -q | wc -l")),
            keys,
            "{choice}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn devices_become_users_of_their_licenses() {
    let devices = "f90ec370-fd83-46a5-8bbd-44a241e78665\nhost-1";
    let (_app, shell, samples) = start().await;
    for source in ["lemonsqueezy", "cryptlex"] {
        shell.get(&format!("licctl import --from {source} {samples}/{source} --user-id machine"));
    }
    assert_eq!(shell.get("licctl users list -q | sort"), devices);
}

/// A run that was killed between the requests for a license is completed by the next one.
#[tokio::test(flavor = "multi_thread")]
async fn a_license_without_its_status_and_terms_gets_them() {
    let (app, shell, _) = start().await;
    shell.write("rows.csv", "product,plan,seats,status,email,sourceId\nReef,Team,3,,a@x.org,1\n");
    shell.get("licctl import --from csv rows.csv");
    let team = shell.get("licctl plans list -q");
    let from = json!({ "importedFrom": { "source": "csv", "id": "2", "pending": true } });
    let body = json!({ "planId": team, "metadata": from });
    let half = app.post("/api/v1/admin/licenses", body).await.id();
    let rows = "product,plan,seats,status,email,sourceId\nReef,Team,9,suspended,b@x.org,2\n";
    shell.write("rows.csv", rows);
    shell.get("licctl import --from csv rows.csv");
    let whole = app.get_license(&half).await;
    assert_eq!((&whole["status"], &whole["maxSeats"]), (&json!("suspended"), &json!(9)));
    assert_eq!(whole["metadata"], json!({ "importedFrom": { "source": "csv", "id": "2" } }));
    shell.get(&format!("licctl licenses activate {half}"));
    shell.get("licctl import --from csv rows.csv");
    assert_eq!(app.get_license(&half).await["status"], "active");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_row_imports_nothing() {
    let (_app, shell, _) = start().await;
    for (row, why) in [
        ("Reef,Team,0,ada@x.org", "row 1: "),
        ("Reef,,1,ada@x.org", "row 1: "),
        ("Reef,Team,many,ada@x.org", "mapping"),
    ] {
        shell.write("rows.csv", &format!("product,plan,seats,email\n{row}\n"));
        let refused = shell.run("licctl import --from csv rows.csv");
        assert_eq!(refused.code, 2, "{row}: {}", refused.stderr);
        assert!(refused.stderr.contains(why), "{row}: {}", refused.stderr);
    }
    shell.write("rows.csv", "product,plan,mode\nReef,Team,1\n");
    let unknown = shell.run("licctl import --from csv rows.csv --map plan=Variant");
    assert!(unknown.stderr.contains("has no column Variant"), "{}", unknown.stderr);
    shell.write("rows.csv", "product,plan\n");
    let empty = shell.run("licctl import --from csv rows.csv");
    assert!(empty.code == 2 && empty.stderr.contains("no licenses"), "{}", empty.stderr);
    assert_eq!(shell.get("licctl products list -q"), "");
}

/// Ctrl-C in the middle: the licenses in flight are finished, and the next run makes only the others.
#[tokio::test(flavor = "multi_thread")]
async fn an_import_continues_after_an_interruption() {
    let (app, shell, _) = start().await;
    let rows: String = (0..400).map(|n| format!("Reef,Team,1,u{n}@x.org,{n}\n")).collect();
    shell.write("rows.csv", &format!("product,plan,seats,email,sourceId\n{rows}"));
    let words = ["import", "--from", "csv", "rows.csv", "--yes", "--report", "1.jsonl"];
    let mut running = shell.command(&words).spawn().unwrap();
    crate::harness::until("some licenses are there", async || {
        app.get("/api/v1/admin/licenses?limit=20").await.list().len() == 20
    })
    .await;
    crate::nodes::process::send("INT", &running);
    assert_eq!(running.wait().unwrap().code(), Some(130));
    let before = shell.json("licctl licenses list").as_array().unwrap().len();
    assert!((20..400).contains(&before), "{before}");
    shell.get("licctl import --from csv rows.csv --yes --report 2.jsonl");
    let licenses = shell.json("licctl licenses list");
    assert_eq!(licenses.as_array().unwrap().len(), 400);
    let users = shell.json("licctl users list");
    assert_eq!(users.as_array().unwrap().len(), 400);
}
