//! Names the commit for `licctl version`, where the sources are a checkout with git.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let version = env!("CARGO_PKG_VERSION");
    let Some(commit) = commit() else {
        println!("cargo:rustc-env=LICCTL_VERSION={version}");
        return;
    };
    println!("cargo:rustc-env=LICCTL_VERSION={version} ({commit})");
    println!("cargo:rustc-env=LICCTL_COMMIT={commit}");
    // This log has a line for each commit and checkout. A missing file would rebuild every time.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    if let Some(log) = log.filter(|log| Path::new(log).exists()) {
        println!("cargo:rerun-if-changed={log}");
    }
}

/// The commit of the sources. Those unpacked within another repository are not its commit.
fn commit() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// The output of a git command; none when git is missing or refuses.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
