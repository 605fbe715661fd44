//! An SQLite database whose name is a symbolic link, or is no file at all.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::{printed, refused};
use crate::backup::pipe;
use crate::doctor::Examination;
use crate::nodes::process::{Process, first_key};

/// SQLite keeps its log next to the file to which the link leads; so everything of licd looks there.
#[test]
fn a_link_is_as_good_as_the_file() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("data")).unwrap();
    // One leads to the next, and the last to a file that does not exist yet.
    symlink("second.db", path("licd.db")).unwrap();
    symlink("data/licd.db", path("second.db")).unwrap();
    let url = format!("sqlite://{}", path("licd.db").display());
    printed(&["tenants", "create", "Acme", "--database-url", &url]);
    assert!(path("data/licd.db").metadata().unwrap().is_file());
    let licd = Process::start(&url, &first_key());
    assert!(path("data/licd.db-wal").exists());
    assert_eq!(Examination::of(&url, &[]).with("problem"), [""; 0]);
    assert!(printed(&["tenants", "list", "--database-url", &url]).contains("Acme"));
    printed(&["keys", "create", "--tenant", "Acme", "--database-url", &url]);
    printed(&["backup", path("saved.db").to_str().unwrap(), "--database-url", &url]);
    assert!(licd.stop().success());
    let to = format!("sqlite://{}", path("copied.db").display());
    assert!(printed(&["copy", "--from", &url, "--to", &to]).contains("keys"));
}

/// Reading a pipe would wait until a program writes to it.
#[test]
fn what_is_no_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let (waiting, saved) = (folder.path().join("pipe"), folder.path().join("saved.db"));
    pipe(&waiting);
    for path in [waiting.to_str().unwrap(), "/dev/null"] {
        let url = format!("sqlite://{path}");
        let settings = [
            ("LICD_DATABASE_URL", &*url),
            ("LICD_LISTEN", "127.0.0.1:0"),
            ("LICD_ALLOW_EXPOSED_FILES", "true"),
        ];
        let said = format!("{path} is not a regular file");
        for args in [
            &["serve"][..],
            &["migrate"],
            &["tenants", "list"],
            &["backup", saved.to_str().unwrap()],
        ] {
            let told = refused(&settings, args, "nothing to hide");
            assert!(told.contains(&said), "{args:?}: {told}");
        }
        let problems = Examination::of(&url, &settings[1..]).with("problem").join("\n");
        assert!(problems.contains(&said), "{problems}");
    }
}
