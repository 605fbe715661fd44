//! Confirmation before changes: of many items, of what is lost, and of what live customers feel.

use common::Mode;

use super::Context;
use crate::error::{Error, Result};
use crate::escape::clean;
use crate::profile::origin;

/// The most items that need no confirmation.
pub const MAX_UNCONFIRMED: usize = 25;

impl Context {
    /// Asks for confirmation before many items are processed, and shows the target.
    pub async fn confirm_many(&self, count: usize, question: &str) -> Result<()> {
        if count > MAX_UNCONFIRMED { self.confirm_loss(question).await } else { Ok(()) }
    }

    /// Asks for confirmation before something is lost, and shows the target: with the wrong profile
    /// the command would affect the customers of another server or mode.
    pub async fn confirm_loss(&self, question: &str) -> Result<()> {
        if self.needs_confirmation() && self.prompts.can_ask() {
            let client = self.client().await?;
            let profile = self.destination().and_then(|it| it.profile);
            let profile = profile.map_or_else(String::new, |name| format!("profile {name} · "));
            let mode = client.key().mode();
            let server = origin(client.server());
            // It is shown with the question.
            drop(client.place());
            self.io
                .say(&format!("{}\n", clean(&format!("Target: {profile}{mode} mode · {server}"))));
        }
        self.confirm(question)
    }

    /// Whether to ask before a change that affects live customers. Scripts are not asked.
    pub async fn confirms_in_live_mode(&self) -> Result<bool> {
        let is_person = self.needs_confirmation() && self.prompts.can_ask();
        Ok(is_person && self.client().await?.key().mode() == Mode::Live)
    }

    /// Whether confirmation is required: from the person, or as an error.
    pub fn needs_confirmation(&self) -> bool {
        !self.globals.yes && !self.globals.dry_run
    }

    /// Asks for confirmation, unless `--yes` gives it.
    pub fn confirm(&self, question: &str) -> Result<()> {
        if !self.needs_confirmation() {
            return Ok(());
        }
        if !self.prompts.can_ask() {
            let error = Error::usage("This requires confirmation.")
                .because(format!("{question} {}", self.prompts.why_not()));
            return Err(error.fix("add --yes"));
        }
        self.prompts.agree(question)?;
        self.prompts.record(None, "--yes");
        Ok(())
    }
}
