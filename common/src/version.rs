//! The version and commit of this build.

use std::sync::LazyLock;

/// Commit of the sources, which `release/build` sets. Other builds have none, because reading it
/// from git would recompile after each commit.
pub const COMMIT: Option<&str> = option_env!("LICD_COMMIT");

/// Output of `--version` after the name: the version, and the commit if known.
pub static LINE: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    COMMIT.map_or(version.to_owned(), |commit| format!("{version} ({commit})"))
});
