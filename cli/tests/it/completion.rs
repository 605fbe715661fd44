//! Completion without the network, and the manual pages.

use crate::support::{FakeServer, Home, KEY, LICENSE, Reply, plan, product, service};

/// What a fish shell would offer for these words, the last being typed just now.
fn offered(home: &Home, words: &[&str]) -> Vec<String> {
    let args: Vec<&str> = ["--", "licctl"].iter().chain(words).copied().collect();
    let mut command = home.command(&args);
    let output = command.env("LICCTL_COMPLETE", "fish").output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn listed_ids_and_names_complete_without_a_request() {
    let server = service();
    let home = Home::with(&server);
    assert_eq!(offered(&home, &["licenses", "assign", "lic"]), [""; 0]);
    for noun in ["products", "plans", "licenses", "users"] {
        assert_eq!(home.run(&[noun, "list"]).code, 0);
    }
    let asked = server.received().len();
    assert_eq!(offered(&home, &["licenses", "assign", "lic"]), [LICENSE]);
    assert_eq!(offered(&home, &["validate", "al"]), ["alice"]);
    // A name of several words is offered by its id, which every shell completes.
    let plans = offered(&home, &["licenses", "create", "--plan", ""]);
    assert_eq!(plans, ["pln_01h455vb4pex5vsknk084sn02q\tPro annual"]);
    assert!(offered(&home, &["pl"]).iter().any(|line| line.starts_with("plan")));
    assert_eq!(server.received().len(), asked);
}

#[test]
fn names_of_one_server_are_not_offered_for_another() {
    let one = FakeServer::answering(|_| Reply::list(&[product("Studio")]));
    let home = Home::with(&one);
    assert_eq!(home.run(&["products", "list"]).code, 0);
    let words = ["plans", "create", "--product", ""];
    assert_eq!(offered(&home, &words), ["Studio\tprd_01h455vb4pex5vsknk084sn02q"]);
    let home = home.set("LICCTL_SERVER", "http://127.0.0.1:1");
    assert_eq!(offered(&home, &words), [""; 0]);
}

#[test]
fn the_completion_cache_holds_no_key() {
    let server = FakeServer::answering(|request| match request.path.contains("plans") {
        true => Reply::list(&[plan("Pro")]),
        false => Reply::list(&[product("Studio")]),
    });
    let home = Home::with(&server);
    assert_eq!(home.run(&["plans", "list"]).code, 0);
    let cache = home.dir.path().join("cache");
    let files: Vec<_> =
        std::fs::read_dir(cache).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    let text = std::fs::read_to_string(&files[0]).unwrap();
    assert!(text.contains("Studio") && !text.contains(KEY), "{text}");
}

#[test]
fn every_shell_gets_its_script() {
    let home = Home::bare();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = home.run(&["completions", shell]);
        assert_eq!(ran.code, 0, "{shell}: {}", ran.stderr);
        assert!(ran.stdout.contains("LICCTL_COMPLETE"), "{shell}: {}", ran.stdout);
    }
    let ran = home.run(&["completions", "tcsh"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let home = Home::bare();
    assert!(home.run(&["man"]).stdout.contains(".TH licctl 1"));
    let page = home.run(&["man", "plans", "create"]).stdout;
    assert!(page.contains("max\\-seats") && page.contains("Time to wait"), "{page}");
    assert_eq!(home.run(&["man", "nothing"]).code, 3);
    let folder = home.dir.path().join("man1");
    assert_eq!(home.run(&["man", "--all-to", folder.to_str().unwrap()]).code, 0);
    assert!(folder.join("licctl-licenses-assign.1").exists());
}
