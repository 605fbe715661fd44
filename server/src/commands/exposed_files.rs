//! Refuses files of an SQLite database that other users of this machine can read or change, unless
//! the operator allows it.

use anyhow::bail;
use clap::builder::BoolishValueParser;
use licd::db::DatabaseUrl;

#[derive(clap::Args)]
pub struct ExposedFiles {
    /// Only warn if other users of this machine can read or change the files of an SQLite database.
    #[arg(long = "allow-exposed-files", env = "LICD_ALLOW_EXPOSED_FILES",
        value_parser = BoolishValueParser::new())]
    pub allowed: bool,
}

impl ExposedFiles {
    /// Fails, or warns, with the commands that fix it.
    pub fn check(&self, url: &DatabaseUrl) -> anyhow::Result<()> {
        let found: Vec<String> =
            url.permission_problems().iter().map(ToString::to_string).collect();
        match found.join("; ") {
            found if found.is_empty() => {}
            found if self.allowed => tracing::warn!("allowed, but exposed: {found}"),
            found => bail!(
                "{url}: {found}\nIf that is intended, LICD_ALLOW_EXPOSED_FILES=true turns this \
                 into a warning"
            ),
        }
        Ok(())
    }
}
