//! Suggests commands after which a validation would succeed. Each can be pasted as it is: where the
//! right record is not known, the command lists the candidates.

use chrono::TimeDelta;
use common::{
    ExplainedLicense, Explanation, ExternalId, Feature, MaxSeats, ProductId, Reason, Status,
    Timestamp, Verdict,
};

use crate::escape::quote;

/// For how long a license is renewed that was never valid.
const DEFAULT_RENEWAL: TimeDelta = TimeDelta::days(30);

/// What is known beside the explanation.
pub struct Circumstances<'a> {
    pub product: Option<ProductId>,
    /// The holders of the seats, least recently checked first.
    pub idle: Vec<&'a ExternalId>,
    /// Users whom an unknown one may mean.
    pub similar: Vec<&'a ExternalId>,
    /// Required features that the license lacks.
    pub lacking: &'a [Feature],
}

/// The commands, the least drastic first.
pub fn advice(explained: &Explanation, about: &Circumstances<'_>) -> Vec<String> {
    let with = |verdict| explained.licenses.iter().find(|license| license.verdict == verdict);
    match explained.reason {
        None => with(Verdict::Valid).map_or_else(Vec::new, |it| add_features(it, about.lacking)),
        Some(Reason::UserNotFound) => {
            let similar = about.similar.iter();
            similar.map(|user| format!("licctl validate {} --explain", word(user))).collect()
        }
        Some(Reason::NoLicense) => candidates(about),
        Some(Reason::ExceededSeats) => {
            with(Verdict::ExceededSeats).map_or_else(Vec::new, |it| make_room(it, &about.idle))
        }
        Some(Reason::Expired) => {
            with(Verdict::Expired).map_or_else(Vec::new, |it| renew(it, explained.checked_at))
        }
        Some(Reason::Suspended) => activate(with(Verdict::Suspended)),
        Some(Reason::Revoked) => activate(with(Verdict::Revoked)),
    }
}

fn word(user: &ExternalId) -> String {
    quote(user.as_str()).into_owned()
}

/// The licenses that could be assigned; which is right only a person knows.
fn candidates(about: &Circumstances<'_>) -> Vec<String> {
    let product = about.product.map_or_else(String::new, |id| format!(" --product {id}"));
    vec![format!("licctl licenses list --status active{product}")]
}

fn make_room(full: &ExplainedLicense, idle: &[&ExternalId]) -> Vec<String> {
    let id = full.license.id;
    // A limit that was lowered leaves more than one seat to be freed.
    let max = full.license.max_seats.map_or(0, MaxSeats::get);
    let too_many = usize::try_from(full.seats_used - max + 1).unwrap_or(1);
    let leave: Vec<String> = idle.iter().take(too_many).map(|user| word(user)).collect();
    let unassign = (leave.len() == too_many)
        .then(|| format!("licctl licenses unassign {id} {}", leave.join(" ")));
    let more = format!("licctl licenses update {id} --max-seats {}", full.seats_used + 1);
    unassign.into_iter().chain([more]).collect()
}

/// An expired license may have that status, a date in the past, or both. It is renewed for as long
/// as it was valid.
fn renew(expired: &ExplainedLicense, now: Timestamp) -> Vec<String> {
    let license = &expired.license;
    let status = (license.status != Status::Active)
        .then(|| format!("licctl licenses activate {}", license.id));
    let date = license.expires_at.filter(|&end| end <= now).map(|end| {
        let valid_for = end.since(license.created_at);
        // A date before the license shows nothing of the time that was sold.
        let valid_for = if valid_for > TimeDelta::zero() { valid_for } else { DEFAULT_RENEWAL };
        format!("licctl licenses update {} --expires-at {}", license.id, now.plus(valid_for))
    });
    status.into_iter().chain(date).collect()
}

fn activate(license: Option<&ExplainedLicense>) -> Vec<String> {
    license.iter().map(|it| format!("licctl licenses activate {}", it.license.id)).collect()
}

/// The features of an update replace the former ones.
fn add_features(valid: &ExplainedLicense, lacking: &[Feature]) -> Vec<String> {
    if lacking.is_empty() {
        return Vec::new();
    }
    let all = valid.license.features.iter().chain(lacking).map(Feature::as_str);
    let all = all.collect::<Vec<_>>().join(",");
    vec![format!("licctl licenses update {} --feature {}", valid.license.id, quote(&all))]
}
