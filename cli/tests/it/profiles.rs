//! Logging in, and which key goes where.

use std::fs;

use crate::support::{FakeServer, Home, KEY, OTHER_KEY, Reply, current_key};

fn service() -> FakeServer {
    FakeServer::answering(|request| match request.key.as_deref() {
        Some(KEY | OTHER_KEY) => Reply::data(200, &current_key()),
        _ => Reply::refusal(401, "unauthorized", "Unauthorized"),
    })
}

/// A machine that is logged in as profile `default`.
fn logged_in(server: &FakeServer) -> Home {
    let home = Home::bare();
    let ran = home.run_with_input(
        &["login", "--server", &server.address, "--api-key-file", "-"],
        &format!("{KEY}\n"),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    home
}

/// The keys of all requests after the first, which is the login's.
fn keys_used(server: &FakeServer) -> Vec<String> {
    server.received().iter().skip(1).filter_map(|request| request.key.clone()).collect()
}

#[test]
fn a_profile_has_a_name_that_can_be_typed() {
    let server = service();
    let home = logged_in(&server);
    for name in ["", " ", "a\nb", "\u{1b}[31m"] {
        for args in [&["profiles", "rename", "default", name][..], &["login", "-P", name]] {
            let ran = home.run_with_input(&[args, &["--api-key-file", "-"]].concat(), KEY);
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
            assert!(ran.stderr.contains("The profile name must be"), "{}", ran.stderr);
        }
    }
}

#[test]
fn a_dry_run_changes_no_profile() {
    let server = service();
    let home = logged_in(&server);
    for args in [
        &["logout"][..],
        &["login"],
        &["profiles", "remove", "default"],
        &["profiles", "rename", "default", "other"],
    ] {
        let ran = home.run(&[args, &["--dry-run", "--yes"]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}: {}", ran.stderr);
    }
    assert_eq!(home.run(&["whoami"]).code, 0, "the key is still there");
}

#[test]
fn logging_in_keeps_the_key_for_its_owner_alone() {
    let server = service();
    let home = logged_in(&server);
    let ran = home.run(&["whoami"]);
    insta::assert_snapshot!(ran.seen(&server, &home), @"
    server   http://SERVER
    tenant   acme (ten_01h455vb4pex5vsknk084sn02q)
    key      sk_live_CANA… ops (key_01h455vb4pex5vsknk084sn02q)
    from     profile default
    role     admin
    mode     live
    expires  never
    [exit 0]
    ");
    let config = fs::read_to_string(home.dir.path().join("config.toml")).unwrap();
    assert!(!config.contains(KEY));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let file = fs::metadata(home.dir.path().join("credentials.toml")).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_key_that_does_not_work_is_not_kept_and_the_old_one_stays() {
    let server = FakeServer::answering(|_| Reply::refusal(401, "unauthorized", "Unauthorized"));
    let home = Home::bare();
    let args = ["login", "--server", &server.address, "--api-key-file", "-"];
    assert_eq!(home.run_with_input(&args, KEY).code, 4);
    assert_eq!(fs::read_dir(home.dir.path()).unwrap().count(), 0);

    let good = service();
    let home = logged_in(&good);
    let before = fs::read(home.dir.path().join("credentials.toml")).unwrap();
    let refused = home.run_with_input(&[&args[..], &["--yes"]].concat(), OTHER_KEY);
    assert_eq!(refused.code, 4);
    assert_eq!(fs::read(home.dir.path().join("credentials.toml")).unwrap(), before);
}

#[test]
fn an_invalid_key_is_refused_and_not_repeated() {
    let server = service();
    for (args, input) in [
        (&["login", "--api-key-file", "-"][..], "hunter2"),
        (&["whoami", "--api-key-file", "-"], "sk_live_hunter2"),
    ] {
        let home = Home::bare().set("LICCTL_SERVER", &server.address);
        let ran = home.run_with_input(args, input);
        assert_eq!((ran.code, ran.stdout.as_str()), (4, ""));
        assert!(!ran.stderr.contains("hunter2"), "{}", ran.stderr);
    }
    assert!(server.received().is_empty());
}

#[test]
fn without_a_terminal_the_key_comes_from_a_file_or_a_variable() {
    let ran = Home::bare().run(&["login"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("fix: use --api-key-file FILE or set LICCTL_API_KEY"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_kept_key_goes_only_to_the_server_it_was_kept_for() {
    let server = service();
    let home = logged_in(&server);
    let other = service();
    let ran = home.run(&["whoami", "--server", &other.address]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""));
    assert!(ran.stderr.contains("is not sent to"), "{}", ran.stderr);
    assert!(other.received().is_empty());
    // Also when the configuration is made to point elsewhere.
    let path = home.dir.path().join("config.toml");
    let config = fs::read_to_string(&path).unwrap().replace(&server.address, &other.address);
    fs::write(&path, config).unwrap();
    assert_eq!(home.run(&["whoami"]).code, 4);
    assert!(other.received().is_empty());
}

#[test]
fn a_file_of_keys_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let server = service();
    let home = logged_in(&server);
    let path = home.dir.path().join("credentials.toml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let ran = home.run(&["whoami"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""));
    assert!(ran.stderr.contains("fix: chmod 600"), "{}", ran.stderr);
    assert_eq!(server.received().len(), 1);
}

/// CI systems create such files with modes of their own, so this is a note and no error.
#[cfg(unix)]
#[test]
fn a_key_file_that_others_can_read_is_noted() {
    use std::os::unix::fs::PermissionsExt;
    let server = service();
    let home = Home::bare().set("LICCTL_SERVER", &server.address);
    let path = home.dir.path().join("key.txt");
    fs::write(&path, KEY).unwrap();
    for (mode, remarks) in [(0o640, 1), (0o604, 1), (0o600, 0), (0o400, 0)] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let ran = home.run(&["whoami", "--api-key-file", path.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert_eq!(ran.stderr.matches("chmod 600").count(), remarks, "{mode:o}: {}", ran.stderr);
    }
}

#[test]
fn a_variable_comes_before_the_profile_unless_the_profile_was_typed() {
    let server = service();
    let home = logged_in(&server).set("LICCTL_API_KEY", OTHER_KEY);
    assert_eq!(home.run(&["whoami"]).code, 0);
    let typed = home.run(&["whoami", "--profile", "default"]);
    assert_eq!(typed.code, 0);
    assert!(typed.stderr.contains("note:") && typed.stderr.contains("LICCTL_API_KEY"));
    assert_eq!(keys_used(&server), [OTHER_KEY, KEY]);
    let home = logged_in(&server).set("LICCTL_SERVER", "http://127.0.0.1:1");
    let typed = home.run(&["whoami", "--profile", "default"]);
    let note = "note: using the profile's server; LICCTL_SERVER is ignored\n";
    assert_eq!((typed.code, typed.stderr.as_str()), (0, note));
    let same = logged_in(&server).set("LICCTL_SERVER", &server.address);
    assert_eq!(same.run(&["whoami", "--profile", "default"]).stderr, "");
}

#[test]
fn a_key_file_comes_before_everything() {
    let server = service();
    let home = logged_in(&server).set("LICCTL_API_KEY", KEY);
    let ran = home.run_with_input(&["whoami", "-P", "default", "--api-key-file", "-"], OTHER_KEY);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(keys_used(&server), [OTHER_KEY]);
}

#[test]
fn keys_travel_unencrypted_only_with_a_flag() {
    let home = Home::bare().set("LICCTL_API_KEY", KEY);
    // A reserved name, which never resolves: with the flag it fails, but only after trying.
    let far = ["whoami", "--server", "http://licenses.invalid"];
    assert_eq!(home.run(&far).code, 2);
    assert_eq!(home.run(&[&far[..], &["--allow-http"]].concat()).code, 7);
}

#[test]
fn profiles_are_listed_used_renamed_and_removed() {
    let server = service();
    let home = logged_in(&server);
    let again = ["login", "--profile", "staging", "--server", &server.address];
    let login = home.run_with_input(&[&again[..], &["--api-key-file", "-"]].concat(), OTHER_KEY);
    assert_eq!(login.code, 0, "{}", login.stderr);
    insta::assert_snapshot!(home.run(&["profiles", "list"]).seen(&server, &home), @"
    NAME     IN USE  MODE  SERVER                  KEY
    default          live  http://SERVER  in credentials.toml
    staging  yes     test  http://SERVER  in credentials.toml
    [exit 0]
    ");
    assert_eq!(home.run(&["profiles", "rename", "default", "live"]).code, 0);
    assert_eq!(home.run(&["profiles", "use", "live"]).code, 0);
    assert_eq!(home.run(&["profiles", "use", "default"]).code, 3);
    assert_eq!(home.run(&["profiles", "rename", "live", "staging"]).code, 6);
    assert_eq!(home.run(&["whoami"]).code, 0);
    assert_eq!(keys_used(&server).last().unwrap(), KEY);
    assert_eq!(home.run(&["profiles", "remove", "live"]).code, 2, "it has a key: needs a yes");
    assert_eq!(home.run(&["profiles", "remove", "live", "--yes"]).code, 0);
    let kept = fs::read_to_string(home.dir.path().join("credentials.toml")).unwrap();
    assert!(!kept.contains(KEY) && kept.contains(OTHER_KEY));
}

#[test]
fn logging_out_forgets_the_key_and_keeps_the_profile() {
    let server = service();
    let home = logged_in(&server);
    assert_eq!(home.run(&["logout"]).code, 0);
    let kept = fs::read_to_string(home.dir.path().join("credentials.toml")).unwrap();
    assert!(!kept.contains(KEY));
    let ran = home.run(&["whoami"]);
    assert_eq!(ran.code, 4);
    assert!(ran.stderr.contains("Profile default has no key."), "{}", ran.stderr);
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_keyring_the_key_goes_into_a_file_of_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let server = service();
    let home = Home::without_keyring(&server);
    let ran = home.run_with_input(&["login", "--api-key-file", "-"], KEY);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let folder = home.dir.path().join(".config/licctl");
    let file = folder.join("credentials.toml");
    assert!(ran.stdout.contains(&format!("in {}", file.display())), "{}", ran.stdout);
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(&folder)), (0o600, 0o700));
    assert_eq!(home.run(&["whoami"]).code, 0);
    assert_eq!(keys_used(&server), [KEY]);
}

/// A keyring that is unreachable later, as over a remote login.
#[cfg(target_os = "linux")]
#[test]
fn an_unreachable_keyring_is_named_as_the_reason() {
    let server = FakeServer::answering(crate::support::answer);
    let home = Home::without_keyring(&server);
    assert_eq!(home.run_with_input(&["login", "--api-key-file", "-"], KEY).code, 0);
    let path = home.dir.path().join(".config/licctl/config.toml");
    let config = fs::read_to_string(&path).unwrap();
    fs::write(&path, config.replace("\"file\"", "\"keyring\"")).unwrap();
    let ran = home.run(&["whoami"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""));
    let seen = ran.seen(&server, &home);
    assert!(seen.starts_with("error: Cannot use the system keyring.\n"), "{seen}");
    assert!(seen.contains("unix:path=FOLDER/bus"), "where it was looked for: {seen}");
    assert!(seen.contains("fix: unlock it and try again, or use --api-key-file FILE\n"), "{seen}");
    let doctor = home.run(&["doctor"]);
    assert_eq!(doctor.code, 4);
    let told = "no       key            Cannot use the system keyring.";
    assert!(doctor.stdout.contains(told), "{}", doctor.stdout);
}

#[test]
fn missing_settings_are_an_error() {
    let ran = Home::bare().run(&["products", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (4, ""));
    insta::assert_snapshot!(ran.stderr, @"
    error: No API key found.
    fix: licctl login, or set LICCTL_API_KEY
    http://127.0.0.1:8080
    ");
}

/// A keyring whose bus accepts every connection and never answers.
#[cfg(target_os = "linux")]
#[test]
fn a_keyring_that_hangs_is_given_up() {
    use std::os::unix::net::UnixListener;
    let server = service();
    let home = Home::without_keyring(&server);
    let _silent = UnixListener::bind(home.dir.path().join("bus")).unwrap();
    let ran = home.run_with_input(&["login", "--api-key-file", "-"], KEY);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let folder = home.dir.path().join(".config/licctl");
    let note = format!(
        "note: cannot use the system keyring (no response within 2 s); \
         the key is stored in {}/credentials.toml\n",
        folder.display()
    );
    assert!(ran.stderr.contains(&note), "{}", ran.stderr);
    assert_eq!(home.run(&["whoami"]).code, 0);

    let path = folder.join("config.toml");
    let config = fs::read_to_string(&path).unwrap().replace("\"file\"", "\"keyring\"");
    fs::write(&path, &config).unwrap();
    for args in [&["whoami"][..], &["logout"], &["profiles", "remove", "default", "--yes"]] {
        let ran = home.run(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (4, ""), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("  no response within 2 s\nfix: unlock it"), "{}", ran.stderr);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), config, "nothing is half removed");
    let ran = home.run_with_input(&["login", "--api-key-file", "-"], OTHER_KEY);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let note = "note: the old key of profile default is still in the system keyring";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
    assert_eq!(home.run(&["whoami"]).code, 0);
    assert_eq!(keys_used(&server).last().unwrap(), OTHER_KEY);
}
