//! Prompts on a real terminal.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use rexpect::session::spawn_command;
use serde_json::json;

use crate::support::terminal::{SCREEN_TIMEOUT_MS, exit, on_a_terminal, press};
use crate::support::{
    FakeServer, Home, KEY, LICENSE, OTHER_KEY, PRODUCT, Reply, answer, current_key, product,
    service,
};

const HIDE_CURSOR: &str = "\u{1b}[?25l";
const SHOW_CURSOR: &str = "\u{1b}[?25h";

/// The one write among the requests.
fn written(server: &FakeServer) -> (String, serde_json::Value) {
    let received = server.received();
    let write = received.iter().find(|request| request.method != "GET").unwrap();
    (write.line(), write.body.clone())
}

#[test]
fn a_plan_prompts_for_its_product_and_name() {
    let server = service();
    let home = Home::with(&server);
    let mut terminal = on_a_terminal(&home, &["plans", "create", "--max-seats", "5"]);
    terminal.exp_string("Product").unwrap();
    terminal.exp_string("Acme Studio").unwrap();
    press(&mut terminal, "acme\r");
    terminal.exp_string("Name of the plan").unwrap();
    press(&mut terminal, "Team\r");
    terminal.exp_string("Created plan Pro annual of Acme Studio.").unwrap();
    terminal.exp_string("Next: licctl licenses create --plan \"Pro annual\"").unwrap();
    let same = "licctl plans create --max-seats 5 --product \"Acme Studio\" --name Team";
    terminal.exp_string(&format!("Without prompts: {same}")).unwrap();
    terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 0);
    let body = json!({ "productId": PRODUCT, "name": "Team", "maxSeats": 5 });
    assert_eq!(written(&server), ("POST /api/v1/admin/plans".to_owned(), body));
}

#[test]
fn assigning_prompts_for_license_and_user() {
    let server = service();
    let home = Home::with(&server);
    let mut terminal = on_a_terminal(&home, &["licenses", "assign"]);
    terminal.exp_string(LICENSE).unwrap();
    press(&mut terminal, "\t\r");
    terminal.exp_string("external id").unwrap();
    press(&mut terminal, "dora\r");
    let same = format!("Without prompts: licctl licenses assign {LICENSE} dora");
    terminal.exp_string(&same).unwrap();
    terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 0);
    assert_eq!(written(&server).1, json!({ "userId": "dora" }));
}

/// A confirmation shows the whole id, and so does the command without prompts.
#[test]
fn a_part_of_an_id_is_shown_whole() {
    let server = service();
    let home = Home::with(&server);
    let mut terminal = on_a_terminal(&home, &["licenses", "revoke", &LICENSE[20..]]);
    let question = format!("Revoke {LICENSE} (Order 4711)? 4 users in seats will lose access.");
    terminal.exp_string(&question).unwrap();
    press(&mut terminal, "y\r");
    let same = format!("Without prompts: licctl licenses revoke {LICENSE} --yes");
    terminal.exp_string(&same).unwrap();
    terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 0);
}

/// A slip of the profile would hit other customers, so the question names the place.
#[test]
fn a_loss_is_confirmed_with_its_place() {
    let server = service();
    for (key, mode, args, question) in [
        (KEY, "live", &["licenses", "revoke", LICENSE][..], "4 users in seats will lose access."),
        (KEY, "live", &["users", "delete", "alice"], "Delete user alice"),
        (KEY, "live", &["keys", "revoke", "ci"], "Applications that use it will lose access."),
        (OTHER_KEY, "test", &["keys", "revoke", "ci"], "licctl uses this key too"),
        (KEY, "live", &["keys", "roll", "ci", "--overlap", "0"], "Applications that use it"),
    ] {
        let home = Home::bare().set("LICCTL_SERVER", &server.address).set("LICCTL_API_KEY", key);
        let mut terminal = on_a_terminal(&home, args);
        terminal.exp_string(&format!("Target: {mode} mode")).unwrap();
        terminal.exp_string(&format!(" {}", server.address)).unwrap();
        terminal.exp_string(question).unwrap();
        terminal.send_control('c').unwrap();
        terminal.exp_eof().unwrap();
        assert_eq!(exit(&terminal), 130);
    }
    assert!(server.received().iter().all(|request| request.method != "DELETE"));
}

/// licctl asks for the record that a command shows or changes, as for its values.
#[test]
fn a_record_is_asked_for_when_no_argument_names_it() {
    let server = service();
    let home = Home::with(&server);
    for (args, question) in [
        (&["products", "get"][..], "Product"),
        (&["products", "update", "--name", "New"], "Product"),
        (&["plans", "get"], "Plan"),
        (&["plans", "update", "--max-seats", "3"], "Plan"),
        (&["licenses", "update", "--max-seats", "3"], "License"),
        (&["users", "get"], "User (external id)"),
        (&["users", "update", "--name", "none"], "User (external id)"),
        (&["users", "delete"], "User (external id)"),
        (&["keys", "revoke"], "Key"),
        (&["keys", "roll"], "Key"),
    ] {
        let mut terminal = on_a_terminal(&home, args);
        terminal.exp_string(question).unwrap();
        terminal.send_control('c').unwrap();
        terminal.exp_string("Cancelled").unwrap();
        terminal.exp_eof().unwrap();
        assert_eq!(exit(&terminal), 130, "{args:?}");
    }
}

/// Only a whole line deletes the user. Enter does not.
#[test]
fn only_a_confirmation_deletes_a_user() {
    let server = service();
    let home = Home::with(&server);
    for (keys, code) in [("n\r", 130), ("\r", 130), ("no\r", 130), ("Yes\r", 0)] {
        let mut terminal = on_a_terminal(&home, &["users", "delete", "alice"]);
        terminal.exp_string("Delete user alice? (1 license, 0 seats)").unwrap();
        assert!(server.received().iter().all(|request| request.method != "DELETE"));
        press(&mut terminal, keys);
        if code == 0 {
            terminal.exp_string("Deleted user alice (1 license, 0 seats).").unwrap();
            let same = "Without prompts: licctl users delete alice --yes";
            terminal.exp_string(same).unwrap();
        }
        terminal.exp_eof().unwrap();
        assert_eq!(exit(&terminal), code, "{keys:?}");
    }
}

#[test]
fn ctrl_c_at_a_list_gives_the_cursor_back_and_exits_130() {
    let server = service();
    let home = Home::with(&server);
    let mut terminal = on_a_terminal(&home, &["licenses", "assign"]);
    terminal.exp_string(LICENSE).unwrap();
    terminal.send_control('c').unwrap();
    let seen = terminal.exp_string("Cancelled; nothing was changed.").unwrap();
    assert!(seen.rfind(SHOW_CURSOR) > seen.rfind(HIDE_CURSOR), "the cursor is hidden: {seen:?}");
    terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 130);
}

#[test]
fn ctrl_c_at_a_line_of_text_exits_130() {
    let server = service();
    let home = Home::with(&server);
    let mut terminal = on_a_terminal(&home, &["products", "create"]);
    terminal.exp_string("Name of the product").unwrap();
    terminal.send_control('c').unwrap();
    terminal.exp_string("Cancelled").unwrap();
    terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 130);
    assert!(server.received().is_empty());
}

/// A key has letters that are answers, and may end with Enter.
#[test]
fn a_key_pasted_at_a_confirmation_is_no_answer_and_is_not_shown() {
    let server = FakeServer::answering(|_| Reply::data(200, &current_key()));
    let home = Home::bare();
    let old = format!("[profiles.default]\nserver = \"{}\"\n", "https://licenses.example");
    fs::write(home.dir.path().join("config.toml"), old).unwrap();
    let mut terminal = on_a_terminal(&home, &["login", "--server", &server.address]);
    terminal.exp_string("Replace it and remove its key?").unwrap();
    press(&mut terminal, &format!("{KEY}\r"));
    let mut seen = terminal.exp_string("Type y or n and press Enter.").unwrap();
    seen += &terminal.exp_string("Replace it and remove its key?").unwrap();
    assert!(server.received().is_empty());
    press(&mut terminal, "ys\u{8}\r");
    seen += &terminal.exp_string("API key for").unwrap();
    assert!(!seen.contains("sk_"), "{seen}");
    press(&mut terminal, &format!("{KEY}\r"));
    seen += &terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 0, "{seen}");
    assert!(!seen.contains("CANARY"), "{seen}");
    assert_eq!(server.received()[0].key.as_deref(), Some(KEY));
}

#[test]
fn ctrl_c_at_a_confirmation_gives_the_terminal_back_and_exits_130() {
    let server = service();
    let home = Home::with(&server);
    let licctl = env!("CARGO_BIN_EXE_licctl");
    let script = format!("{licctl} licenses revoke {LICENSE}; echo code $?; stty -a");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).env_clear().envs(home.variables());
    command.env("PATH", "/usr/bin:/bin").env("NO_COLOR", "1");
    let mut terminal = spawn_command(command, SCREEN_TIMEOUT_MS).unwrap();
    terminal.exp_string("lose access.").unwrap();
    press(&mut terminal, "y");
    terminal.send_control('c').unwrap();
    terminal.exp_string("Cancelled; nothing was changed.").unwrap();
    terminal.exp_string("code 130").unwrap();
    let settings = terminal.exp_eof().unwrap();
    let settings: Vec<&str> = settings.split_whitespace().collect();
    assert!(settings.contains(&"icanon") && settings.contains(&"isig"), "{settings:?}");
    assert!(server.received().iter().all(|request| request.method == "GET"));
}

#[test]
fn an_address_that_is_none_is_asked_for_again() {
    let server = FakeServer::answering(|_| Reply::data(200, &current_key()));
    let home = Home::bare().set("LICCTL_API_KEY", KEY);
    let mut terminal = on_a_terminal(&home, &["login"]);
    terminal.exp_string("Server").unwrap();
    press(&mut terminal, "ftp://there\r");
    terminal.exp_string("The input is not a valid server URL.").unwrap();
    let bare = server.address.strip_prefix("http://").unwrap();
    press(&mut terminal, &format!("{}{bare}\r", "\u{8}".repeat("ftp://there".len())));
    terminal.exp_string("profile default is now the current profile").unwrap();
    terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 0);
}

#[test]
fn declining_cancels_and_confirming_shows_the_flag() {
    let server = service();
    let home = Home::with(&server);
    let mut terminal = on_a_terminal(&home, &["licenses", "revoke", LICENSE]);
    terminal.exp_string("lose access.").unwrap();
    press(&mut terminal, "n\r");
    terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 130);
    let mut terminal = on_a_terminal(&home, &["licenses", "revoke", LICENSE]);
    terminal.exp_string("lose access.").unwrap();
    press(&mut terminal, "y\r");
    terminal.exp_string(&format!("licctl licenses revoke {LICENSE} --yes")).unwrap();
    terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 0);
    assert_eq!(written(&server).1, json!({ "status": "revoked" }));
}

#[test]
fn validating_an_unknown_user_needs_a_confirmation() {
    let server = service();
    let home = Home::with(&server);
    let mut terminal = on_a_terminal(&home, &["validate", "nobody"]);
    terminal.exp_string("User nobody does not exist").unwrap();
    press(&mut terminal, "n\r");
    terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 130);
    assert!(server.received().iter().all(|request| request.method == "GET"));
}

#[test]
fn the_key_is_not_shown_while_it_is_typed() {
    let server = FakeServer::answering(|_| Reply::data(200, &current_key()));
    let home = Home::bare();
    let mut terminal = on_a_terminal(&home, &["login", "--server", &server.address]);
    terminal.exp_string("API key for").unwrap();
    press(&mut terminal, &format!("{KEY}\r"));
    let seen = terminal.exp_eof().unwrap();
    assert!(
        seen.contains("profile default is now the current profile") && !seen.contains(KEY),
        "{seen}"
    );
    assert_eq!(exit(&terminal), 0);
    assert_eq!(server.received()[0].key.as_deref(), Some(KEY));
}

#[test]
fn there_is_no_prompt_without_a_terminal_or_with_no_input() {
    let server = service();
    for (home, script) in [
        (Home::with(&server), "licctl products create < /dev/null"),
        (Home::with(&server), "licctl products create --no-input"),
        (Home::with(&server).set("CI", "true"), "licctl products create"),
    ] {
        let script = script.replace("licctl", env!("CARGO_BIN_EXE_licctl"));
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script]).env_clear().envs(home.variables());
        let mut terminal = spawn_command(command, SCREEN_TIMEOUT_MS).unwrap();
        let seen = terminal.exp_eof().unwrap();
        assert!(seen.contains("Missing option --name."), "{script}: {seen}");
        assert_eq!(exit(&terminal), 2, "{script}");
    }
}

#[test]
fn a_narrow_terminal_hides_and_names_columns() {
    let server = service();
    let home = Home::with(&server);
    let script = format!("stty cols 60; {} licenses list", env!("CARGO_BIN_EXE_licctl"));
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).env_clear().envs(home.variables());
    command.env("PATH", "/usr/bin:/bin").env("NO_COLOR", "1");
    let mut terminal = spawn_command(command, SCREEN_TIMEOUT_MS).unwrap();
    let seen = terminal.exp_eof().unwrap();
    let lines: Vec<&str> = seen.lines().collect();
    let [titles, license, hidden, rest] = lines[..] else { panic!("{seen}") };
    assert_eq!(titles.split_whitespace().collect::<Vec<_>>(), ["ID", "PLAN", "STATUS", "EXPIRES"]);
    assert!(license.starts_with(LICENSE) && license.len() <= 60, "{license}");
    assert_eq!(hidden, "hidden columns: PRODUCT, NAME, SEATS, FEATURES (show with");
    assert_eq!(rest, "-c)", "a word stays whole");
}

/// A wait counts down on a line that is gone afterwards.
#[test]
fn a_wait_is_shown_until_it_ends() {
    let asked = AtomicUsize::new(0);
    let server = FakeServer::answering(move |request| {
        if asked.fetch_add(1, Ordering::Relaxed) == 0 {
            return Reply::refusal(429, "rate_limited", "Slowly.").with("retry-after", "1");
        }
        answer(request)
    });
    let home = Home::with(&server);
    let mut terminal = on_a_terminal(&home, &["products", "list", "-q"]);
    terminal.exp_string("rate limited; retrying in 1 s (Ctrl-C to stop)").unwrap();
    let after = terminal.exp_eof().unwrap();
    let cleared = after.find("\u{1b}[2K").expect("the line is cleared");
    assert!(after[cleared..].contains(PRODUCT), "{after:?}");
    assert_eq!(exit(&terminal), 0);
}

/// The address reaches the program that opens browsers, and the person.
#[test]
fn the_dashboard_is_opened() {
    let server = service();
    let home = Home::with(&server);
    let folder = home.dir.path();
    let (opener, pipe) = (folder.join("xdg-open"), folder.join("opened"));
    fs::write(&opener, "#!/bin/sh\nprintf %s \"$1\" >\"${0%/*}/opened\"\n").unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let home = home.set("PATH", &path);
    let mut terminal = on_a_terminal(&home, &["dashboard"]);
    let address = format!("{}/dashboard", server.address);
    assert_eq!(fs::read_to_string(&pipe).unwrap(), address);
    terminal.exp_string(&address).unwrap();
    terminal.exp_eof().unwrap();
    assert_eq!(exit(&terminal), 0);

    let printed = home.run(&["dashboard"]);
    assert_eq!(printed.stdout, format!("{address}\n"));
}

/// The command without prompts would write the same report again.
#[test]
fn a_run_that_is_to_be_continued_shows_that_command_alone() {
    let server = FakeServer::answering(|request| match &request.body["userId"] {
        user if user == "u7" => Reply::refusal(400, "invalid", "No."),
        _ => answer(request),
    });
    let home = Home::with(&server);
    let folder = home.dir.path();
    let users: String = (0..30).map(|n| format!("u{n}\n")).collect();
    fs::write(folder.join("users.csv"), format!("userId\n{users}")).unwrap();
    let from = folder.join("users.csv").display().to_string();
    let report = folder.join("out.jsonl").display().to_string();
    let args = ["licenses", "assign", LICENSE, "--from", &from, "--report", &report];
    let mut terminal = on_a_terminal(&home, &args);
    terminal.exp_string("Assign the license to 30 users?").unwrap();
    press(&mut terminal, "y\r");
    let same = format!(
        "resume with: licctl licenses assign {LICENSE} --from {from} --yes --resume {report}"
    );
    terminal.exp_string(&same).unwrap();
    let rest = terminal.exp_eof().unwrap();
    assert!(!rest.contains("Without prompts"), "{rest}");
    assert_eq!(exit(&terminal), 9);
}

/// A name of the server neither moves the cursor nor reverses a line, in any format; a file gets it
/// as it is.
#[test]
fn data_on_a_terminal_is_shown_and_not_obeyed() {
    let server = FakeServer::answering(|request| match request.path.as_str() {
        "/api/v1/key" => Reply::data(200, &current_key()),
        _ => Reply::list(&[product("A\u{202e}B")]),
    });
    let home = Home::with(&server);
    for format in ["json", "jsonl", "csv"] {
        let mut terminal = on_a_terminal(&home, &["products", "list", "-o", format]);
        let shown = terminal.exp_eof().unwrap();
        assert!(shown.contains(r"A\u202eB"), "{format}: {shown}");
        let file = home.run(&["products", "list", "-o", format]).stdout;
        assert!(file.contains("A\u{202e}B"), "{format}: {file}");
    }
}
