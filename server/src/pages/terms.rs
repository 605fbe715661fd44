//! The terms of plans and licenses: their fields in forms, and their words.

use common::{PlanTerms, SeatIdleMinutes};
use serde::{Deserialize, Serialize};

use super::{LeaseTime, all, counted, given, optional};
use crate::error::Error;

/// The fields for terms, which a form of a plan or license contains. An empty one means null.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TermFields {
    pub seat_idle_minutes: Option<String>,
    pub grace_days: Option<String>,
    pub max_lease: Option<String>,
}

impl TermFields {
    pub fn of(terms: &PlanTerms) -> Self {
        let mut fields = Self::default();
        fields.fill_in(terms);
        fields
    }

    /// Fills in the terms, but for fields that were sent.
    pub fn fill_in(&mut self, terms: &PlanTerms) {
        fn fill<T: ToString>(field: &mut Option<String>, term: Option<T>) {
            field.get_or_insert_with(|| term.map_or_else(String::new, |it| it.to_string()));
        }
        fill(&mut self.seat_idle_minutes, terms.seat_idle_minutes);
        fill(&mut self.grace_days, terms.grace_days);
        fill(&mut self.max_lease, terms.max_lease_seconds.map(LeaseTime));
    }

    /// Reads the terms. A field that is left out does not mean an empty one.
    pub fn read(&self) -> Result<PlanTerms, Error> {
        let idle = given("seatIdleMinutes", &self.seat_idle_minutes)?;
        let grace = given("graceDays", &self.grace_days)?;
        let lease = given("maxLease", &self.max_lease)?;
        all! {
            seat_idle_minutes = optional("seatIdleMinutes", "The number of minutes", idle),
            grace_days = optional("graceDays", "The number of days", grace),
            max_lease = optional::<LeaseTime>("maxLease", "The time", lease),
        }
        let max_lease_seconds = max_lease.map(|time| time.0);
        Ok(PlanTerms { seat_idle_minutes, grace_days, max_lease_seconds })
    }
}

/// Returns the names and values of the terms that are set.
pub fn facts(terms: &PlanTerms) -> Vec<(&'static str, String)> {
    let idle = |idle: SeatIdleMinutes| {
        format!("seats are free after {} without a validation", counted(idle.get(), "minute"))
    };
    let facts = [
        ("Floating", terms.seat_idle_minutes.map(idle)),
        ("Grace", terms.grace_days.map(|days| counted(days.get(), "day"))),
        ("Offline", terms.max_lease_seconds.map(|time| format!("for at most {}", LeaseTime(time)))),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Says in sentences which terms would change.
pub fn changes(old: &PlanTerms, new: &PlanTerms) -> String {
    let mut sentences = String::new();
    let mut compare = |what: &str, [old, new]: [Option<String>; 2]| {
        if old != new {
            let [old, new] = [old, new].map(|it| it.unwrap_or_else(|| "none".to_owned()));
            sentences += &format!(" {what}: {new}, now {old}.");
        }
    };
    compare("Days of grace", [old, new].map(|it| it.grace_days.map(|days| days.to_string())));
    let idle = |it: &PlanTerms| it.seat_idle_minutes.map(|it| counted(it.get(), "minute"));
    compare("Floating seats come free after", [old, new].map(idle));
    let lease = |terms: &PlanTerms| terms.max_lease_seconds.map(|it| LeaseTime(it).to_string());
    compare("Longest lease", [old, new].map(lease));
    sentences
}
