//! The files of the configuration: their content, the parts that a change keeps, and their
//! permissions.

use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::error::Exit;
use crate::profile::system_keyring::Keyring;

fn folder() -> (TempDir, Folder) {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::at(&dir.path().join("deep/licctl"), Keyring::default());
    (dir, folder)
}

fn written(folder: &Folder, text: &str) {
    fs::create_dir_all(folder.file("")).unwrap();
    fs::write(folder.file(FILE), text).unwrap();
}

fn profile(server: &str) -> Profile {
    let server = server.parse().unwrap();
    Profile { server, key: Some(KeyPlace::File), mode: Some(Mode::Live), ca_cert: None }
}

#[tokio::test]
async fn profiles_come_back_as_they_were_saved() {
    let (_dir, folder) = folder();
    assert!(Config::load(&folder).unwrap().profiles.is_empty());
    let ca_cert = Some("/etc/ca.pem".to_owned());
    let acme = Profile { ca_cert, ..profile("https://licenses.example/") };
    let mut edit = ConfigEdit::begin(&folder).await.unwrap();
    edit.put("acme", &acme).unwrap();
    edit.select(Some("acme"));
    assert_eq!(edit.save().unwrap().get("acme").unwrap(), &acme);
    insta::assert_snapshot!(fs::read_to_string(folder.file(FILE)).unwrap(), @r#"
    current = "acme"

    [profiles.acme]
    server = "https://licenses.example/"
    key = "file"
    mode = "live"
    ca-cert = "/etc/ca.pem"
    "#);
    assert_eq!(Config::load(&folder).unwrap().get("acme").unwrap(), &acme);
}

#[tokio::test]
async fn a_change_keeps_comments_order_and_foreign_settings() {
    let (_dir, folder) = folder();
    written(
        &folder,
        r#"# Ours.
current = "live" # the usual one

# Ask Ada before use.
[profiles.live]
key = "file"
server = "https://licenses.example/" # moves in May
colour = "red"

[profiles.old]
server = "http://127.0.0.1:8080/"

# For trials.
[profiles.a-test]
server = "http://127.0.0.1:8081/"
"#,
    );
    let mut edit = ConfigEdit::begin(&folder).await.unwrap();
    edit.put("live", &Profile { key: None, ..profile("https://new.example") }).unwrap();
    edit.put("added", &profile("https://added.example")).unwrap();
    edit.remove("old").unwrap();
    edit.rename("a-test", "trial").unwrap();
    edit.select(Some("trial"));
    edit.save().unwrap();
    insta::assert_snapshot!(fs::read_to_string(folder.file(FILE)).unwrap(), @r##"
    # Ours.
    current = "trial" # the usual one

    # Ask Ada before use.
    [profiles.live]
    server = "https://new.example/" # moves in May
    colour = "red"
    mode = "live"

    [profiles.added]
    server = "https://added.example/"
    key = "file"
    mode = "live"

    # For trials.
    [profiles.trial]
    server = "http://127.0.0.1:8081/"
    "##);
}

#[tokio::test]
async fn profiles_on_one_line_can_be_changed() {
    let (_dir, folder) = folder();
    written(&folder, "profiles = { a = { server = \"https://a.example\" } }\n");
    let mut edit = ConfigEdit::begin(&folder).await.unwrap();
    edit.put("a", &profile("https://new.example")).unwrap();
    edit.put("b", &profile("https://b.example")).unwrap();
    let saved = edit.save().unwrap();
    assert_eq!(saved.get("a").unwrap(), &profile("https://new.example"));
    assert_eq!(saved.get("b").unwrap(), &profile("https://b.example"));
}

#[tokio::test]
async fn a_change_that_does_not_end_is_an_error_for_the_next() {
    let (_dir, folder) = folder();
    let first = ConfigEdit::begin(&folder).await.unwrap();
    let error = folder.lock(Duration::ZERO).await.err().unwrap();
    assert_eq!(error.exit, Exit::Rejected);
    assert!(error.text(None).contains("Another licctl has been holding it"), "{error:?}");
    drop(first);
    ConfigEdit::begin(&folder).await.unwrap();
}

#[test]
fn a_broken_file_is_named_with_its_line_and_not_quoted() {
    let (_dir, folder) = folder();
    written(&folder, "current = \"a\"\nkey = sk_live_SECRET\n");
    let error = Config::load(&folder).unwrap_err();
    assert_eq!(error.exit, Exit::Usage);
    let text = error.text(None);
    assert!(text.contains("config.toml") && text.contains("line 2"), "{text}");
    assert!(!text.contains("SECRET"), "{text}");
}

#[cfg(unix)]
#[tokio::test]
async fn files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let (_dir, folder) = folder();
    ConfigEdit::begin(&folder).await.unwrap().save().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder.file(FILE)), 0o600);
    assert_eq!(mode(&folder.file("lock")), 0o600);
    assert_eq!(mode(&folder.file("")), 0o700);
}

/// Managers of dotfiles keep the files elsewhere.
#[cfg(unix)]
#[tokio::test]
async fn a_link_is_written_through_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (dir, folder) = folder();
    fs::create_dir_all(folder.file("")).unwrap();
    for (name, mode) in [(FILE, 0o640), ("credentials.toml", 0o600)] {
        let (target, link) = (dir.path().join(name), folder.file(name));
        fs::write(&target, "").unwrap();
        fs::set_permissions(&target, fs::Permissions::from_mode(mode)).unwrap();
        symlink(&target, &link).unwrap();
        folder.replace(name, "a = 1\n").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{name}");
        assert_eq!(fs::read_to_string(&target).unwrap(), "a = 1\n");
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, mode);
    }
    let left = fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(left, 3, "the two files and the folder of the links");
}

proptest! {
    /// Whatever a file holds, it is read or refused, and never quoted: it may be a key.
    #[test]
    fn any_text_is_a_configuration_or_an_error(
        text in "\\PC*|((current|key|\\[profiles\\.a\\]|server)? ?=? ?[\"'a-z:/.\n\\[\\]é]{0,9}\n?){0,6}",
    ) {
        let (_dir, folder) = folder();
        let secret = "key = \"sk_live_TOPSECRET\"\n[profiles.b]\nserver = TOPSECRET";
        written(&folder, &format!("{text}\n{secret}"));
        let error = Config::load(&folder).unwrap_err().text(None);
        prop_assert!(error.contains("config.toml") && !error.contains("SECRET"), "{}", error);
        written(&folder, &text);
        drop(Config::load(&folder));
    }
}
