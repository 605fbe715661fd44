//! Permissions of other users of this machine on a file, and the commands that change them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// For a file with a secret: others may read or write it.
const EXPOSED: u32 = 0o006;

/// The command that stops other users from reading or writing a file with a secret. None if they
/// cannot, or if it is not a regular file, which licd would not read.
///
/// Such permissions are no reason to refuse the file: by default, Kubernetes makes the files of
/// secrets readable for all, in a container without other users.
pub fn chmod_hint(secret: &Path) -> Option<String> {
    (secret.is_file() && mode(secret) & EXPOSED != 0)
        .then(|| format!("chmod o= {}", quoted(secret)))
}

/// The permissions of a file; 0 if it does not exist.
pub fn mode(path: &Path) -> u32 {
    fs::metadata(path).map_or(0, |file| file.permissions().mode())
}

/// Quoted for a shell.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-".contains(letter);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
