//! Secrets that a file holds in place of the environment.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use super::{key_of, printed, refused, whose};
use crate::backup::pipe;
use crate::doctor::Examination;
use crate::harness::TestDatabase;
use crate::nodes::process::{Process, command, first_key, licd_with};

const URL: &str = "LICD_DATABASE_URL";
const URL_FILE: &str = "LICD_DATABASE_URL_FILE";
const KEY: &str = "LICD_BOOTSTRAP_KEY";
const KEY_FILE: &str = "LICD_BOOTSTRAP_KEY_FILE";

/// Creates a file with this content that only its owner can read, and returns its path.
fn file(folder: &tempfile::TempDir, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The newline at the file's end, of any kind, is no part of the key.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_holds_the_first_key() {
    for end in ["", "\n", "\r\n"] {
        let (database, folder) = (TestDatabase::empty().await, tempfile::TempDir::new().unwrap());
        let key = first_key();
        let path = file(&folder, "key", format!("{key}{end}"));
        let licd = Process::launch_with(&database.url, &[(KEY_FILE, &path), (KEY, "")]).wait();
        assert_eq!(whose(&licd, &key).await, "default first key admin live");
        assert!(!licd.log().contains("sk_"), "{}", licd.log());
    }
}

/// Every command that opens a database finds it there; a flag goes before it.
#[test]
fn a_file_holds_the_address_of_the_database() {
    let folder = tempfile::TempDir::new().unwrap();
    let url = |name: &str| format!("sqlite://{}", folder.path().join(name).display());
    let path = file(&folder, "url", format!("{}\n", url("licd.db")));
    let backup = folder.path().join("backup.db");
    for args in [
        &["migrate"][..],
        &["tenants", "create", "Acme"],
        &["keys", "create", "--tenant", "Acme"],
        &["tenants", "list"],
        &["backup", backup.to_str().unwrap()],
    ] {
        let output = licd_with(&[(URL_FILE, &path)], args);
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(backup.exists());
    assert!(printed(&["tenants", "list", "--database-url", &url("licd.db")]).contains("Acme"));

    let other = ["tenants", "create", "Other", "--database-url", &url("other.db")];
    let output = licd_with(&[(URL_FILE, "/there/is/none")], &other);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    key_of(&String::from_utf8(output.stdout).unwrap());
}

#[test]
fn a_value_and_its_file_exclude_each_other() {
    let folder = tempfile::TempDir::new().unwrap();
    let url = format!("sqlite://{}", folder.path().join("licd.db").display());
    let (url_path, key) = (file(&folder, "url", &url), first_key());
    let key_path = file(&folder, "key", &key);
    for args in [&["migrate"][..], &["tenants", "list"]] {
        let told = refused(&[(URL, &url), (URL_FILE, &url_path)], args, &url);
        let said = "licd: LICD_DATABASE_URL and LICD_DATABASE_URL_FILE are both set; set only one";
        assert!(told.starts_with(said), "{args:?}: {told}");
    }
    let settings = [(URL, &*url), (KEY, &*key), (KEY_FILE, &*key_path)];
    let told = refused(&settings, &["serve", "--listen", "nonsense"], &url);
    let said = "licd: LICD_BOOTSTRAP_KEY and LICD_BOOTSTRAP_KEY_FILE are both set; set only one";
    assert!(told.starts_with(said) && !told.contains("sk_"), "{told}");
    assert!(!folder.path().join("licd.db").exists());
}

/// The message has the variable, the path and the cause, and nothing of what the file holds.
#[test]
fn a_file_that_is_no_good_is_named_and_not_shown() {
    let folder = tempfile::TempDir::new().unwrap();
    let url = format!("sqlite://{}", folder.path().join("licd.db").display());
    let serve = &["serve", "--listen", "127.0.0.1:0"][..];
    let missing = folder.path().join("missing").to_str().unwrap().to_owned();
    let (key, waiting) = (first_key(), folder.path().join("pipe"));
    pipe(&waiting);
    for (variable, path, said) in [
        (URL_FILE, missing.clone(), "No such file or directory"),
        (KEY_FILE, missing, "No such file or directory"),
        (URL_FILE, folder.path().to_str().unwrap().to_owned(), "it is not a regular file"),
        (URL_FILE, file(&folder, "1", "postgres://licd:SECRET@db:x/licd"), "port must be a number"),
        (URL_FILE, file(&folder, "2", "SECRET"), "must be sqlite://PATH or postgres://"),
        (URL_FILE, file(&folder, "3", "\n"), "must be sqlite://PATH or postgres://"),
        (URL_FILE, file(&folder, "4", b"SECRET\xff"), "it is not UTF-8"),
        (URL_FILE, "/dev/zero".to_owned(), "it is not a regular file"),
        (KEY_FILE, waiting.to_str().unwrap().to_owned(), "it is not a regular file"),
        (KEY_FILE, file(&folder, "8", vec![b'x'; 65_537]), "it is larger than 64 KiB"),
        (KEY_FILE, file(&folder, "5", "SECRET"), "must be an API key"),
        (KEY_FILE, file(&folder, "6", format!("{key}\n{key}")), "an invisible character, U+000A"),
        (KEY_FILE, file(&folder, "9", format!("{key}\u{200b}\n")), "character, U+200B; type the"),
        (KEY_FILE, file(&folder, "7", ""), "must be an API key"),
    ] {
        let mut settings = vec![(variable, &*path)];
        if variable == KEY_FILE {
            settings.push((URL, &url));
        }
        let told = refused(&settings, serve, &url);
        assert!(told.starts_with(&format!("licd: {variable}: {path}: ")), "{told}");
        assert!(told.contains(said), "{told}");
        assert!(!told.contains("SECRET") && !told.contains(&key), "{told}");
    }
    let test_key = file(&folder, "test", first_key().replace("live", "test"));
    let told = refused(&[(URL, &url), (KEY_FILE, &test_key)], serve, &url);
    assert!(told.contains("LICD_BOOTSTRAP_KEY"), "{told}");
    assert!(!folder.path().join("licd.db").exists());
}

/// A file that all may read is warned of and taken: by default Kubernetes makes them so.
#[test]
fn a_file_that_others_can_read_is_warned_of() {
    let folder = tempfile::TempDir::new().unwrap();
    let url = format!("sqlite://{}", folder.path().join("licd.db").display());
    let path = file(&folder, "url", &url);
    for (mode, is_exposed) in [(0o644, true), (0o602, true), (0o440, false), (0o400, false)] {
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let output = licd_with(&[(URL_FILE, &path)], &["migrate"]);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{told}");
        let said = format!("the file of {URL_FILE}; fix it with: chmod o= {path}");
        assert_eq!(told.contains(&said), is_exposed, "{mode:o}: {told}");
    }
}

/// A file that licd does not read is not checked.
#[test]
fn a_folder_in_place_of_a_file_gets_no_command_to_close_it() {
    let doctor = Examination::by(command(&["doctor", "--json"]).env(URL_FILE, "/"));
    let found = [doctor.with("problem"), doctor.with("warning")].concat().join("\n");
    assert!(found.contains("/: it is not a regular file"), "{found}");
    assert!(!found.contains("chmod"), "{found}");
}

/// Characters that editors, shells and web pages leave around a value are not part of it. Invisible
/// characters in it are named.
#[test]
fn a_setting_has_no_invisible_ends() {
    let folder = tempfile::TempDir::new().unwrap();
    let url = format!("sqlite://{}", folder.path().join("licd.db").display());
    for value in [format!(" {url}\r"), format!("{url}\n"), format!("\u{feff}{url}\u{a0}")] {
        let migrated = licd_with(&[(URL, &value)], &["migrate"]);
        assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));
        let path = file(&folder, "url", &value);
        let migrated = licd_with(&[(URL_FILE, &path)], &["migrate"]);
        assert!(migrated.status.success(), "{}", String::from_utf8_lossy(&migrated.stderr));
    }
    let serve = &["serve", "--listen", "nonsense"][..];
    let told = refused(&[(URL, &url), ("LICD_RATE_LIMIT", "600/m\r")], serve, &url);
    assert!(told.starts_with("licd: cannot listen on nonsense"), "{told}");
    let told = refused(&[(URL, &url), ("LICD_RATE_LIMIT", "600\u{200b}/m")], serve, &url);
    let said =
        "licd: LICD_RATE_LIMIT: it contains an invisible character, U+200B; type the value again\n";
    assert_eq!(told, said);
}
