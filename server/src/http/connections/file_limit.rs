//! How many files the process may open, and how many of them may be connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What else needs files: the database, the log, the runtime.
const RESERVED: u64 = 64;

/// Raises the process's limit on open files as far as the system lets it.
pub fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        // Some systems know a lower limit than they admit. Then the old one stays.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

/// How many connections the limit leaves room for.
pub fn room_for_connections() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(files - RESERVED.min(files / 2)).unwrap_or(usize::MAX)
}
