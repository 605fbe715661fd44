//! Completion without the network, and the manual pages.

use std::path::Path;
use std::process::Command;

use crate::support::{
    FakeServer, Home, KEY, LICENSE, OTHER_KEY, Reply, current_key, plan, product, service,
};

/// Returns what a fish shell would offer for these words, of which the last is being typed.
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
    let license = format!("{LICENSE}\tOrder 4711 · Pro annual · active");
    assert_eq!(offered(&home, &["licenses", "assign", "lic_"]), [license]);
    // A person knows the customer or the order.
    let named = format!("Order 4711\t{LICENSE} · Pro annual · active");
    assert_eq!(offered(&home, &["licenses", "assign", "Ord"]), [named]);
    assert_eq!(offered(&home, &["validate", "al"]), ["alice"]);
    let plan = "Pro annual\tpln_01h455vb4pex5vsknk084sn02q · Acme Studio";
    assert_eq!(offered(&home, &["licenses", "create", "--plan", ""]), [plan]);
    // The word as it stands in the shell, with an escaped blank or an open quote.
    for typed in ["Pro\\ an", "\"Pro an", "'Pro an"] {
        assert_eq!(offered(&home, &["plans", "get", typed]), [plan], "{typed}");
    }
    let nouns = offered(&home, &["pl"]);
    assert!(nouns.len() == 1 && nouns[0].starts_with("plans\t"), "{nouns:?}");
    assert!(offered(&home, &["license", "ac"])[0].starts_with("activate\t"));
    // The only license is active already.
    assert_eq!(offered(&home, &["licenses", "activate", "Ord"]), [""; 0]);
    assert!(offered(&home, &["licenses", "suspend", "lic_"])[0].starts_with(LICENSE));
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

/// Two profiles of one server open two modes, or two tenants.
#[test]
fn names_of_one_profile_are_not_offered_for_another() {
    let server = FakeServer::answering(|request| match request.path.contains("products") {
        true => Reply::list(&[product("Studio")]),
        false => Reply::data(200, &current_key()),
    });
    let home = Home::bare().set("LICCTL_SERVER", &server.address);
    for (profile, key) in [("live", KEY), ("test", OTHER_KEY)] {
        let args = ["login", "--profile", profile, "--api-key-file", "-"];
        assert_eq!(home.run_with_input(&args, key).code, 0);
    }
    assert_eq!(home.run(&["-P", "test", "products", "list"]).code, 0);
    let words = |profile| ["-P", profile, "plans", "create", "--product", ""];
    assert_eq!(offered(&home, &words("test")).len(), 1);
    assert_eq!(offered(&home, &words("live")), [""; 0]);
}

/// The next key of a profile may be of another mode.
#[test]
fn another_key_begins_with_an_empty_cache() {
    let server = service();
    let home = Home::with(&server);
    let names = |home: &Home| offered(home, &["plans", "create", "--product", ""]).len();
    assert_eq!(home.run(&["products", "list"]).code, 0);
    assert_eq!(names(&home), 1);
    assert_eq!(names(&home.set("LICCTL_API_KEY", OTHER_KEY)), 0);
}

#[test]
fn files_and_fixed_words_complete() {
    let home = Home::bare();
    for name in ["ch.yaml", "two words.yaml"] {
        std::fs::write(home.dir.path().join(name), "").unwrap();
    }
    let folder = home.dir.path().display().to_string();
    let typed = format!("{folder}/ch");
    for words in [
        &["apply", "-f"][..],
        &["diff", "--file"],
        &["users", "import"],
        &["validate", "--from"],
        &["licenses", "assign", "--from"],
        &["products", "list", "--ca-cert"],
        &["api", "--input"],
        &["users", "import", "x.csv", "--report"],
    ] {
        let words = [words, &[typed.as_str()]].concat();
        assert_eq!(offered(&home, &words), [format!("{folder}/ch.yaml")], "{words:?}");
    }
    let blank = format!("{folder}/two\\ w");
    assert_eq!(offered(&home, &["apply", "-f", &blank]), [format!("{folder}/two words.yaml")]);
    let shells = ["bash", "elvish", "fish", "powershell", "zsh"];
    assert_eq!(offered(&home, &["completions", ""])[..5], shells);
    let roles = offered(&home, &["keys", "create", "--role", ""]);
    assert_eq!(roles, ["validate", "read", "admin"]);
    assert_eq!(offered(&home, &["help", "exi"]), ["exit-codes\texit codes and errors"]);
    assert!(offered(&home, &["help", "plans", "cr"])[0].starts_with("create\t"));
    assert!(offered(&home, &["man", "lic"])[0].starts_with("licenses\t"));
    assert_eq!(offered(&home, &["man", "exi"]), [""; 0]);
    assert_eq!(offered(&home, &["plans", "list", "-c", "id,pr"]), ["id,product"]);
    assert_eq!(offered(&home, &["licenses", "usage", "-c", "em"]), ["email"]);
    assert_eq!(offered(&home, &["licenses", "keys", "list", "-c", "us"]), ["uses"]);
}

/// A list of twenty flags hides the commands.
#[test]
fn flags_are_offered_after_a_dash() {
    let home = Home::bare();
    let is_flag = |line: &String| line.starts_with('-');
    for words in [&[""][..], &["licenses", ""], &["keys", "create", "--role", ""]] {
        let lines = offered(&home, words);
        assert!(!lines.is_empty() && !lines.iter().any(is_flag), "{words:?}: {lines:?}");
    }
    assert!(offered(&home, &["licenses", "list", "--p"]).iter().any(|it| it.starts_with("--plan")));
    assert!(offered(&home, &["keys", "create", ""]).iter().any(is_flag), "there is nothing else");
}

/// Each with its product, as the command takes it.
#[test]
fn plans_of_one_name_complete_with_their_products() {
    let server = FakeServer::answering(|request| {
        let (mut second, mut other) = (plan("Pro"), product("Render Farm"));
        second["id"] = "pln_01h455vb4pex5vsknk084sn0zz".into();
        other["id"] = "prd_01h455vb4pex5vsknk084sn0zz".into();
        second["productId"] = other["id"].clone();
        match request.path.contains("plans") {
            true => Reply::list(&[plan("Pro"), second]),
            false => Reply::list(&[product("Studio"), other]),
        }
    });
    let home = Home::with(&server);
    assert_eq!(home.run(&["plans", "list"]).code, 0);
    let names = offered(&home, &["plans", "get", ""]);
    let names: Vec<_> = names.iter().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(names, ["Studio/Pro", "Render Farm/Pro"]);
}

/// The real shell quotes a name with a blank, unless it is being typed within quotes.
#[test]
fn bash_quotes_names() {
    let server = service();
    let home = Home::with(&server);
    assert_eq!(home.run(&["plans", "list"]).code, 0);
    let script = home.dir.path().join("licctl.bash");
    std::fs::write(&script, home.run(&["completions", "bash"]).stdout).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_licctl")).parent().unwrap().display();
    for (words, current, completed) in [
        ("plans get Pr", "Pr", r"Pro\ annual"),
        ("plans get '\"Pr'", "Pr", "Pro annual"),
        ("licenses create --plan = Pr", "Pr", r"Pro\ annual"),
    ] {
        let line = format!(
            "source {}; COMP_WORDS=(licctl {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _licctl licctl {current} 2>/dev/null; printf '%s\n' \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let mut bash = Command::new("bash");
        bash.args(["-c", &line]).env_clear().envs(home.variables());
        bash.env("PATH", format!("{programs}:/usr/bin:/bin"));
        let output = bash.output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), completed, "{words}");
    }
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
    assert!(page.contains("max\\-seats") && page.contains("Timeout of"), "{page}");
    for section in ["EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "FILES"] {
        let title = if section.contains(' ') { format!("\"{section}\"") } else { section.into() };
        assert!(page.contains(&format!(".SH {title}\n.nf\n")), "{section}: {page}");
    }
    for command in [&["man", "diff"][..], &["man", "users", "get"]] {
        let page = home.run(command).stdout;
        assert!(page.is_ascii() && page.contains("\\[u"), "{page}");
    }
    assert_eq!(home.run(&["man", "nothing"]).code, 3);
    let folder = home.dir.path().join("man1");
    assert_eq!(home.run(&["man", "--all-to", folder.to_str().unwrap()]).code, 0);
    assert!(folder.join("licctl-licenses-assign.1").exists());
}
