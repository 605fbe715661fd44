//! Suggests commands that would make a validation succeed. Each can be pasted as it is: if the
//! right record is unknown, the command lists the candidates.

use common::{
    ExternalId, Feature, MaxSeats, Open, ProductId, Reason, Remedy, RemedyType, Status, Timestamp,
    Verdict,
};

use crate::client::{ExplainedLicense, Explanation};
use crate::commands::licenses::renew;
use crate::commands::prelude::*;

/// Facts that are known in addition to the explanation.
pub struct AdviceInput<'a> {
    pub product: Option<ProductId>,
    /// Users similar to an unknown one.
    pub similar: Vec<&'a ExternalId>,
    pub user: &'a ExternalId,
    /// Required features that the license lacks.
    pub missing: &'a [Feature],
}

/// Returns a remark for the commands if they could mislead without it.
pub fn remark(explained: &Explanation) -> Option<&'static str> {
    match &explained.reason {
        None => Some(
            "If the application still refuses, it may use another user id, mode, product or server:",
        ),
        Some(Open::Known(Reason::Revoked)) => Some(
            "Revocations are usually permanent. Find out why before you reactivate the license:",
        ),
        _ => None,
    }
}

/// The commands, the least drastic first.
pub fn advice(explained: &Explanation, about: &AdviceInput<'_>) -> Vec<String> {
    match explained.reason.as_ref().map(Open::known) {
        None if about.missing.is_empty() => vec!["licctl refusals list --since 1h".to_owned()],
        None => match explained.licenses.iter().find(|it| has_features(it, explained, about)) {
            Some(it) => {
                let (license, user) = (it.license.id, word(about.user));
                vec![format!("licctl licenses assign {license} {user} --first")]
            }
            None => {
                let valid = explained.licenses.iter().find(|it| it.verdict == Verdict::Valid);
                valid.map_or_else(Vec::new, |it| add_features(it, about.missing))
            }
        },
        Some(_) if let Some(renamed) = &explained.renamed_to => {
            vec![explain(&renamed.external_id)]
        }
        Some(Some(Reason::UserNotFound)) => about.similar.iter().map(|it| explain(it)).collect(),
        Some(Some(Reason::NoLicense)) => {
            let meant = explained.similar_users.iter().map(|user| explain(&user.external_id));
            meant.chain(candidates(about)).collect()
        }
        Some(_) => {
            let licenses = explained.licenses.iter();
            licenses
                .flat_map(|license| of_license(license, about.user, explained.checked_at))
                .collect()
        }
    }
}

/// Whether the user has this license with the missing features too, and it would decide if it came
/// first.
fn has_features(it: &ExplainedLicense, explained: &Explanation, about: &AdviceInput<'_>) -> bool {
    let limit = it.license.max_seats.map(MaxSeats::get);
    let has_seat = it.activation.is_some() || limit.is_none_or(|limit| it.seats_used < limit);
    it.verdict == Verdict::NotReached
        && it.license.effective_status(explained.checked_at) == Status::Active
        && has_seat
        && about.missing.iter().all(|feature| it.license.features.contains(feature))
}

/// The commands that apply the license's remedies.
fn of_license(it: &ExplainedLicense, user: &ExternalId, now: Timestamp) -> Vec<String> {
    let id = it.license.id;
    let is = |kind: RemedyType| move |remedy: &&Remedy| remedy.kind == kind;
    // Renewing activates an expired license as well, but not a suspended or revoked one.
    let renews = it.verdict == Verdict::Expired
        && it.remedies.iter().any(|remedy| is(RemedyType::Renew)(&remedy));
    let look = (it.verdict == Verdict::Revoked && !it.remedies.is_empty())
        .then(|| format!("licctl events list --subject {id}"));
    let remedies = it.remedies.iter().filter(|it| !(renews && is(RemedyType::Activate)(it)));
    look.into_iter().chain(remedies.filter_map(|remedy| command(it, remedy, user, now))).collect()
}

fn command(
    of: &ExplainedLicense,
    remedy: &Remedy,
    user: &ExternalId,
    now: Timestamp,
) -> Option<String> {
    let id = of.license.id;
    match remedy.kind.known()? {
        RemedyType::Unassign => Some(format!("licctl licenses unassign {id} {}", word(user))),
        RemedyType::FreeSeats => {
            let count = remedy.count.and_then(|count| usize::try_from(count).ok())?;
            // The seat of who is offline is not given away without being asked.
            let online =
                remedy.holders.iter().filter(|it| it.activation.lease_until(now).is_none());
            let leave: Vec<String> = online.take(count).map(|it| word(&it.external_id)).collect();
            // The user of a floating seat takes it again when it is needed.
            let verb = of.terms.seat_idle_minutes.map_or("unassign", |_| "release");
            (leave.len() == count)
                .then(|| format!("licctl licenses {verb} {id} {}", leave.join(" ")))
        }
        RemedyType::RaiseLimit => {
            let max = remedy.max_seats?;
            Some(format!("licctl licenses update {id} --max-seats {max}"))
        }
        RemedyType::Activate => Some(format!("licctl licenses activate {id}")),
        RemedyType::Renew => Some(renew::command(id, remedy.term.is_some())),
    }
}

fn word(user: &ExternalId) -> String {
    quote(user.as_str()).into_owned()
}

fn explain(user: &ExternalId) -> String {
    format!("licctl validate {} --explain", word(user))
}

/// A new license, or existing ones to assign: a person must decide.
fn candidates(about: &AdviceInput<'_>) -> Vec<String> {
    let product = about.product.map_or_else(String::new, |id| format!(" --product {id}"));
    vec![
        format!("licctl licenses create --plan PLAN{product} --assign {}", word(about.user)),
        format!("licctl licenses list --status active{product}"),
    ]
}

/// An update replaces all features.
fn add_features(valid: &ExplainedLicense, missing: &[Feature]) -> Vec<String> {
    if missing.is_empty() {
        return Vec::new();
    }
    let all = valid.license.features.iter().chain(missing).map(Feature::as_str);
    let all = all.collect::<Vec<_>>().join(",");
    vec![format!("licctl licenses update {} --feature {}", valid.license.id, quote(&all))]
}
