//! `licctl validate --explain`: for each user the steps from the key to the answer, some holders of
//! the seats when seats are the reason, and suggested commands.

use common::{
    CurrentKey, Explain, ExplainedLicense, Explanation, ExternalId, Feature, License, LicenseId,
    Line, Name, ProductId, Reason, Status, UsageActivation, User, Verdict,
};
use serde::Serialize;

use super::advice::{Circumstances, advice};
use super::answer::{ExpectedAnswer, judge, missing};
use super::{external_id, verdict_tone};
use crate::client::ApiRecord;
use crate::commands::items::for_each_item;
use crate::commands::licenses::{status_cell, usage};
use crate::commands::plans;
use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::output::cell::{TextCell, Tone};
use crate::output::table::Table;
use crate::output::{Field, Format, View};
use crate::resolve;
use crate::time::relative;

/// The width of a step's label, in columns.
const LABEL_WIDTH: usize = 9;
/// How many holders of a full license are shown.
const SHOWN_HOLDERS: usize = 10;
/// How many seats are read to find the least recently checked ones. The service lists the oldest
/// seats first, which are the most likely to be idle.
const READ_SEATS: usize = 1000;

/// The columns of CSV, a line for each user.
const FIELDS: [Field; 6] =
    Field::members(["userId", "valid", "reason", "summary", "checkedAt", "missingFeatures"]);

/// What is asked of each user.
pub struct Question<'a> {
    pub product: Option<ProductId>,
    pub expected: Option<ExpectedAnswer>,
    pub features: &'a [Feature],
}

/// The explanation for one user. The service's own lacks the user when it is unknown.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UserExplanation {
    user_id: ExternalId,
    #[serde(flatten)]
    explained: ApiRecord<Explanation>,
    #[serde(skip)]
    holders: Option<Holders>,
    /// Users whom an unknown one may mean.
    #[serde(skip)]
    similar: Vec<ApiRecord<User>>,
}

/// The holders of a full license.
struct Holders {
    license: LicenseId,
    heading: String,
    /// Some of them, least recently checked first.
    shown: Vec<UsageActivation>,
    table: Table,
    /// How many more there are.
    more: i64,
}

pub async fn run(ctx: &Context, users: &[String], question: &Question<'_>) -> Result<View> {
    let key = ctx.client().await?.current_key().await?;
    let read = for_each_item(ctx, users, |user| async move {
        UserExplanation::read(ctx, external_id(&user)?, question.product).await.map(Some)
    });
    let read = read.await?;
    let ids = read.done.iter().map(|it| it.user_id.to_string()).collect();
    let judged = |it: &UserExplanation| {
        serde_json::to_value(it).map(|json| judge(json, &it.lacking(question.features)))
    };
    let json = read.done.iter().map(judged).collect::<serde_json::Result<Vec<_>>>();
    let json = json.map_err(|error| Error::new(Exit::Internal, "internal", error.to_string()))?;
    let mut view = View::new(json, ids)?.fields(&FIELDS).line(key_line(&key));
    let mut exit = read.exit;
    for (at, it) in read.done.iter().enumerate() {
        if at > 0 {
            view = view.line(TextCell::text(""));
        }
        view = it.show(ctx, view, question);
        if exit == Exit::Success && !it.fits(question) {
            exit = Exit::Negative;
        }
    }
    Ok(view.exit(exit))
}

impl UserExplanation {
    async fn read(
        ctx: &Context,
        user_id: ExternalId,
        product_id: Option<ProductId>,
    ) -> Result<Self> {
        let body = Explain { user_id: user_id.clone(), product_id };
        let explained = ctx.client().await?.explain(&body).await?;
        let (mut holders, mut similar) = (None, Vec::new());
        // These are for a person; a program has the explanation.
        if ctx.output.format == Format::Table {
            if let Some(license) = full_license(&explained) {
                holders = Some(Holders::read(ctx, license.license.id).await?);
            }
            if explained.user.is_none() {
                similar = resolve::similar_users(ctx, user_id.as_str()).await?;
            }
        }
        Ok(Self { user_id, explained, holders, similar })
    }

    fn fits(&self, question: &Question<'_>) -> bool {
        let answer = match self.explained.reason {
            Some(reason) => ExpectedAnswer::Invalid(reason),
            None if self.lacking(question.features).is_empty() => ExpectedAnswer::Valid,
            None => ExpectedAnswer::MissingFeature,
        };
        answer == question.expected.unwrap_or(ExpectedAnswer::Valid)
    }

    /// The required features that the selected license lacks.
    fn lacking(&self, wanted: &[Feature]) -> Vec<Feature> {
        let Some(selected) = self.selected() else { return Vec::new() };
        missing(&selected.license.features, wanted)
    }

    /// The license that makes the user valid.
    fn selected(&self) -> Option<&ExplainedLicense> {
        self.explained.licenses.iter().find(|license| license.verdict == Verdict::Valid)
    }

    fn show(&self, ctx: &Context, mut view: View, question: &Question<'_>) -> View {
        let explained = &*self.explained;
        view = view.line(self.user_line(ctx)).line(licenses_line(explained));
        for (at, license) in explained.licenses.iter().enumerate() {
            for line in license_lines(ctx, at + 1, license) {
                view = view.line(line);
            }
        }
        view = view.line(answer_line(explained));
        let lacking = self.lacking(question.features);
        if let Some(selected) = self.selected().filter(|_| !question.features.is_empty()) {
            view = view.line(feature_line(selected, &lacking));
        }
        let mut idle = Vec::new();
        if let Some(holders) = &self.holders {
            idle = holders.shown.iter().map(|seat| &seat.external_id).collect();
            view = holders.show(view);
        }
        let similar = self.similar.iter().map(|user| &user.external_id).collect();
        let about = Circumstances { product: question.product, idle, similar, lacking: &lacking };
        let commands = advice(explained, &about);
        if !commands.is_empty() {
            view = view.line(TextCell::text("")).line(TextCell::text("Suggested commands:"));
        }
        let lines = commands.iter().map(|line| TextCell::text(format!("  {line}")));
        lines.fold(view, View::line)
    }

    fn user_line(&self, ctx: &Context) -> TextCell {
        let user = &self.user_id;
        let Some(known) = &self.explained.user else {
            let mut text = format!("{user} does not exist.");
            if !self.similar.is_empty() {
                text += &format!(" {}", resolve::did_you_mean(&self.similar));
            }
            return step(false, "user", &text);
        };
        let name = known.name.as_ref().map(Name::as_str);
        let words = [name, known.email.as_ref().map(Line::as_str)];
        let about: Vec<&str> = words.into_iter().flatten().collect();
        let since = if ctx.io.terminals.stdout {
            relative(known.created_at, ctx.now)
        } else {
            known.created_at.to_string()
        };
        let about =
            if about.is_empty() { String::new() } else { format!(" ({})", about.join(", ")) };
        step(true, "user", &format!("{user} exists{about}, created {since}"))
    }
}

impl Holders {
    async fn read(ctx: &Context, license: LicenseId) -> Result<Self> {
        let usage = ctx.client().await?.licenses().usage(license, Some(READ_SEATS)).await?;
        let mut shown = usage.activations.clone();
        shown.sort_by_key(|seat| seat.activation.last_checked_at);
        shown.truncate(SHOWN_HOLDERS);
        let read = usage.activations.len();
        let is_part = usage.total_activations > read as i64;
        let among = if is_part { format!(" (among the {read} oldest)") } else { String::new() };
        let summary = usage::summary(&usage);
        let heading = format!("{summary}; least recently checked first{among}:");
        let table = usage::table(ctx, &shown).await?;
        let more = usage.total_activations - shown.len() as i64;
        Ok(Self { license, heading, shown, table, more })
    }

    fn show(&self, view: View) -> View {
        let heading = TextCell::text(&self.heading);
        let view = view.line(TextCell::text("")).line(heading).table(self.table.clone());
        if self.more <= 0 {
            return view;
        }
        let more = format!("and {} more: licctl licenses usage {}", self.more, self.license);
        view.line(TextCell::text(more))
    }
}

/// The license whose seats are the reason.
fn full_license(explained: &Explanation) -> Option<&ExplainedLicense> {
    let mut licenses = explained.licenses.iter();
    licenses.find(|license| license.verdict == Verdict::ExceededSeats)
}

fn step(good: bool, label: &str, text: &str) -> TextCell {
    let mark = if good { "ok" } else { "no" };
    let line = format!("{mark}  {label:<LABEL_WIDTH$} {text}");
    TextCell::text(line).toned(if good { Tone::Good } else { Tone::Bad })
}

fn key_line(key: &CurrentKey) -> TextCell {
    let (role, mode) = (key.role, key.mode);
    let tenant = &key.tenant.name;
    step(true, "key", &format!("{}… is active: {role}, {mode}, tenant {tenant}", key.prefix))
}

fn licenses_line(explained: &Explanation) -> TextCell {
    match explained.licenses.len() {
        0 => step(false, "licenses", "the user has none"),
        1 => step(true, "licenses", "the user has 1:"),
        many => step(true, "licenses", &format!("the user has {many}, checked in this order:")),
    }
}

fn answer_line(explained: &Explanation) -> TextCell {
    let word = explained.reason.map_or("VALID", Reason::as_str);
    step(explained.valid, "answer", &format!("{word}: {}", explained.summary))
}

/// Whether the license has the required features.
fn feature_line(selected: &ExplainedLicense, lacking: &[Feature]) -> TextCell {
    let listed = |features: &mut dyn Iterator<Item = &Feature>| {
        let names: Vec<&str> = features.map(Feature::as_str).collect();
        if names.is_empty() { "no features".to_owned() } else { names.join(", ") }
    };
    let own = listed(&mut selected.license.features.iter());
    match lacking {
        [] => step(true, "features", &format!("the license has {own}")),
        _ => {
            let lacking = listed(&mut lacking.iter());
            step(false, "features", &format!("the license lacks {lacking}; it has {own}"))
        }
    }
}

/// The expiry, unless the status shows it already.
fn expiry(ctx: &Context, license: &License) -> String {
    let past = license.expires_at.is_some_and(|end| end <= ctx.now);
    let time = TextCell::time_or("never", license.expires_at, ctx.now);
    let time = time.shown(ctx.io.terminals.stdout);
    match (past, license.status) {
        (true, Status::Active) => String::new(),
        (true, _) => format!(", expired {time}"),
        (false, _) => format!(", expires {time}"),
    }
}

/// One license in three lines: its product and plan, its state, and the verdict.
fn license_lines(ctx: &Context, number: usize, it: &ExplainedLicense) -> [TextCell; 3] {
    let what = format!("{} · {}  {}", it.product_name, it.plan_name, it.license.id);
    let screen = ctx.io.terminals.stdout;
    let status = status_cell(&it.license, ctx.now).shown(screen).to_owned();
    let expires = expiry(ctx, &it.license);
    let allowed = plans::seats(it.license.max_seats);
    let own = if it.activation.is_some() { "holds one" } else { "holds none" };
    let seats = format!("seats {}/{allowed}, the user {own}", it.seats_used);
    let indent = " ".repeat(LABEL_WIDTH + 7);
    [
        TextCell::text(format!("{}{number}  {what}", " ".repeat(LABEL_WIDTH + 4))),
        TextCell::text(format!("{indent}{status}{expires}, {seats}")),
        TextCell::text(format!("{indent}{}", it.sentence)).toned(verdict_tone(it.verdict)),
    ]
}
