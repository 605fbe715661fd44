//! Servers behind TLS: a valid certificate is accepted, and an invalid one is refused with a reason
//! and a fix before any key is sent.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;

use tempfile::TempDir;

use crate::support::{FakeServer, Home, KEY, Reply, RunOutput, Secured};

/// The output of a list and of doctor for this server.
fn ask(address: &str, flags: &[&str]) -> (RunOutput, String) {
    let home = Home::bare().set("LICCTL_SERVER", address).set("LICCTL_API_KEY", KEY);
    let port = address.rsplit(':').next().unwrap();
    let run = |args: &[&str]| home.run(&[args, flags].concat());
    let list = run(&["products", "list"]);
    let doctor = run(&["doctor"]);
    assert_eq!(doctor.code, list.code, "{doctor:?}");
    let lines: Vec<&str> = doctor.stdout.lines().collect();
    let at = lines.iter().position(|line| line.contains(" connection ")).unwrap();
    let told = lines[at..].iter().take(2).map(|line| format!("{line}\n")).collect::<String>();
    let seen = format!("{}\n{told}", list.stderr).replace(port, "PORT");
    (list, seen)
}

/// Runs licctl with trust in the server's own certificate.
fn ask_trusting(server: &Secured) -> (RunOutput, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server.pem");
    fs::write(&file, &server.certificate).unwrap();
    ask(&server.address, &["--ca-cert", file.to_str().unwrap()])
}

fn refused(address: &str) -> String {
    let (list, seen) = ask(address, &[]);
    assert_eq!((list.code, list.stdout.as_str()), (7, ""), "{seen}");
    seen
}

#[test]
fn a_certificate_of_an_unknown_authority_is_refused() {
    let server = Secured::named("localhost");
    insta::assert_snapshot!(refused(&server.address), @"
    error: Cannot establish a secure connection to https://localhost:PORT.
      Its certificate was signed by an unknown authority.
    fix: if the server is yours, pass its CA certificate with --ca-cert FILE
    https://localhost:PORT

    no       connection     Its certificate was signed by an unknown authority.
             fix: if the server is yours, pass its CA certificate with --ca-cert FILE
    ");
}

#[test]
fn such_a_certificate_can_be_trusted() {
    let server = Secured::named("localhost");
    let (list, seen) = ask_trusting(&server);
    assert_eq!(list.code, 0, "{seen}");
    assert!(list.stdout.contains("Acme Studio"), "{list:?}");
    assert!(seen.contains("ok       connection     licd responds, over TLS"), "{seen}");
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let server = Secured::named("licenses.example");
    let (list, seen) = ask_trusting(&server);
    assert_eq!((list.code, list.stdout.as_str()), (7, ""), "{seen}");
    insta::assert_snapshot!(seen, @"
    error: Cannot establish a secure connection to https://localhost:PORT.
      Its certificate is for licenses.example.
    fix: use one of these names with --server or in the profile
    https://localhost:PORT

    no       connection     Its certificate is for licenses.example.
             fix: use one of these names with --server or in the profile
    ");
}

#[test]
fn an_expired_certificate_is_refused() {
    let server = Secured::expired();
    let (list, seen) = ask_trusting(&server);
    assert_eq!((list.code, list.stdout.as_str()), (7, ""), "{seen}");
    insta::assert_snapshot!(seen, @"
    error: Cannot establish a secure connection to https://localhost:PORT.
      Its certificate has expired.
    fix: renew it on the server, or correct this machine's clock
    https://localhost:PORT

    no       connection     Its certificate has expired.
             fix: renew it on the server, or correct this machine's clock
    ");
}

#[test]
fn an_authoritys_certificate_is_refused_with_the_way_to_make_another() {
    let server = Secured::authority();
    let (list, seen) = ask_trusting(&server);
    assert_eq!((list.code, list.stdout.as_str()), (7, ""), "{seen}");
    insta::assert_snapshot!(seen, @"
    error: Cannot establish a secure connection to https://localhost:PORT.
      Its certificate is a CA certificate and not a server certificate.
    fix: recreate it with openssl req -x509 and -addext basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:HOST (or IP:ADDRESS), and pass the new one with --ca-cert FILE
    https://localhost:PORT

    no       connection     Its certificate is a CA certificate and not a server certificate.
             fix: recreate it with openssl req -x509 and -addext basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:HOST (or IP:ADDRESS), and pass the new one with --ca-cert FILE
    ");
}

#[test]
fn a_certificate_without_a_name_is_refused() {
    let server = Secured::nameless();
    let (list, seen) = ask_trusting(&server);
    assert_eq!((list.code, list.stdout.as_str()), (7, ""), "{seen}");
    insta::assert_snapshot!(seen, @"
    error: Cannot establish a secure connection to https://localhost:PORT.
      Its certificate names no host.
    fix: recreate it with -addext subjectAltName=DNS:HOST (or IP:ADDRESS)
    https://localhost:PORT

    no       connection     Its certificate names no host.
             fix: recreate it with -addext subjectAltName=DNS:HOST (or IP:ADDRESS)
    ");
}

/// A folder in which `name` is the certificate of this server.
fn kept(server: &Secured, name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), &server.certificate).unwrap();
    folder
}

#[test]
fn a_login_remembers_the_file_of_certificates() {
    let server = Secured::named("localhost");
    let folder = kept(&server, "ca.pem");
    let home = Home::bare();
    let login = ["login", "--server", &server.address, "--ca-cert", "ca.pem"];
    let mut command = home.command(&login);
    command.current_dir(folder.path()).env("LICCTL_API_KEY", KEY);
    let ran = RunOutput::from(command.output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let path = folder.path().join("ca.pem").display().to_string();
    let profile = &home.run(&["profiles", "list", "-o", "json"]).json()[0];
    assert_eq!(profile["caCert"], path.as_str());
    assert_eq!(home.run(&["products", "list"]).code, 0, "in another folder, without the flag");
    assert_eq!(home.run(&["doctor"]).code, 0);

    let home = home.set("LICCTL_API_KEY", KEY);
    assert_eq!(home.run(&["login", "--server", &server.address]).code, 0, "it is still trusted");
    let other = Secured::named("localhost");
    let ran = home.run(&["products", "list", "--server", &other.address]);
    assert!(ran.stderr.contains("signed by an unknown authority"), "{}", ran.stderr);
    fs::remove_file(&path).unwrap();
    let ran = home.run(&["products", "list"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("fix: check the path given by profile default"), "{ran:?}");
}

#[test]
fn the_flag_comes_before_the_variable_and_that_before_the_profile() {
    let server = Secured::named("localhost");
    let right = kept(&server, "ca.pem");
    let wrong = kept(&Secured::named("localhost"), "ca.pem");
    let path = |folder: &TempDir| folder.path().join("ca.pem").display().to_string();
    let logged_in = |remembered: &TempDir| {
        let home = Home::bare().set("LICCTL_API_KEY", KEY);
        let text = format!(
            "current = 'a'\nprofiles.a = {{ server = '{}', ca-cert = '{}' }}\n",
            server.address,
            path(remembered)
        );
        fs::write(home.dir.path().join("config.toml"), text).unwrap();
        home
    };
    let list = ["products", "list"];
    assert_eq!(logged_in(&right).run(&list).code, 0);
    assert_eq!(logged_in(&wrong).run(&list).code, 7);
    assert_eq!(logged_in(&right).set("LICCTL_CA_CERT", &path(&wrong)).run(&list).code, 7);
    let home = logged_in(&wrong).set("LICCTL_CA_CERT", &path(&right));
    assert_eq!(home.run(&list).code, 0);
    assert_eq!(home.run(&["products", "list", "--ca-cert", &path(&wrong)]).code, 7);
}

/// One server hangs up, and one responds to the handshake as if it were a request.
#[test]
fn a_server_without_tls_has_its_own_error() {
    let server = FakeServer::answering(crate::support::answer);
    let seen = refused(&server.address.replace("http:", "https:"));
    insta::assert_snapshot!(seen, @"
    error: Cannot establish a secure connection to https://127.0.0.1:PORT.
      The server does not use TLS on this port.
    fix: check the port; without TLS the URL begins with http://
    https://127.0.0.1:PORT

    no       connection     The server does not use TLS on this port.
             fix: check the port; without TLS the URL begins with http://
    ");
    assert!(server.received().is_empty());

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    assert_eq!(refused(&address), seen);
}

/// licd, nginx and Apache say so in a response; others end the connection.
#[test]
fn a_server_with_tls_is_told_from_one_without() {
    let told = "This address is served over TLS: it begins with https://";
    let nginx = "<center>The plain HTTP request was sent to HTTPS port</center>";
    for reply in [(400, told), (400, nginx), (404, nginx)] {
        let server = FakeServer::answering(move |_| match reply {
            (status, text) if text == told => Reply::refusal(status, "invalid_request", told),
            (status, page) => Reply::new(status, page),
        });
        let ran = Home::with(&server).run(&["products", "list"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (7, ""));
        let secure = server.address.replace("http:", "https:");
        let told = format!("error: {} requires TLS.\nfix: use {secure}\n", server.address);
        assert_eq!(ran.stderr.starts_with(&told), reply.0 == 400, "{}", ran.stderr);
    }
    let server = Secured::named("localhost");
    let seen = refused(&server.address.replace("https:", "http:"));
    assert!(seen.contains("with TLS it begins with https://"), "{seen}");
}

/// A small container has no certificate authorities.
#[test]
fn a_machine_without_authorities_reaches_plain_http() {
    let bare = |address: &str| {
        let home = Home::bare().set("LICCTL_SERVER", address).set("LICCTL_API_KEY", KEY);
        home.set("SSL_CERT_FILE", "/nowhere").set("SSL_CERT_DIR", "/nowhere")
    };
    let plain = FakeServer::answering(crate::support::answer);
    assert_eq!(bare(&plain.address).run(&["products", "list"]).code, 0);

    let server = Secured::named("localhost");
    let ran = bare(&server.address).run(&["products", "list"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (7, ""));
    insta::assert_snapshot!(ran.stderr.replace(&server.address, "https://SERVER"), @"
    error: Cannot set up the connection.
      unexpected error: No CA certificates were loaded from the system
    fix: install the package ca-certificates, or use --ca-cert FILE
    https://SERVER
    ");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server.pem");
    fs::write(&file, &server.certificate).unwrap();
    let trusting = ["products", "list", "--ca-cert", file.to_str().unwrap()];
    let ran = bare(&server.address).run(&trusting);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

/// A file without a certificate is the caller's mistake, found before anything is sent.
#[test]
fn a_file_without_certificate_is_a_mistake() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("https://{}", listener.local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("empty.pem");
    fs::write(&file, "no certificate\n").unwrap();
    let home = Home::bare().set("LICCTL_SERVER", &address).set("LICCTL_API_KEY", KEY);
    let ran = home.run(&["products", "list", "--ca-cert", file.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("empty.pem"), "{}", ran.stderr);
}
