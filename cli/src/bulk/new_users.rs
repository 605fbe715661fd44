//! Users that a command would create. A misspelled user or an email is never silently created: a
//! person is asked, and a script gets a note.

use clap::Args;
use common::{ExternalId, User};
use futures_util::stream::{self, StreamExt, TryStreamExt};

use crate::client::ApiRecord;
use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::escape::{clean, quote};
use crate::noun::{did_you_mean, find_user, label, similar_users, suspicious_characters, visible};

const REQUESTS_IN_FLIGHT: usize = 4;
/// For how many unknown users licctl asks who is similar.
const MAX_COMPARED: usize = 25;
/// Maximum number of unknown users that a message names.
const MAX_NAMED: usize = 5;

/// Flags of every command that would create unknown users.
#[derive(Args, Clone, Copy)]
pub struct NewUserFlags {
    /// Create unknown users without asking
    #[arg(long, conflicts_with = "existing_only")]
    pub create_user: bool,
    /// Fail if a user does not exist
    #[arg(long)]
    pub existing_only: bool,
}

/// A user that does not exist yet, and similar ones.
pub struct Unknown {
    pub given: String,
    similar: Vec<ApiRecord<User>>,
}

impl Unknown {
    /// Returns the reasons why this may be a mistake, in sentences. Empty if there is no sign of a
    /// mistake.
    fn doubt(&self) -> String {
        let similar = (!self.similar.is_empty()).then(|| did_you_mean(&self.similar));
        let sentences =
            suspicious_characters(&self.given).map(str::to_owned).into_iter().chain(similar);
        sentences.collect::<Vec<_>>().join(" ")
    }

    fn resemblance(&self) -> String {
        match self.doubt().as_str() {
            "" => format!("No user is similar to {}", self.given),
            doubt => format!("{}: {doubt}", visible(&self.given)),
        }
    }

    fn sentence(&self) -> String {
        let new = format!("{} is a new user", visible(&self.given));
        match self.doubt().as_str() {
            "" => new,
            doubt => format!("{new}. {doubt}"),
        }
    }
}

impl NewUserFlags {
    /// Settles which users are meant before anything is sent. A person can choose a similar user
    /// instead of creating a new one.
    pub async fn settle(self, ctx: &Context, users: Vec<String>) -> Result<Vec<String>> {
        let unknown = self.find(ctx, &users).await?;
        self.decide(ctx, users, unknown)
    }

    /// Settles the user for a command that creates the user on purpose. Asks a person only if the
    /// user may be a mistake.
    pub async fn settle_created(self, ctx: &Context, user: ExternalId) -> Result<ExternalId> {
        let asks = ctx.prompts.can_ask() && ctx.needs_confirmation();
        if !(asks || self.existing_only) {
            return Ok(user);
        }
        let users = vec![user.to_string()];
        let mut unknown = self.find(ctx, &users).await?;
        unknown.retain(|unknown| self.existing_only || !unknown.doubt().is_empty());
        match self.decide(ctx, users, unknown)?.pop() {
            Some(chosen) => {
                let invalid = |error| Error::usage(format!("The external id {error}."));
                chosen.parse().map_err(invalid)
            }
            None => Ok(user),
        }
    }

    /// Notes which users a new user resembles, if no one could be asked before.
    pub async fn note_created(self, ctx: &Context, user: &User) {
        if self.create_user || ctx.prompts.can_ask() && ctx.needs_confirmation() {
            return;
        }
        // The user exists by now, so a failed search is not a failed command.
        let similar = similar_users(ctx, user.external_id.as_str()).await.unwrap_or_default();
        let created = Unknown { given: user.external_id.to_string(), similar };
        if !created.doubt().is_empty() {
            note(ctx, &[created]);
        }
    }

    fn decide(
        self,
        ctx: &Context,
        users: Vec<String>,
        unknown: Vec<Unknown>,
    ) -> Result<Vec<String>> {
        if self.existing_only {
            refuse(&unknown, Unknown::resemblance)?;
        }
        if !ctx.prompts.can_ask() || !ctx.needs_confirmation() {
            note(ctx, &unknown);
            return Ok(users);
        }
        let (similar, new): (Vec<_>, Vec<_>) =
            unknown.into_iter().partition(|unknown| !unknown.similar.is_empty());
        let mut settled = users;
        let mut creates = false;
        for unknown in &similar {
            match choose(ctx, unknown)? {
                Some(user) => {
                    let (part, word) = (quote(&unknown.given), quote(user));
                    ctx.prompts.replace_word(&part, &word);
                    let same = settled.iter_mut().filter(|it| **it == unknown.given);
                    same.for_each(|it| user.clone_into(it));
                }
                None => creates = true,
            }
        }
        if !new.is_empty() {
            ctx.prompts.agree(&question(&new))?;
            creates = true;
        }
        if creates {
            ctx.prompts.record(None, "--create-user");
        }
        Ok(settled)
    }

    /// The users that do not exist yet. With `--create-user` they are not looked up; a key of role
    /// validate cannot look them up.
    pub async fn find(self, ctx: &Context, users: &[String]) -> Result<Vec<Unknown>> {
        if self.create_user {
            return Ok(Vec::new());
        }
        // The command reports invalid ids.
        let users = users.iter().filter(|user| user.parse::<ExternalId>().is_ok());
        let known = stream::iter(users)
            .map(async |user| find_user(ctx, user).await.map(|known| (user, known.is_some())))
            .buffered(REQUESTS_IN_FLIGHT)
            .try_collect();
        let known: Vec<(&String, bool)> = match known.await {
            Err(error) if error.exit == Exit::Forbidden && !self.existing_only => {
                return Ok(Vec::new());
            }
            known => known?,
        };
        let mut found: Vec<Unknown> = Vec::new();
        for (user, _) in known.into_iter().filter(|(_, is_known)| !is_known) {
            let similar = match found.len() {
                0..MAX_COMPARED => similar_users(ctx, user).await?,
                _ => Vec::new(),
            };
            if found.iter().all(|it| it.given != *user) {
                found.push(Unknown { given: user.clone(), similar });
            }
        }
        Ok(found)
    }
}

/// Rejects unknown users, each described in this way.
pub fn refuse(unknown: &[Unknown], describe: impl Fn(&Unknown) -> String) -> Result<()> {
    let message = match unknown {
        [] => return Ok(()),
        [one] => format!("User {} not found.", visible(&one.given)),
        many => format!("{} users not found.", many.len()),
    };
    let described = unknown.iter().take(MAX_NAMED).map(describe);
    let mut reason = described.collect::<Vec<_>>().join("; ");
    if let Some(more) = unknown.len().checked_sub(MAX_NAMED).filter(|&more| more > 0) {
        reason += &format!("; and {more} more");
    }
    Err(Error::not_found(message)
        .because(reason)
        .fix("correct the ids, or create the users with --create-user; nothing was changed"))
}

/// Notes the new users: those similar to a known user one by one, the others together.
pub fn note(ctx: &Context, unknown: &[Unknown]) {
    let (similar, new): (Vec<_>, Vec<_>) =
        unknown.iter().partition(|unknown| !unknown.similar.is_empty());
    for unknown in similar {
        ctx.note(&unknown.sentence());
    }
    match new.as_slice() {
        [] => {}
        [one] => ctx.note(&one.sentence()),
        many => ctx.note(&format!("{} new users: {}", many.len(), names(many.iter().copied()))),
    }
}

/// Names some users, and counts the rest.
pub fn names<'a>(users: impl ExactSizeIterator<Item = &'a Unknown>) -> String {
    let more = users.len().saturating_sub(MAX_NAMED);
    let named: Vec<_> = users.take(MAX_NAMED).map(|it| visible(&it.given)).collect();
    match more {
        0 => named.join(", "),
        _ => format!("{} and {more} more", named.join(", ")),
    }
}

fn question(new: &[Unknown]) -> String {
    match new {
        [one] => {
            let odd =
                suspicious_characters(&one.given).map_or_else(String::new, |odd| format!(" {odd}"));
            format!("User {} does not exist.{odd} Create it?", visible(&one.given))
        }
        many => {
            format!("{} users do not exist: {}. Create them?", many.len(), names(many.iter()))
        }
    }
}

/// The user that the person chooses; none for a new one.
fn choose<'a>(ctx: &Context, unknown: &'a Unknown) -> Result<Option<&'a str>> {
    let Unknown { given, similar } = unknown;
    let new = format!("{} is new. {}", visible(given), unknown.doubt());
    ctx.io.say(&format!("{}\n", clean(&new)));
    let known = similar.iter().map(|user| format!("use {}", label(user)));
    let others = [format!("create {}", visible(given)), "cancel".to_owned()];
    let labels: Vec<String> = known.chain(others).collect();
    match ctx.prompts.choose("User", &labels)? {
        at if at < similar.len() => Ok(Some(similar[at].external_id.as_str())),
        at if at == similar.len() => Ok(None),
        _ => Err(Error::cancelled()),
    }
}
