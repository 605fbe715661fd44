//! `licd health`, which container platforms run to learn whether licd must be restarted.

use std::fs;

use tempfile::TempDir;

use crate::harness::{TestDatabase, until};
use crate::nodes::process::{Process, first_key, licd_with};
use crate::tls::pair::Pair;

/// A setting that points at a proxy must not lead it away from this machine.
const PROXY: (&str, &str) = ("http_proxy", "http://127.0.0.1:1");

/// The exit code, and what was printed on either stream.
fn health(settings: &[(&str, &str)], args: &[&str]) -> (Option<i32>, String) {
    let output = licd_with(settings, &[&["health"], args].concat());
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code(), text)
}

fn well(text: &str) -> (Option<i32>, String) {
    (Some(0), text.to_owned())
}

/// Without its database licd is alive, so that no platform restarts it, but it is not ready.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_database_is_no_reason_to_restart() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("licd.db");
    let licd = Process::start(&format!("sqlite://{}", path.display()), &first_key());
    let address = licd.base.strip_prefix("http://").unwrap().to_owned();
    let settings = [("LICD_LISTEN", &*address), PROXY];
    assert_eq!(health(&settings, &[]), well("licd is alive\n"));
    assert_eq!(health(&settings, &["--ready"]), well("licd is ready\n"));

    fs::remove_file(&path).unwrap();
    until("the loss is noticed", async || health(&settings, &["--ready"]).0 != Some(0)).await;
    let said = format!(
        "licd: licd is not ready: http://{address}/readyz returned 503 Service Unavailable\n"
    );
    assert_eq!(health(&settings, &["--ready"]), (Some(1), said));
    assert_eq!(health(&settings, &[]), well("licd is alive\n"));

    drop(licd);
    let (code, said) = health(&settings, &[]);
    assert_eq!(code, Some(1), "{said}");
    let begin = format!("licd: licd is not alive: http://{address}/healthz: ");
    assert!(said.starts_with(&begin) && said.contains("Connection refused"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

/// Whether clients trust its certificate is not what is asked.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_found_behind_its_own_tls_and_on_all_addresses() {
    let (database, pair) = (TestDatabase::ready().await, Pair::new());
    let tls = pair.settings();
    let tls: Vec<_> = tls.iter().map(|(name, value)| (*name, &**value)).collect();
    let settings = [&[("LICD_LISTEN", "0.0.0.0:0")], &tls[..]].concat();
    let licd = Process::launch_with(&database.url, &settings).wait();
    let address = licd.base.strip_prefix("http://").unwrap();
    assert!(address.starts_with("0.0.0.0:"), "{address}");

    let listen = [("LICD_LISTEN", address)];
    let found = health(&[&listen, &tls[..]].concat(), &["--ready"]);
    assert_eq!(found, well("licd is ready\n"));
    let (code, said) = health(&[&listen[..], &[("LICD_TLS_CERT", "")]].concat(), &[]);
    assert_eq!(code, Some(1));
    assert!(said.contains("/healthz returned 400"), "{said}");
}
