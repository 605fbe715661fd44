//! `licctl validate --explain`: for each user the steps from the key to the answer, some holders of
//! the seats when seats are the reason, and suggested commands.

use std::collections::HashMap;

use common::{
    Event, Explain, ExternalId, Feature, LicenseId, Line, Mode, Name, Open, ProductId, Status,
    UsageActivation, User, UserRefusal, Verdict,
};
use serde::Serialize;

use super::advice::{AdviceInput, advice, remark};
use super::answer::{MISSING_FEATURE, is_expected, judge, missing};
use super::verdict_tone;
use crate::bulk::for_each_item;
use crate::client::{CurrentKey, ExplainedLicense, Explanation, License};
use crate::commands::licenses::{status_cell, usage};
use crate::commands::prelude::*;
use crate::commands::{events, plans, refusals};
use crate::output::relative;

/// The width of a step's label, in columns.
const LABEL_WIDTH: usize = 9;
/// For how many licenses the last status change is looked up.
const SHOWN_CHANGES: usize = 5;

/// The columns of CSV, a line for each user.
const FIELDS: &str = "userId valid reason summary checkedAt missingFeatures";

/// The question about each user.
pub struct Question<'a> {
    pub product: Option<ProductId>,
    pub expected: Option<&'a str>,
    pub features: &'a [Feature],
}

/// The explanation for a user. It names the user even if the server's does not, because the user is
/// unknown.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UserExplanation {
    user_id: ExternalId,
    #[serde(flatten)]
    explained: ApiRecord<Explanation>,
    /// Some holders of a full license, as the remedy names them.
    holders: Vec<UsageActivation>,
    suggested_commands: Vec<String>,
    #[serde(skip)]
    holders_table: Option<HoldersTable>,
    /// Users similar to an unknown one.
    #[serde(skip)]
    similar: Vec<ApiRecord<User>>,
    /// The events that gave the licenses their statuses.
    #[serde(skip)]
    changes: HashMap<LicenseId, ApiRecord<Event>>,
}

/// The holders of a full license, as a person sees them.
struct HoldersTable {
    license: LicenseId,
    heading: String,
    table: Table,
    /// Number of further records.
    more: i64,
}

pub async fn run(ctx: &Context, users: &[String], question: &Question<'_>) -> Result<View> {
    let key = ctx.client().await?.current_key().await?;
    let read = for_each_item(ctx, users, |user| async move {
        UserExplanation::read(ctx, noun::external_id(&user)?, question).await.map(Some)
    });
    let read = read.await?;
    let ids = read.done.iter().map(|it| it.user_id.to_string()).collect();
    let judged = |it: &UserExplanation| {
        serde_json::to_value(it).map(|json| judge(json, &it.missing(question.features)))
    };
    let json = read.done.iter().map(judged).collect::<serde_json::Result<Vec<_>>>();
    let json = json.map_err(Error::internal)?;
    let mut view = View::new(json, ids)?.fields(&[FIELDS]).line(key_line(&key));
    let mut exit = read.exit;
    for (at, it) in read.done.iter().enumerate() {
        if at > 0 {
            view = view.line(TextCell::text(""));
        }
        view = it.show(ctx, view, question, key.mode);
        if exit == Exit::Success && !it.is_expected(question) {
            exit = Exit::Negative;
        }
    }
    Ok(view.exit(exit))
}

impl UserExplanation {
    async fn read(ctx: &Context, user_id: ExternalId, question: &Question<'_>) -> Result<Self> {
        let body = Explain { user_id: user_id.clone(), product_id: question.product };
        let explained = ctx.client().await?.explain(&body).await?;
        let mut it = Self {
            user_id,
            explained,
            holders: Vec::new(),
            suggested_commands: Vec::new(),
            holders_table: None,
            similar: Vec::new(),
            changes: HashMap::new(),
        };
        // CSV and ids show only the answer.
        if !matches!(ctx.output.format, Format::Csv | Format::Ids) {
            it.load_context(ctx).await?;
            it.suggested_commands = it.advice(question);
        }
        Ok(it)
    }

    /// Reads what the suggestions depend on.
    async fn load_context(&mut self, ctx: &Context) -> Result<()> {
        let client = ctx.client().await?;
        let full = self.explained.licenses.iter().find(|it| it.verdict == Verdict::ExceededSeats);
        if let Some(license) = full {
            let holders = license.remedies.iter().flat_map(|remedy| remedy.holders.clone());
            self.holders = holders.collect();
            self.holders_table = Some(HoldersTable::new(ctx, license, &self.holders));
        }
        if self.explained.user.is_none() {
            self.similar = noun::similar_users(ctx, self.user_id.as_str()).await?;
        }
        let refused = self.explained.licenses.iter().map(|it| &it.license);
        let refused = refused.filter(|license| license.status != Status::Active);
        for license in refused.take(SHOWN_CHANGES) {
            let change = events::last_status_change(client, license.id).await?;
            self.changes.extend(change.map(|change| (license.id, change)));
        }
        Ok(())
    }

    fn advice(&self, question: &Question<'_>) -> Vec<String> {
        let about = AdviceInput {
            user: &self.user_id,
            product: question.product,
            similar: self.similar.iter().map(|user| &user.external_id).collect(),
            missing: &self.missing(question.features),
        };
        advice(&self.explained, &about)
    }

    fn is_expected(&self, question: &Question<'_>) -> bool {
        let is_missing = !self.missing(question.features).is_empty();
        let reason = self.explained.reason.as_ref().map(Open::to_string);
        let reason = reason.or(is_missing.then(|| MISSING_FEATURE.to_owned()));
        is_expected(reason.as_deref(), question.expected)
    }

    /// The required features that the selected license lacks.
    fn missing(&self, wanted: &[Feature]) -> Vec<Feature> {
        let Some(selected) = self.selected() else { return Vec::new() };
        missing(&selected.license.features, wanted)
    }

    /// The license that makes the user valid.
    fn selected(&self) -> Option<&ExplainedLicense> {
        self.explained.licenses.iter().find(|license| license.verdict == Verdict::Valid)
    }

    fn show(&self, ctx: &Context, mut view: View, question: &Question<'_>, mode: Mode) -> View {
        let explained = &*self.explained;
        view = view.line(self.user_line(ctx, mode)).line(licenses_line(explained));
        for (at, license) in explained.licenses.iter().enumerate() {
            let change = self.changes.get(&license.license.id);
            for line in license_lines(ctx, at + 1, license, change) {
                view = view.line(line);
            }
        }
        view = view.line(answer_line(explained));
        if let Some(selected) = self.selected() {
            view = view.line(checks_line(ctx, selected, &explained.refusals));
        }
        let missing = self.missing(question.features);
        if let Some(selected) = self.selected().filter(|_| !question.features.is_empty()) {
            view = view.line(feature_line(selected, &missing));
        }
        if let Some(holders) = &self.holders_table {
            view = holders.show(view);
        }
        if !explained.refusals.is_empty() {
            let title = TextCell::text("Recent refusals, newest first:");
            let table = refusals::table_of_user(ctx, &explained.refusals);
            view = view.line(TextCell::text("")).line(title).table(table);
        }
        if self.suggested_commands.is_empty() {
            return view;
        }
        view = view.line(TextCell::text(""));
        if let Some(remark) = remark(explained).filter(|_| missing.is_empty()) {
            view = view.line(TextCell::text(remark));
        }
        view = view.line(TextCell::text("Suggested commands:"));
        let lines = self.suggested_commands.iter();
        lines.map(|line| TextCell::text(format!("  {line}"))).fold(view, View::line)
    }

    fn user_line(&self, ctx: &Context, mode: Mode) -> TextCell {
        let user = &self.user_id;
        let Some(known) = &self.explained.user else {
            let mut text =
                format!("{} does not exist in {mode} mode.", noun::visible(user.as_str()));
            if let Some(odd) = noun::suspicious_characters(user.as_str()) {
                text += &format!(" {odd}");
            }
            if !self.similar.is_empty() {
                text += &format!(" {}", noun::did_you_mean(&self.similar));
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

impl HoldersTable {
    fn new(ctx: &Context, license: &ExplainedLicense, holders: &[UsageActivation]) -> Self {
        let used = i64::from(license.seats_used);
        let summary = usage::seats_in_use(used, license.license.max_seats);
        let is_offline = |it: &UsageActivation| it.activation.lease_until(ctx.now).is_some();
        let offline = match holders.iter().filter(|it| is_offline(it)).count() {
            0 => String::new(),
            offline => format!(", then {offline} offline"),
        };
        Self {
            license: license.license.id,
            heading: format!("{summary}; least recently checked first{offline}:"),
            table: usage::table(ctx, holders),
            more: used - holders.len() as i64,
        }
    }

    fn show(&self, view: View) -> View {
        let heading = TextCell::text(&self.heading);
        let view = view.line(TextCell::text("")).line(heading).table(self.table.clone());
        if self.more <= 0 {
            return view;
        }
        let more = format!("{} more: licctl licenses usage {}", self.more, self.license);
        view.line(TextCell::text(more))
    }
}

fn step(good: bool, label: &str, text: &str) -> TextCell {
    let mark = if good { "ok" } else { "no" };
    let line = format!("{mark}  {label:<LABEL_WIDTH$} {text}");
    TextCell::text(line).toned(if good { Tone::Good } else { Tone::Bad })
}

fn key_line(key: &CurrentKey) -> TextCell {
    let CurrentKey { prefix, role, mode, tenant, .. } = key;
    step(true, "key", &format!("{prefix}… is active: {role}, {mode}, tenant {}", tenant.name))
}

fn licenses_line(explained: &Explanation) -> TextCell {
    match explained.licenses.len() {
        0 => {
            let similar = explained.similar_users.iter().map(noun::label);
            let one_has = similar.map(|user| format!("; {user} has one"));
            step(false, "licenses", &format!("none{}", one_has.collect::<String>()))
        }
        1 => step(true, "licenses", "1 assigned:"),
        many => step(true, "licenses", &format!("{many} assigned, checked in this order:")),
    }
}

fn answer_line(explained: &Explanation) -> TextCell {
    let word = explained.reason.as_ref().map_or("VALID".to_owned(), Open::to_string);
    step(explained.valid, "answer", &format!("{word}: {}", explained.summary))
}

/// Describes the last check of the license and the last refusal of the user.
fn checks_line(ctx: &Context, selected: &ExplainedLicense, refusals: &[UserRefusal]) -> TextCell {
    let shown = |time| TextCell::past(time, ctx.now).shown(ctx.io.terminals.stdout).to_owned();
    let checked = match &selected.activation {
        Some(seat) => format!("last checked {}", shown(seat.last_checked_at)),
        None => "not checked yet".to_owned(),
    };
    let refused = match refusals.first() {
        Some(last) => format!("last refused {} ({})", shown(last.last_at), last.reason),
        None => "not refused in the last 30 days".to_owned(),
    };
    step(true, "checks", &format!("{checked}; {refused}"))
}

/// Whether the license has the required features.
fn feature_line(selected: &ExplainedLicense, missing: &[Feature]) -> TextCell {
    let listed = |features: &mut dyn Iterator<Item = &Feature>| {
        let names: Vec<&str> = features.map(Feature::as_str).collect();
        if names.is_empty() { "no features".to_owned() } else { names.join(", ") }
    };
    let own = listed(&mut selected.license.features.iter());
    match missing {
        [] => step(true, "features", &format!("the license has {own}")),
        _ => {
            let missing = listed(&mut missing.iter());
            step(false, "features", &format!("the license is missing {missing}; it has {own}"))
        }
    }
}

/// The expiry, unless the status shows it already.
fn expiry(ctx: &Context, license: &License) -> String {
    let time = TextCell::end(license.expires_at, ctx.now);
    let time = time.shown(ctx.io.terminals.stdout);
    match license.has_ended(ctx.now) {
        true if license.status == Status::Active => String::new(),
        true => format!(", expired {time}"),
        false => format!(", expires {time}"),
    }
}

/// One license: its product and plan, its status with who set it, and the verdict.
fn license_lines(
    ctx: &Context,
    number: usize,
    it: &ExplainedLicense,
    change: Option<&ApiRecord<Event>>,
) -> Vec<TextCell> {
    let name = it.name.as_ref().map_or_else(String::new, |name| format!(" · {name}"));
    let what = format!("{} · {}{name}  {}", it.product_name, it.plan_name, it.license.id);
    let screen = ctx.io.terminals.stdout;
    let status = status_cell(&it.license, &it.terms, ctx.now).shown(screen).to_owned();
    let expires = expiry(ctx, &it.license);
    let allowed = plans::seats(it.license.max_seats);
    let own = if it.activation.is_some() { "holds one" } else { "holds none" };
    let seats = format!("seats {}/{allowed}, the user {own}", it.seats_used);
    let indent = " ".repeat(LABEL_WIDTH + 7);
    let mut lines = vec![
        TextCell::text(format!("{}{number}  {what}", " ".repeat(LABEL_WIDTH + 4))),
        TextCell::text(format!("{indent}{status}{expires}, {seats}")),
    ];
    lines.extend(change.map(|change| {
        let time = TextCell::past(change.time, ctx.now).shown(screen).to_owned();
        let actor = events::actor(change);
        TextCell::text(format!("{indent}set to {} {time} by {actor}", it.license.status))
    }));
    let verdict = format!("{indent}{}", it.sentence);
    lines.push(TextCell::text(verdict).toned(verdict_tone(&it.verdict)));
    lines
}
