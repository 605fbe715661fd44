//! The environment variables: whether licd knows each of them and accepts its value.

use std::collections::BTreeSet;
use std::env;

use clap::{Arg, Command, CommandFactory, Parser};

use super::finding::Finding;
use crate::commands::secret_file::SecretFile;
use crate::commands::{self, Args, environment, serve};

const PREFIX: &str = "LICD_";
/// Settings that are not flags.
const WITHOUT_FLAG: [&str; 5] = [
    "LICD_BOOTSTRAP_KEY",
    "LICD_BOOTSTRAP_KEY_FILE",
    "LICD_DATABASE_URL_FILE",
    environment::FILE,
    environment::READ_FROM,
];
/// Similarity from which a name is suggested; 1 means equal.
const ALIKE: f64 = 0.8;

pub fn check() -> Vec<Finding> {
    let known = known();
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let ours: BTreeSet<String> = names.filter(|name| name.starts_with(PREFIX)).collect();
    let unknown = ours.difference(&known).map(|name| {
        let finding = Finding::warning("settings", format!("licd has no setting {name}"));
        match most_alike(name, &known) {
            Some(meant) => finding.fix(format!("did you mean {meant}?")),
            None => finding.fix("unset it"),
        }
    });
    let mut findings: Vec<Finding> = unknown.collect();
    findings.extend(values().into_iter().chain(secret_files()));
    if findings.is_empty() {
        let detail = match ours.len() {
            0 => "all have their defaults".to_owned(),
            1 => "1 variable is set, and is valid".to_owned(),
            count => format!("{count} variables are set, and are valid"),
        };
        findings.push(Finding::ok("settings", detail));
    }
    findings
}

/// The values that `licd serve` would reject.
fn values() -> Vec<Finding> {
    let problem = |detail: &str| Finding::problem("settings", detail);
    let mut findings = Vec::new();
    match Args::try_parse_from(["licd", "serve"]) {
        Ok(Args { command: commands::Command::Serve(serve), .. }) => {
            findings.extend(serve.check().err().map(|error| problem(&format!("{error:#}"))));
        }
        Ok(_) => {}
        Err(error) => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            findings.push(problem(line.strip_prefix("error: ").unwrap_or(line)));
        }
    }
    if let Err(error) = serve::bootstrap_key() {
        findings.push(problem(&format!("{error:#}")));
    }
    findings
}

fn secret_files() -> Vec<Finding> {
    let mut findings = Vec::new();
    for variable in ["LICD_BOOTSTRAP_KEY", "LICD_DATABASE_URL"] {
        if let Ok(Some(file)) = SecretFile::of(variable)
            && let Some(fix) = file.chmod_hint()
        {
            let detail = format!("others can read or change the file of {variable}_FILE");
            findings.push(Finding::warning("settings", detail).fix(fix));
        }
    }
    findings
}

fn known() -> BTreeSet<String> {
    let mut known: BTreeSet<String> = WITHOUT_FLAG.map(String::from).into();
    collect(&Args::command(), &mut known);
    known
}

fn collect(command: &Command, known: &mut BTreeSet<String>) {
    let variables = command.get_arguments().filter_map(Arg::get_env);
    known.extend(variables.map(|name| name.to_string_lossy().into_owned()));
    command.get_subcommands().for_each(|command| collect(command, known));
}

fn most_alike<'a>(name: &str, known: &'a BTreeSet<String>) -> Option<&'a String> {
    let likeness = |known: &String| {
        let [name, known] = [name, known].map(|name| name.trim_start_matches(PREFIX));
        strsim::jaro_winkler(name, known)
    };
    let most = known.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    most.filter(|known| likeness(known) > ALIKE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTS: [&str; 2] = [
        include_str!("../../../../README.md"),
        include_str!("../../../../docs/reference/settings.md"),
    ];

    /// A new setting needs no change of the doctor.
    #[test]
    fn all_documented_variables_are_known() {
        let known = known();
        for document in DOCUMENTS {
            let words =
                document.split(|letter: char| !letter.is_ascii_uppercase() && letter != '_');
            let named: BTreeSet<&str> = words.filter(|word| word.len() > PREFIX.len()).collect();
            let named: Vec<&str> =
                named.into_iter().filter(|word| word.starts_with(PREFIX)).collect();
            assert!(named.len() > 3, "the rule must look at something");
            for name in named {
                assert!(known.contains(name), "{name}");
            }
        }
    }
}
