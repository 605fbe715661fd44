//! Starts that are refused: half a setting, files that are no good, and plain HTTP for others than
//! this machine.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use rcgen::date_time_ymd;

use super::pair::{Pair, params};
use crate::harness::TestDatabase;
use crate::host::refused;
use crate::nodes::process::Process;

/// Returns the message of a start with this certificate and this key, each of which may be left
/// out. The start fails at the address if it is not refused.
fn told(certificate: Option<&str>, key: Option<&str>) -> String {
    let mut settings = vec![("LICD_LISTEN", "nonsense")];
    settings.extend(certificate.map(|path| ("LICD_TLS_CERT", path)));
    settings.extend(key.map(|path| ("LICD_TLS_KEY", path)));
    refused(&settings, &["serve"], "nothing to hide")
}

#[test]
fn a_pair_that_is_no_good_stops_the_start() {
    let (pair, other) = (Pair::new(), Pair::new());
    let [(_, certificate), (_, key)] = pair.settings();
    let [_, (_, other_key)] = other.settings();
    let away = pair.folder().join("away.pem").display().to_string();
    for (certificate_given, key_given, said) in [
        (Some(&certificate), None, "without --tls-key (LICD_TLS_KEY)".to_owned()),
        (None, Some(&key), "without --tls-cert (LICD_TLS_CERT)".to_owned()),
        (Some(&away), Some(&key), format!("{away} cannot be read: No such file")),
        (Some(&certificate), Some(&away), format!("{away} cannot be read: No such file")),
        (Some(&key), Some(&key), format!("{key} holds no certificate")),
        (Some(&certificate), Some(&certificate), format!("{certificate} holds no private key")),
        (Some(&certificate), Some(&other_key), "do not fit each other".to_owned()),
    ] {
        let told = told(certificate_given.map(|it| &**it), key_given.map(|it| &**it));
        assert!(told.contains(&said), "{told}");
    }
    fs::write(&away, "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n").unwrap();
    let told = told(Some(&certificate), Some(&away));
    assert!(told.contains("must be RSA of 2048") && !told.contains("c2Vj"), "{told}");
}

/// rustls looks only at the first certificate, but clients look at all.
#[test]
fn every_certificate_is_looked_at() {
    let pair = Pair::new();
    let [(_, certificate), (_, key)] = pair.settings();
    let good = fs::read_to_string(&certificate).unwrap();
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let (cut, _) = good.split_once("-----END").unwrap();
    for (text, said) in [
        (format!("{good}{broken}"), "malformed: the one with number 2"),
        (format!("{good}{cut}"), "has no END line"),
        (format!("{good}{}", "#".repeat(70_000)), "larger than 64 KiB"),
    ] {
        fs::write(&certificate, text).unwrap();
        let told = told(Some(&certificate), Some(&key));
        assert!(told.contains(said), "{told}");
    }
    fs::write(&certificate, format!("{good}{good}")).unwrap();
    let told = told(Some(&certificate), Some(&key));
    assert!(!told.contains("TLS cannot be used"), "{told}");
}

#[test]
fn only_regular_files_are_read() {
    let pair = Pair::new();
    let [(_, certificate), (_, key)] = pair.settings();
    for (certificate, key) in [("/dev/zero", &*key), (&*certificate, "/dev/zero")] {
        let told = told(Some(certificate), Some(key));
        assert!(told.contains("it is not a regular file"), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_http_for_others_is_refused() {
    let (everywhere, pair) = ("0.0.0.0:0", Pair::new());
    // No start gets beyond it.
    let args = ["serve", "--listen", everywhere, "--database-url", "sqlite:///proc/none/licd.db"];
    for settings in [vec![], vec![("LICD_TRUSTED_PROXIES", "")], vec![("LICD_ALLOW_HTTP", "off")]] {
        let told = refused(&settings, &args, "nothing to hide");
        for way_out in ["--tls-cert", "--trusted-proxies", "--allow-http"] {
            assert!(told.contains(way_out), "{told}");
        }
    }
    let database = TestDatabase::ready().await;
    let tls = pair.settings();
    let tls: Vec<_> = tls.iter().map(|(name, value)| (*name, &**value)).collect();
    for ways in [
        &[("LICD_ALLOW_HTTP", "true")][..],
        &[("LICD_TRUSTED_PROXIES", "10.0.0.1")],
        &tls,
        &[("LICD_LISTEN", "127.0.0.2:0")],
    ] {
        let settings = [&[("LICD_LISTEN", everywhere)], ways].concat();
        Process::launch_with(&database.url, &settings).wait();
    }
}

/// Clients decide about a certificate outside its time: licd starts, and warns. It also warns about
/// a key that others can read, because it may run in a container without other users.
#[tokio::test(flavor = "multi_thread")]
async fn what_clients_or_others_make_of_it_is_warned_of() {
    let database = TestDatabase::ready().await;
    let mut expired = params();
    expired.not_before = date_time_ymd(2020, 1, 1);
    expired.not_after = date_time_ymd(2021, 1, 1);
    let mut early = params();
    early.not_before = date_time_ymd(4000, 1, 1);
    early.not_after = date_time_ymd(4001, 1, 1);
    let exposed = Pair::new();
    fs::set_permissions(exposed.key_path(), Permissions::from_mode(0o604)).unwrap();
    let warnings = [
        "the TLS certificate has expired",
        "the TLS certificate is not valid yet",
        "others can read or change the file of LICD_TLS_KEY; fix it with: chmod o= ",
    ];
    for (pair, expected) in [
        (Pair::with(&expired), Some(warnings[0])),
        (Pair::with(&early), Some(warnings[1])),
        (exposed, Some(warnings[2])),
        (Pair::new(), None),
    ] {
        let settings = pair.settings();
        let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, &**value)).collect();
        let licd = Process::launch_with(&database.url, &settings).wait();
        for warning in warnings {
            let is_said = licd.log().contains(warning);
            assert_eq!(is_said, Some(warning) == expected, "{}", licd.log());
        }
    }
}
