//! The database of a command on the service's host: the service's, or none.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::printed;
use crate::nodes::process::{command, licd};

/// The commands that work on the database of a service.
const COMMANDS: [&[&str]; 7] = [
    &["tenants", "create", "Acme"],
    &["tenants", "list"],
    &["keys", "create", "--tenant", "default"],
    &["migrate"],
    &["backup", "/nowhere/backup.db"],
    &["restore", "/nowhere/backup.db"],
    &["doctor"],
];

/// Exit code and both streams of a command with a home and these settings.
fn run(home: &Path, settings: &[(&str, &str)], args: &[&str]) -> (Option<i32>, String) {
    let mut command = command(args);
    command.env("HOME", home).env_remove("XDG_DATA_HOME").envs(settings.iter().copied());
    let output = command.output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

/// In a shell without the service's environment, a command must not create a database of its own.
#[test]
fn without_a_setting_no_command_creates_a_database() {
    let home = TempDir::new().unwrap();
    for args in COMMANDS {
        let (code, told) = run(home.path(), &[], args);
        assert_eq!(code, Some(1), "{args:?}: {told}");
        assert!(told.contains("LICD_DATABASE_URL is not set"), "{args:?}: {told}");
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "nothing was created");
}

#[test]
fn the_settings_of_the_service_are_read_from_its_file() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let url = format!("sqlite://{}", path("service.db"));
    printed(&["tenants", "create", "Acme", "--database-url", &url]);
    let file = path("licd.env");
    fs::write(&file, format!("# a comment\nLICD_LOG=trace\nLICD_DATABASE_URL=\"{url}\"\n"))
        .unwrap();
    let with_file = [("LICD_ENV_FILE", &*file)];
    let (code, told) = run(folder.path(), &with_file, &["tenants", "list"]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("Acme") && told.contains(&format!("database: {url} ({file})")), "{told}");
    let (_, told) = run(folder.path(), &with_file, &["doctor"]);
    assert!(!told.contains("licd has no setting"), "{told}");

    // The environment and flags come first.
    let other = format!("sqlite://{}", path("other.db"));
    let both = [with_file[0], ("LICD_DATABASE_URL", &other)];
    let (_, told) = run(folder.path(), &both, &["migrate"]);
    assert!(told.contains(&format!("database: {other} (LICD_DATABASE_URL)")), "{told}");
    let (_, told) = run(folder.path(), &with_file, &["migrate", "--database-url", &other]);
    assert!(told.contains(&format!("database: {other} (--database-url)")), "{told}");

    // The service may have settings in a file that cannot be read.
    let missing = [("LICD_ENV_FILE", "/nowhere/licd.env")];
    for args in COMMANDS {
        let (code, told) = run(folder.path(), &missing, args);
        assert_eq!(code, Some(1), "{args:?}: {told}");
        assert!(told.contains("cannot read the settings of the service"), "{args:?}: {told}");
    }
}

/// A secret key that a shell redirects to a file is readable by others.
#[test]
fn a_secret_key_is_created_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("secret-key");
    let file = path.to_str().unwrap();
    printed(&["secret-key", "generate", file]);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let key = fs::read(&path).unwrap();
    let again = licd(&["secret-key", "generate", file]);
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(fs::read(&path).unwrap(), key, "no file is replaced");

    let url = format!("sqlite://{}", folder.path().join("licd.db").display());
    printed(&["migrate", "--database-url", &url]);
    let settings = [("LICD_DATABASE_URL", &*url), ("LICD_SECRET_KEY_FILE", file)];
    let exposed = "others can read or change the file of LICD_SECRET_KEY_FILE";
    assert!(!run(folder.path(), &settings, &["doctor"]).1.contains(exposed));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let (_, told) = run(folder.path(), &settings, &["doctor"]);
    assert!(told.contains(exposed) && told.contains("chmod"), "{told}");
}
