//! Suggests commands after which a validation would succeed. Each can be pasted as it is: where the
//! right record is not known, the command or its error lists the candidates.

use common::{
    ExplainedLicense, Explanation, ExternalId, Feature, MaxSeats, Open, ProductId, Reason,
    Timestamp, Verdict,
};

use crate::commands::licenses::renew;
use crate::escape::quote;
use crate::resolve::FoundElsewhere;

/// What is known beside the explanation.
pub struct Circumstances<'a> {
    pub product: Option<ProductId>,
    /// The holders of the seats, least recently checked first.
    pub idle: Vec<&'a ExternalId>,
    /// Users whom an unknown one may mean.
    pub similar: Vec<&'a ExternalId>,
    /// Other profiles that know an unknown user.
    pub elsewhere: &'a [FoundElsewhere],
    pub user: &'a ExternalId,
    /// Required features that the license lacks.
    pub lacking: &'a [Feature],
    /// Whether the plan of the expired license says for how long it is renewed.
    pub has_term: bool,
}

/// What to say before the commands, where they alone could mislead.
pub fn remark(explained: &Explanation) -> Option<&'static str> {
    match &explained.reason {
        None => Some(
            "If the application still says no, it may use another user id, mode, product or server:",
        ),
        Some(Open::Known(Reason::Revoked)) => Some(
            "A license is usually revoked for good. Find out why before you activate it again:",
        ),
        _ => None,
    }
}

/// The commands, the least drastic first.
pub fn advice(explained: &Explanation, about: &Circumstances<'_>) -> Vec<String> {
    let with = |verdict| explained.licenses.iter().find(|license| license.verdict == verdict);
    match &explained.reason {
        None if about.lacking.is_empty() => vec!["licctl refusals list --since 1h".to_owned()],
        None => with(Verdict::Valid).map_or_else(Vec::new, |it| add_features(it, about.lacking)),
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

/// The user in other profiles, or who may be meant instead.
fn find_user(about: &Circumstances<'_>) -> Vec<String> {
    let explain =
        |user, profile: &str| format!("licctl validate {} --explain{profile}", word(user));
    let elsewhere = about.elsewhere.iter();
    let elsewhere = elsewhere.map(|it| explain(about.user, &format!(" -P {}", quote(&it.profile))));
    elsewhere.chain(about.similar.iter().map(|user| explain(user, ""))).collect()
}

/// A new license, or one that could be assigned; which is right only a person knows.
fn candidates(about: &Circumstances<'_>) -> Vec<String> {
    let product = about.product.map_or_else(String::new, |id| format!(" --product {id}"));
    vec![
        format!("licctl licenses create --plan PLAN{product} --assign {}", word(about.user)),
        format!("licctl licenses list --status active{product}"),
    ]
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

/// Whether a renewal is what the license needs: it may have the status expired, a date in the past,
/// or both.
pub fn needs_a_term(expired: &ExplainedLicense, now: Timestamp) -> bool {
    expired.verdict == Verdict::Expired && expired.license.has_ended(now)
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
