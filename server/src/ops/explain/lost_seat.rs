//! Explains when and why a user who is refused for lack of seats lost the seat held before.

use common::{Event, EventReason, EventType, ExternalId, LicenseId};

use crate::db::Conn;
use crate::error::Error;
use crate::store::events::{self, EventFilter};
use crate::store::{Page, Scope};

/// Maximum number of the user's freed seats to examine.
const READ: i64 = 20;

/// Returns a sentence on the last seat of this license that the user lost, if any.
pub(super) async fn lost_seat(
    conn: &mut Conn,
    scope: Scope,
    user: &ExternalId,
    license: LicenseId,
) -> Result<Option<String>, Error> {
    let kind = Some(EventType::SeatFreed.as_str());
    let filter = EventFilter { kind, user: Some(user.as_str()), ..EventFilter::default() };
    let found = events::page(conn, scope, filter, Page::newest_first(None, READ)).await?;
    let last = found.records.iter().find(|event| event.related.license_id == Some(license));
    Ok(last.map(sentence))
}

fn sentence(event: &Event) -> String {
    let (at, data) = (event.time, &event.data);
    match (&data.reason, data.object.get("lastCheckedAt").and_then(|it| it.as_str())) {
        (Some(reason), Some(since)) if *reason == EventReason::Idle => {
            format!("This user's seat, idle since {since}, was taken over at {at}.")
        }
        (Some(reason), _) => format!("This user's seat was freed at {at} ({reason})."),
        (None, _) => format!("This user's seat was freed at {at}."),
    }
}
