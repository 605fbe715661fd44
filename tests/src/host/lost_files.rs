//! SQLite files that were lost while their write-ahead log remained, which then has all data.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use tempfile::TempDir;

use super::refused;
use crate::nodes::process::{Process, first_key};

/// SQLite would delete the log, and licd start a new service. Each command refuses instead, and does
/// not touch the log.
#[test]
fn a_file_that_was_emptied_or_deleted_beside_its_log_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (file, log) = (path("licd.db"), path("licd.db-wal"));
    let url = format!("sqlite://{}", file.display());
    // It is killed, and so leaves its log.
    drop(Process::start(&url, &first_key()));
    let (whole, logged) = (fs::read(&file).unwrap(), fs::read(&log).unwrap());
    assert!(!logged.is_empty());
    let said = format!("{} is empty or missing, but {} is not", file.display(), log.display());
    let (target, backup) = (format!("sqlite://{}", path("to.db").display()), path("backup.db"));
    for lose in [|file| fs::write(file, ""), |file| fs::remove_file(file)] {
        lose(&file).unwrap();
        for args in [
            &["migrate"][..],
            &["tenants", "create", "Acme"],
            &["tenants", "list"],
            &["keys", "create", "--tenant", "default"],
            &["backup", backup.to_str().unwrap()],
            &["copy", "--from", &url, "--to", &target],
            &["serve"],
        ] {
            let settings = [("LICD_DATABASE_URL", &*url), ("LICD_LISTEN", "127.0.0.1:0")];
            let told = refused(&settings, args, "nothing to hide");
            assert!(told.contains(&said), "{args:?}: {told}");
        }
        let doctor = crate::doctor::Examination::of(&url, &[]);
        assert!(doctor.only("problem").contains(&said), "{}", doctor.only("problem"));
        assert_eq!(fs::read(&log).unwrap(), logged, "it is as it was");
    }
    fs::write(&file, whole).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    assert!(super::printed(&["tenants", "list", "--database-url", &url]).contains("default"));
}
