//! Suggests commands after which a validation would succeed.

use common::{ExplainedLicense, Explanation, ExternalId, MaxSeats, Reason, Status, Verdict};

use crate::output::escape::quote;

/// The commands, the least drastic first. `holders` have the seats, least recently checked first.
pub fn advice(user: &ExternalId, explained: &Explanation, holders: &[String]) -> Vec<String> {
    let user = quote(user.as_str());
    let with = |verdict| explained.licenses.iter().find(|license| license.verdict == verdict);
    match explained.reason {
        None => Vec::new(),
        Some(Reason::UserNotFound) => vec![
            "licctl users list --search TEXT   # look for another spelling".to_owned(),
            format!("licctl licenses assign LICENSE {user}"),
        ],
        Some(Reason::NoLicense) => vec![
            format!("licctl licenses assign LICENSE {user}"),
            format!("licctl licenses create --plan PLAN --assign {user}"),
        ],
        Some(Reason::ExceededSeats) => with(Verdict::ExceededSeats).map_or_else(Vec::new, |it| {
            let id = it.license.id;
            // A limit that was lowered leaves more than one seat to be freed.
            let max = it.license.max_seats.map_or(0, MaxSeats::get);
            let too_many = usize::try_from(it.seats_used - max + 1).unwrap_or(1);
            let idle: Vec<_> = holders.iter().take(too_many).map(|idle| quote(idle)).collect();
            let idle = (!idle.is_empty())
                .then(|| format!("licctl licenses unassign {id} {}", idle.join(" ")));
            let more = format!("licctl licenses update {id} --max-seats {}", it.seats_used + 1);
            idle.into_iter().chain([more]).collect()
        }),
        Some(Reason::Expired) => with(Verdict::Expired).map_or_else(Vec::new, renew),
        Some(Reason::Suspended) => activate(with(Verdict::Suspended)),
        Some(Reason::Revoked) => activate(with(Verdict::Revoked)),
    }
}

/// An expired license may have that status, a date in the past, or both.
fn renew(expired: &ExplainedLicense) -> Vec<String> {
    let id = expired.license.id;
    let status = (expired.license.status != Status::Active)
        .then(|| format!("licctl licenses activate {id}"));
    let date = expired
        .license
        .expires_at
        .map(|_| format!("licctl licenses update {id} --expires-at TIME   # a new date, or never"));
    status.into_iter().chain(date).collect()
}

fn activate(license: Option<&ExplainedLicense>) -> Vec<String> {
    license.iter().map(|it| format!("licctl licenses activate {}", it.license.id)).collect()
}
