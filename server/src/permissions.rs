//! What others on this machine may do with a file, and the commands that change it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Of a file that holds a secret: others may read or write it.
const EXPOSED: u32 = 0o006;

/// The command that ends that others may read or write a file that holds a secret. None for what is
/// no regular file, as licd reads no other.
///
/// They are no reason to refuse it: Kubernetes makes the files of secrets readable for all by
/// default, in a container that nobody else is in.
pub fn fix_of_exposure(secret: &Path) -> Option<String> {
    (secret.is_file() && mode(secret) & EXPOSED != 0)
        .then(|| format!("chmod o= {}", quoted(secret)))
}

/// The permissions of a file; none, if there is no such file.
pub fn mode(path: &Path) -> u32 {
    fs::metadata(path).map_or(0, |file| file.permissions().mode())
}

/// As a shell reads it.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
