//! A complete command line for every command, and the files that the lines name. Tests run all of
//! them.

use std::fs;
use std::path::Path;

use clap::Command;

use super::leases::LEASE;

/// At least one line for each command, without the program's name. `HERE` stands for the folder of
/// the run.
pub const LINES: &[&str] = &[
    "validate alice bob",
    "validate alice",
    "validate carol --explain",
    "validate --from HERE/users.csv --report HERE/out.jsonl",
    "licenses list",
    "licenses get lic_01h455vb4pex5vsknk084sn02q",
    "licenses create --plan \"Pro annual\" --assign alice",
    "licenses update lic_01h455vb4pex5vsknk084sn02q --max-seats none",
    "licenses renew lic_01h455vb4pex5vsknk084sn02q --days 30",
    "licenses assign lic_01h455vb4pex5vsknk084sn02q alice bob",
    "licenses assign --plan \"Pro annual\" --from HERE/users.csv --report HERE/out.jsonl",
    "licenses unassign lic_01h455vb4pex5vsknk084sn02q alice",
    "licenses release lic_01h455vb4pex5vsknk084sn02q alice",
    "licenses transfer lic_01h455vb4pex5vsknk084sn02q --from alice --to dave --create-user",
    "licenses usage lic_01h455vb4pex5vsknk084sn02q --fail-at 80%",
    "licenses assignments lic_01h455vb4pex5vsknk084sn02q",
    "licenses suspend lic_01h455vb4pex5vsknk084sn02q",
    "licenses activate lic_01h455vb4pex5vsknk084sn02q",
    "licenses revoke lic_01h455vb4pex5vsknk084sn02q --yes",
    "licenses expire lic_01h455vb4pex5vsknk084sn02q",
    "licenses delete lic_01h455vb4pex5vsknk084sn02q --yes",
    "licenses create --plan \"Pro annual\" --count 2 --with-key",
    "licenses keys list lic_01h455vb4pex5vsknk084sn02q",
    "licenses keys create lic_01h455vb4pex5vsknk084sn02q --max-uses 1",
    "licenses keys find --suffix 67J8KX",
    "licenses keys reissue lky_01h455vb4pex5vsknk084sn02q --yes",
    "licenses keys revoke lky_01h455vb4pex5vsknk084sn02q --yes",
    "claim alice 7KQ4M-0A1B1-C2D3E-4F5G6-7J8KX",
    "plans list",
    "plans get \"Pro annual\"",
    "plans create --product \"Acme Studio\" --name Team --max-seats 5",
    "plans update \"Pro annual\" --max-seats 5",
    "plans apply \"Pro annual\"",
    "plans delete \"Pro annual\" --yes",
    "products list",
    "products get \"Acme Studio\"",
    "products create --name \"Render Farm\"",
    "products update \"Acme Studio\" --description none",
    "products delete \"Acme Studio\" --yes",
    "users list",
    "users get alice",
    "users create --external-id alice --email alice@example.com",
    "users update alice --name none",
    "users delete alice --yes",
    "users export alice",
    "users forget alice --yes",
    "users import HERE/users.csv --report HERE/out.jsonl",
    "keys list",
    "keys create --name ci --role validate --mode test",
    "keys roll ci --overlap 7d",
    "keys revoke ci --yes",
    "signing-keys list",
    "signing-keys create",
    "signing-keys rotate sig_01h455vb4pex5vsknk084sn02r --yes",
    "signing-keys delete sig_01h455vb4pex5vsknk084sn02q --yes",
    "signing-keys export --format pem",
    "leases list",
    "leases issue alice --product \"Acme Studio\" --ttl 30d",
    "leases verify HERE/alice.lease --product \"Acme Studio\" --at 2027-02-02T12:00:00Z",
    "webhooks list",
    "webhooks get Shop",
    "webhooks create --url https://example.com/licd --type license.*",
    "webhooks update Shop --type all",
    "webhooks enable Shop",
    "webhooks disable Shop",
    "webhooks delete Shop --yes",
    "webhooks roll Shop --overlap 1h",
    "webhooks test Shop",
    "webhooks resend Shop evt_01h455vb4pex5vsknk084sn02q",
    "webhooks replay Shop --after 41",
    "webhooks retry Shop",
    "webhooks failures Shop",
    "webhooks listen --forward-to http://localhost:3000/licd --after 99",
    "events list",
    "events tail --after 0 --until-type license.status_changed",
    "refusals list",
    "find acme",
    "import --from csv HERE/export.csv --report HERE/out.jsonl",
    "stats",
    "stats plans",
    "stats months",
    "apply -f HERE/catalog.yaml",
    "diff -f HERE/catalog.yaml",
    "export",
    "api admin/plans",
    "login --profile staging",
    "logout --profile default",
    "whoami",
    "dashboard --print",
    "doctor",
    "completions fish",
    "help exit-codes",
    "man whoami",
    "profiles list",
    "profiles use default",
    "profiles rename default live",
    "profiles remove default --yes",
    "version --jq .version",
];

const USERS: &str = "userId,email\nalice,alice@example.com\nbob,\n";

const CATALOG: &str = "
version: 1
products:
  - name: Acme Studio
    plans:
      - { name: Pro annual, maxSeats: 10, expiresInDays: 365, features: [export, sso] }
      - { name: Free, maxSeats: 1 }
";

/// An export of another service, whose plan exists.
const EXPORT: &str = "product,plan,seats,email,key,sourceId\n\
    Acme Studio,Pro annual,5,alice@example.com,OLD-0001-ABCD-EFGH,1\n";

/// Puts the files that the lines name into a folder.
pub fn lay_out(folder: &Path) {
    fs::write(folder.join("users.csv"), USERS).unwrap();
    fs::write(folder.join("alice.lease"), LEASE).unwrap();
    fs::write(folder.join("catalog.yaml"), CATALOG).unwrap();
    fs::write(folder.join("export.csv"), EXPORT).unwrap();
}

/// The words of a line, with the folder put in.
pub fn words(line: &str, folder: &Path) -> Vec<String> {
    let here = folder.display().to_string();
    split(line).into_iter().map(|word| word.replace("HERE", &here)).collect()
}

/// Splits a line as a shell would, as far as tests and examples need it.
pub fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            letter => words.last_mut().unwrap().push(letter),
        }
    }
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

/// Every command by the words that lead to it, nouns and the program itself among them.
pub fn commands() -> Vec<Vec<String>> {
    let mut found = vec![(Vec::new(), false)];
    below(&licctl::grammar(), &[], &mut found);
    found.into_iter().map(|(words, _)| words).collect()
}

/// The commands that do something, as `licenses list`. `stats` does, and is a noun too.
pub fn verbs() -> Vec<String> {
    let mut found = Vec::new();
    below(&licctl::grammar(), &[], &mut found);
    found.into_iter().filter(|(_, acts)| *acts).map(|(words, _)| words.join(" ")).collect()
}

/// The command of a line.
pub fn verb(line: &str) -> String {
    let begins = |verb: &&String| line == *verb || line.starts_with(&format!("{verb} "));
    let found = verbs().into_iter().filter(|verb| begins(&verb)).max_by_key(String::len);
    found.unwrap_or_else(|| panic!("{line} is no command"))
}

/// Finds the commands below one, and whether each does something without another word.
fn below(command: &Command, words: &[String], found: &mut Vec<(Vec<String>, bool)>) {
    for command in command.get_subcommands() {
        let words = [words, &[command.get_name().to_owned()]].concat();
        found.push((words.clone(), !command.is_subcommand_required_set()));
        below(command, &words, found);
    }
}
