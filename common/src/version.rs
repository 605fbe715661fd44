//! Which build of licd or licctl this is.

use std::sync::LazyLock;

/// The commit of the sources, which `release/build` sets. Other builds have none: asking git would
/// compile again after each commit.
pub const COMMIT: Option<&str> = option_env!("LICD_COMMIT");

/// What `--version` prints after the name: the version, with the commit if it is known.
pub static LINE: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    COMMIT.map_or(version.to_owned(), |commit| format!("{version} ({commit})"))
});
