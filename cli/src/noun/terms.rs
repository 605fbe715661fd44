//! The terms that a license takes from its plan: their flags, fields and words, and what a license
//! would gain or lose.

use std::str::FromStr;

use clap::Args;
use common::{GraceDays, MaxLeaseSeconds, PlanTerms, SeatIdleMinutes};

use super::{Edit, cleared};
use crate::output::{Grace, IdleTime, LeaseTime, TextCell};

/// Fields of a plan with terms, and those of a license, in CSV.
macro_rules! plan_term_fields {
    () => {
        "seatIdleMinutes graceDays expiresFrom maxLeaseSeconds"
    };
}
pub(crate) use plan_term_fields;

pub const LICENSE_TERM_FIELDS: &str = "seatIdleMinutes=/terms/seatIdleMinutes graceDays=/terms/graceDays \
     startsWithDays=/terms/startsWithDays maxLeaseSeconds=/terms/maxLeaseSeconds";

/// Flags for the terms of a plan or a license.
#[derive(Args)]
pub struct TermFlags {
    /// Free seats whose users were not validated for this long, such as 30d, or none
    #[arg(long, value_name = "SPAN or none")]
    seat_idle: Option<Edit<IdleTime>>,
    /// Grace period past the end, such as 14d, or none
    #[arg(long, value_name = "SPAN or none")]
    grace: Option<Edit<Grace>>,
    /// Maximum duration of offline leases, such as 30d, or none
    #[arg(long, value_name = "SPAN or none")]
    max_lease: Option<Edit<LeaseTime>>,
}

impl TermFlags {
    pub fn terms(&self) -> PlanTerms {
        PlanTerms {
            seat_idle_minutes: Edit::value(&self.seat_idle).map(IdleTime::get),
            grace_days: Edit::value(&self.grace).map(Grace::get),
            max_lease_seconds: Edit::value(&self.max_lease).map(LeaseTime::get),
        }
    }

    /// The fields to clear, with these others.
    pub fn cleared<F: FromStr>(
        &self,
        others: impl IntoIterator<Item = Option<F>>,
    ) -> Option<Vec<F>> {
        let names = [
            Edit::clears(&self.seat_idle, "seatIdleMinutes"),
            Edit::clears(&self.grace, "graceDays"),
            Edit::clears(&self.max_lease, "maxLeaseSeconds"),
        ];
        let terms = names.into_iter().map(|name| name.and_then(|name| name.parse().ok()));
        cleared(others.into_iter().chain(terms))
    }
}

/// A term of a license that differs from its plan's.
pub struct TermChange {
    pub field: &'static str,
    pub sentence: String,
    pub is_loss: bool,
}

/// The changes that a license's terms need to be those of its plan.
pub fn term_changes(was: &PlanTerms, now: &PlanTerms) -> Vec<TermChange> {
    let mut changes = Vec::new();
    let mut compare = |field, what, was: String, now: String, is_loss| {
        if was != now {
            changes
                .push(TermChange { field, sentence: format!("{what} {was} → {now}"), is_loss });
        }
    };
    let (old, new) = (was.seat_idle_minutes, now.seat_idle_minutes);
    // Who may float, and who may keep a seat, each lose something by the other.
    let is_longer = old.zip(new).is_some_and(|(old, new)| old < new);
    let words = |idle: Option<SeatIdleMinutes>| or_none(idle.map(idle_in_words));
    compare("seatIdleMinutes", "idle time", words(old), words(new), !is_longer);
    let (old, new) = (was.grace_days, now.grace_days);
    let words = |grace: Option<GraceDays>| or_none(grace.map(grace_in_words));
    compare("graceDays", "grace", words(old), words(new), new < old);
    let (old, new) = (was.max_lease_seconds, now.max_lease_seconds);
    let words = |lease: Option<MaxLeaseSeconds>| or_none(lease.map(lease_in_words));
    compare("maxLeaseSeconds", "offline", words(old), words(new), new < old);
    changes
}

fn or_none(words: Option<String>) -> String {
    words.unwrap_or_else(|| "none".to_owned())
}

/// The rows of a card for terms that are set.
pub fn term_rows(terms: &PlanTerms) -> Vec<(&'static str, TextCell)> {
    let idle = |idle| format!("floating: free after {} unused", idle_in_words(idle));
    let lease = |lease| format!("at most {}", lease_in_words(lease));
    let rows = [
        ("seats", terms.seat_idle_minutes.map(idle)),
        ("grace", terms.grace_days.map(grace_in_words)),
        ("offline", terms.max_lease_seconds.map(lease)),
    ];
    rows.into_iter().filter_map(|(name, words)| Some((name, TextCell::text(words?)))).collect()
}

pub fn days_in_words(days: i32) -> String {
    if days == 1 { "1 day".to_owned() } else { format!("{days} days") }
}

pub fn grace_in_words(grace: GraceDays) -> String {
    days_in_words(grace.get())
}

pub fn idle_in_words(idle: SeatIdleMinutes) -> String {
    minutes_in_words(idle.get())
}

pub fn lease_in_words(lease: MaxLeaseSeconds) -> String {
    match lease.get() {
        seconds if seconds % 60 == 0 => minutes_in_words(seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

fn minutes_in_words(minutes: i32) -> String {
    match minutes {
        minutes if minutes % 1440 == 0 => days_in_words(minutes / 1440),
        minutes if minutes % 60 == 0 => format!("{} h", minutes / 60),
        minutes => format!("{minutes} min"),
    }
}
