//! The form with the terms of a license. Pages send all of its fields, or only those that a button
//! changes. A field that is left out stays as it is.

use common::{
    Features, LicenseField, LicenseWithSeats, MaxSeats, Name, PlanTerms, Timestamp, UpdateLicense,
};

use super::questions::{self, missing_in};
use super::show::Fields;
use crate::error::Error;
use crate::ops::view::View;
use crate::pages::fields::features;
use crate::pages::filters::end_in_words;
use crate::pages::terms::TermFields;
use crate::pages::{Done, Notice, Stop, all, counted, end_of_day, last_day, optional};

/// The values that differ from those of the license. Those of an optional term may be `None`.
#[derive(Default)]
struct Changes {
    name: Option<Option<Name>>,
    limit: Option<Option<MaxSeats>>,
    end: Option<Option<Timestamp>>,
    terms: Option<PlanTerms>,
    features: Option<Features>,
}

/// Returns the update that the form makes, and its notice. `None` if it changes nothing.
pub async fn read(
    view: View,
    before: &LicenseWithSeats,
    fields: &Fields,
) -> Result<Option<(UpdateLicense, Done)>, Stop> {
    let changes = Changes::read(fields, before)?;
    if changes.count() == 0 {
        return Ok(None);
    }
    if let Some(limit) = changes.limit {
        questions::ask_about_limit(before, limit, fields)?;
    }
    if let Some(end) = changes.end {
        questions::ask_about_expiry(view, before, end, fields).await?;
    }
    if let Some(features) = &changes.features {
        questions::ask_about_features(before, features, fields)?;
    }
    let done = changes.notice(before);
    Ok(Some((changes.into_update(), done)))
}

impl Changes {
    fn read(fields: &Fields, before: &LicenseWithSeats) -> Result<Self, Error> {
        let TermFields { seat_idle_minutes, grace_days, max_lease } = &fields.terms;
        let has_terms = [seat_idle_minutes, grace_days, max_lease].iter().any(|it| it.is_some());
        let terms = has_terms.then(|| fields.terms.read()).transpose()?;
        all! {
            name = sent(&fields.name, |text| optional("name", "The name", text)),
            limit = sent(&fields.max_seats, |text| limit(text, before.max_seats)),
            end = sent(&fields.expires_at, |text| end(text, before.expires_at)),
            new_features = sent(&fields.features, |text| features("features", text, &before.features)),
        }
        Ok(Self {
            name: name.filter(|name| *name != before.name),
            limit: limit.filter(|limit| *limit != before.max_seats),
            end: end.filter(|end| *end != before.expires_at),
            terms: terms.filter(|terms| *terms != before.terms.of_plan),
            features: new_features.filter(|features| *features != before.features),
        })
    }

    fn count(&self) -> i64 {
        let Self { name, limit, end, terms, features } = self;
        let changed =
            [name.is_some(), limit.is_some(), end.is_some(), terms.is_some(), features.is_some()];
        changed.into_iter().map(i64::from).sum()
    }

    fn into_update(self) -> UpdateLicense {
        let mut clear = self.terms.map(|terms| terms.absent()).unwrap_or_default();
        let cleared = [
            (matches!(self.name, Some(None)), LicenseField::Name),
            (matches!(self.limit, Some(None)), LicenseField::MaxSeats),
            (matches!(self.end, Some(None)), LicenseField::ExpiresAt),
        ];
        clear.extend(
            cleared.into_iter().filter_map(|(is_cleared, field)| is_cleared.then_some(field)),
        );
        let update = UpdateLicense {
            name: self.name.flatten(),
            max_seats: self.limit.flatten(),
            expires_at: self.end.flatten(),
            features: self.features,
            clear: Some(clear),
            ..UpdateLicense::default()
        };
        match self.terms {
            Some(terms) => update.with_terms(terms),
            None => update,
        }
    }

    /// Describes a single change, and counts several.
    fn notice(&self, before: &LicenseWithSeats) -> Done {
        match self {
            several if several.count() > 1 => {
                Notice::SeveralSaved.with("", counted(several.count(), "change"))
            }
            Self { limit: Some(limit), .. } => {
                let shown =
                    |limit: Option<MaxSeats>| limit.map_or("unlimited".into(), |it| it.to_string());
                let notice = match limit {
                    Some(limit) if limit.get() < before.seats.used => Notice::LimitBelowUsed,
                    _ => Notice::LimitChanged,
                };
                notice.with(shown(before.max_seats), shown(*limit))
            }
            Self { end: Some(end), .. } => {
                let shown =
                    |end: Option<Timestamp>| end.map_or_else(|| "never".to_owned(), end_in_words);
                let notice = match end {
                    Some(end) if *end <= Timestamp::now() => Notice::ExpiryPassed,
                    _ => Notice::ExpiryChanged,
                };
                notice.with(shown(before.expires_at), shown(*end))
            }
            Self { features: Some(features), .. } => changed_features(&before.features, features),
            Self { name: Some(_), .. } => Notice::NameChanged.into(),
            _ => Notice::TermsChanged.into(),
        }
    }
}

fn sent<T>(
    field: &Option<String>,
    read: impl FnOnce(&str) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    field.as_deref().map(read).transpose()
}

/// Reads a limit. `+5` adds five seats to the present one.
fn limit(text: &str, present: Option<MaxSeats>) -> Result<Option<MaxSeats>, Error> {
    let text = text.trim();
    let added = text.strip_prefix('+').and_then(|added| added.trim().parse::<i32>().ok());
    match (added, present) {
        (None, _) => optional("maxSeats", "The limit", text),
        (Some(_), None) => {
            Err(Error::invalid("maxSeats", "There is no limit to add seats to: enter a number."))
        }
        (Some(added), Some(present)) => {
            let sum = present.get().saturating_add(added);
            optional("maxSeats", "The limit", &sum.to_string())
        }
    }
}

/// Reads a last valid day. An end within that day stays, since the field has no place for its time.
fn end(text: &str, present: Option<Timestamp>) -> Result<Option<Timestamp>, Error> {
    match text.trim() {
        "" => Ok(None),
        day if present.map(last_day).as_deref() == Some(day) => Ok(present),
        day => end_of_day("expiresAt", "The expiry", day).map(Some),
    }
}

fn changed_features(before: &Features, after: &Features) -> Done {
    let removed = missing_in(after, before);
    let added = missing_in(before, after);
    let notice = match (removed.is_empty(), added.is_empty()) {
        (false, false) => Notice::FeaturesReplaced,
        (false, true) => Notice::FeaturesRemoved,
        (true, false) => Notice::FeaturesAdded,
        (true, true) => Notice::FeaturesSorted,
    };
    notice.with(brief(&removed), brief(&added))
}

/// Features in a few words, as a notice can show them; nothing if there are none.
fn brief(features: &[&str]) -> String {
    let names = features.join(", ");
    if Done::fits(&names) { names } else { counted(features.len() as i64, "feature") }
}
