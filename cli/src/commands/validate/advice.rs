//! Suggests commands that would make a validation succeed. Each can be pasted as it is: if the right
//! record is unknown, the command lists the candidates.

use common::{ExternalId, Feature, MaxSeats, Open, ProductId, Reason, Timestamp, Verdict};

use crate::commands::licenses::renew;
use crate::escape::quote;
use crate::records::{ExplainedLicense, Explanation};
use crate::resolve::FoundElsewhere;

/// What is known in addition to the explanation.
pub struct AdviceInput<'a> {
    pub product: Option<ProductId>,
    /// The holders of the seats, least recently checked first.
    pub idle: Vec<&'a ExternalId>,
    /// Users similar to an unknown one.
    pub similar: Vec<&'a ExternalId>,
    /// Other profiles that have an unknown user.
    pub elsewhere: &'a [FoundElsewhere],
    pub user: &'a ExternalId,
    /// Required features that the license lacks.
    pub missing: &'a [Feature],
    /// Whether the plan of the expired license says for how long it is renewed.
    pub has_term: bool,
}

/// A remark before the commands, if they alone could mislead.
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
    let with = |verdict| explained.licenses.iter().find(|license| license.verdict == verdict);
    match &explained.reason {
        None if about.missing.is_empty() => vec!["licctl refusals list --since 1h".to_owned()],
        None => with(Verdict::Valid).map_or_else(Vec::new, |it| add_features(it, about.missing)),
        Some(Open::Known(Reason::UserNotFound)) => find_user(about),
        Some(Open::Known(Reason::NoLicense)) => candidates(about),
        Some(Open::Known(Reason::ExceededSeats)) => {
            with(Verdict::ExceededSeats).map_or_else(Vec::new, |it| make_room(it, &about.idle))
        }
        Some(Open::Known(Reason::Expired)) => match with(Verdict::Expired) {
            Some(it) if needs_a_term(it, explained.checked_at) => {
                vec![renew::command(it.license.id, about.has_term)]
            }
            expired => activate(expired),
        },
        Some(Open::Known(Reason::Suspended)) => activate(with(Verdict::Suspended)),
        Some(Open::Known(Reason::Revoked)) => {
            let revoked = with(Verdict::Revoked);
            let why = revoked.map(|it| format!("licctl events list --subject {}", it.license.id));
            why.into_iter().chain(activate(revoked)).collect()
        }
        Some(Open::Unknown(_)) => Vec::new(),
    }
}

fn word(user: &ExternalId) -> String {
    quote(user.as_str()).into_owned()
}

/// The user in other profiles, or similar users.
fn find_user(about: &AdviceInput<'_>) -> Vec<String> {
    let explain =
        |user, profile: &str| format!("licctl validate {} --explain{profile}", word(user));
    let elsewhere = about.elsewhere.iter();
    let elsewhere = elsewhere.map(|it| explain(about.user, &format!(" -P {}", quote(&it.profile))));
    elsewhere.chain(about.similar.iter().map(|user| explain(user, ""))).collect()
}

/// A new license, or existing ones to assign: a person must decide.
fn candidates(about: &AdviceInput<'_>) -> Vec<String> {
    let product = about.product.map_or_else(String::new, |id| format!(" --product {id}"));
    vec![
        format!("licctl licenses create --plan PLAN{product} --assign {}", word(about.user)),
        format!("licctl licenses list --status active{product}"),
    ]
}

fn make_room(full: &ExplainedLicense, idle: &[&ExternalId]) -> Vec<String> {
    let id = full.license.id;
    // After a limit was lowered, more than one seat must be freed.
    let max = full.license.max_seats.map_or(0, MaxSeats::get);
    let too_many = usize::try_from(full.seats_used - max + 1).unwrap_or(1);
    let leave: Vec<String> = idle.iter().take(too_many).map(|user| word(user)).collect();
    let unassign = (leave.len() == too_many)
        .then(|| format!("licctl licenses unassign {id} {}", leave.join(" ")));
    let more = format!("licctl licenses update {id} --max-seats {}", full.seats_used + 1);
    unassign.into_iter().chain([more]).collect()
}

/// Whether the license needs a renewal: it may have the status expired, a date in the past, or both.
pub fn needs_a_term(expired: &ExplainedLicense, now: Timestamp) -> bool {
    expired.verdict == Verdict::Expired && expired.license.has_ended(now)
}

fn activate(license: Option<&ExplainedLicense>) -> Vec<String> {
    license.iter().map(|it| format!("licctl licenses activate {}", it.license.id)).collect()
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
