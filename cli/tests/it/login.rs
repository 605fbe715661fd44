//! `licctl login`: several at the same time, and the accepted addresses.

use std::fs;
use std::net::TcpStream;
use std::process::Child;
use std::sync::Mutex;

use crate::support::{FakeServer, Home, KEY, Reply, RunOutput, current_key, numbered_key};

/// The server responds to the logins after all have asked, so that they change the files together.
#[test]
fn logins_at_once_lose_no_profile_and_no_key() {
    const LOGINS: usize = 20;
    let logins = Mutex::new((0, Vec::<TcpStream>::new()));
    let server = FakeServer::serving(move |_, stream| {
        let (asked, waiting) = &mut *logins.lock().unwrap();
        *asked += 1;
        waiting.push(stream);
        if *asked >= LOGINS {
            waiting.drain(..).for_each(|stream| Reply::data(200, &current_key()).send(stream));
        }
    });
    let home = Home::bare().set("LICCTL_SERVER", &server.address);
    let config = home.dir.path().join("config.toml");
    let ours = format!("# Ours.\n[profiles.old]\nserver = \"{}\"\n", server.address);
    fs::write(&config, &ours).unwrap();
    let begin = |number: usize| {
        let key = home.dir.path().join(format!("{number}.key"));
        fs::write(&key, numbered_key(number)).unwrap();
        let name = format!("p{number}");
        home.command(&["login", "-P", &name, "--api-key-file", key.to_str().unwrap()])
            .spawn()
            .unwrap()
    };
    let logins: Vec<Child> = (0..LOGINS).map(begin).collect();
    for login in logins {
        let ran = RunOutput::from(login.wait_with_output().unwrap());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    assert!(fs::read_to_string(&config).unwrap().contains(&ours));
    let names = home.run(&["profiles", "list", "-q"]).stdout;
    assert_eq!(names.lines().count(), 1 + LOGINS, "{names}");
    for number in 0..LOGINS {
        assert_eq!(home.run(&["whoami", "-P", &format!("p{number}")]).code, 0);
        let used = server.received().pop().unwrap().key;
        assert_eq!(used, Some(numbered_key(number)));
    }
}

/// Another licctl may change a profile while this one waits for the server.
#[test]
fn a_profile_that_is_replaced_meanwhile_is_not_lost() {
    let home = Home::bare();
    let config = home.dir.path().join("config.toml");
    let other = "[profiles.default]\nserver = \"https://licenses.example/\"\nkey = \"file\"\n";
    let (changed, text) = (config.clone(), other.to_owned());
    let server = FakeServer::answering(move |_| {
        fs::write(&changed, &text).unwrap();
        Reply::data(200, &current_key())
    });
    let login = ["login", "--server", &server.address, "--api-key-file", "-"];
    let ran = home.run_with_input(&login, KEY);
    assert_eq!((ran.code, ran.stdout.as_str()), (6, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("Profile default was changed by another licctl"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(&config).unwrap(), other);
    assert!(!home.dir.path().join("credentials.toml").exists());
}

#[test]
fn a_server_needs_no_scheme() {
    let server = FakeServer::answering(|_| Reply::data(200, &current_key()));
    let port = server.address.rsplit(':').next().unwrap();
    for host in ["127.0.0.1", "localhost"] {
        let home = Home::bare().set("LICCTL_API_KEY", KEY);
        let ran = home.run(&["login", "--server", &format!("{host}:{port}")]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let server = home.run(&["whoami", "--jq", ".server"]).stdout;
        assert_eq!(server, format!("http://{host}:{port}\n"));
    }
    let ran = Home::bare().set("LICCTL_API_KEY", KEY).run(&["whoami", "--server", "far.invalid"]);
    assert_eq!(ran.code, 7);
    assert!(ran.stderr.contains("https://far.invalid"), "{}", ran.stderr);
}

#[test]
fn what_is_no_address_is_refused_with_an_example() {
    let home = Home::bare().set("LICCTL_API_KEY", KEY);
    let more = ["ftp://host", "https://", "https://ann@host", "https://host/?a", "https://host/#a"];
    for text in ["", "licenses", "a b.c", "host:port", "my_key.txt"].iter().chain(&more) {
        let ran = home.run(&["whoami", "--server", text]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{text}: {}", ran.stderr);
        insta::allow_duplicates! {
            insta::assert_snapshot!(ran.stderr, @"
            error: --server is not a valid server URL.
            fix: use a URL such as https://licenses.example.com
            ");
        }
    }
}

/// Addresses as an operator copies them from a terminal or a page: with the path of the interface,
/// or with invisible characters. A proxy in between is named, because licd may run behind it.
#[test]
fn an_address_that_cannot_work_says_why() {
    let server = FakeServer::answering(|_| Reply::data(200, &current_key()));
    let whoami = |address: &str| {
        Home::bare().set("LICCTL_API_KEY", KEY).set("LICCTL_SERVER", address).run(&["whoami"])
    };
    assert_eq!(whoami(&format!(" {}\r\n", server.address)).code, 0);
    for (address, said) in [
        (
            "https://l.example/api/v1/",
            "error: LICCTL_SERVER is the address of licd followed by /api/v1",
        ),
        ("https://l.\u{200b}example", "error: LICCTL_SERVER: it contains an invisible character"),
    ] {
        let ran = whoami(address);
        assert_eq!(ran.code, 2, "{address}");
        assert!(ran.stderr.starts_with(said), "{}", ran.stderr);
    }
    let key = format!("\u{feff}{KEY}\r\n");
    let home = Home::bare().set("LICCTL_SERVER", &server.address);
    assert_eq!(home.set("LICCTL_API_KEY", &key).run(&["whoami"]).code, 0);

    let home = Home::bare().set("LICCTL_API_KEY", KEY).set("LICCTL_PATIENCE", "0");
    let home = home.set("LICCTL_SERVER", "https://l.example");
    let home = home.set("HTTPS_PROXY", "http://me:secret@127.0.0.1:9/");
    let ran = home.run(&["whoami"]);
    assert_eq!(ran.code, 7);
    let told = "fix: check the proxy 127.0.0.1:9, which HTTPS_PROXY names, or name";
    assert!(ran.stderr.contains(told) && !ran.stderr.contains("secret"), "{}", ran.stderr);
}

#[test]
fn the_path_of_an_address_is_sent_and_shown() {
    let server = FakeServer::answering(|request| match request.path.as_str() {
        "/licd/api/v1/key" => Reply::data(200, &current_key()),
        _ => Reply::refusal(404, "not_found", "Not found."),
    });
    let address = format!("{}/licd/", server.address);
    let home = Home::bare().set("LICCTL_API_KEY", KEY);
    assert_eq!(home.run(&["login", "--server", &address]).code, 0);
    let shown = address.trim_end_matches('/');
    let ran = home.run(&["whoami", "-v"]);
    assert!(ran.stdout.contains(&format!("server   {shown}\n")), "{}", ran.stdout);
    assert!(ran.stderr.contains("GET /licd/api/v1/key 200"), "{}", ran.stderr);
    let ran = home.run(&["products", "list"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.ends_with(&format!("profile default · {shown}\n")), "{}", ran.stderr);
    assert!(home.run(&["profiles", "list"]).stdout.contains(shown));
}

/// Editors on Windows save such files.
#[test]
fn a_key_file_in_another_encoding_is_named_as_that() {
    let home = Home::bare().set("LICCTL_SERVER", "http://127.0.0.1:9");
    let key = home.dir.path().join("key.txt");
    fs::write(&key, b"\xff\xfes\0k\0").unwrap();
    let ran = home.run(&["whoami", "--api-key-file", key.to_str().unwrap()]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("fix: save the file as UTF-8"), "{}", ran.stderr);
}
