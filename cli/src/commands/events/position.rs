//! Finds the sequence number after which the wanted events begin. The service lists events forward
//! only, so the last ones are found by bisection, which takes few requests for any number of events.

use common::Timestamp;

use super::EventFilters;
use crate::client::Client;
use crate::error::Result;

/// The most events that one page holds.
pub const MAX_PAGE_LEN: usize = 1000;
/// How many events are read to look at their times.
const TIME_PROBE_LEN: usize = 100;

/// How a sequence number compares to the one that is looked for.
enum Place {
    /// Begin later: enough follows this number, which is not below the one that was tried.
    Early(i64),
    Right,
    /// Begin earlier: some wanted events come before.
    Late,
}

/// Where the last `wanted` events begin; at most [`MAX_PAGE_LEN`] are found.
pub async fn of_last(filters: &EventFilters, client: &Client, wanted: usize) -> Result<i64> {
    let probe = probe_len(wanted);
    bisect(async |after| {
        let page = filters.page(client, after, probe).await?;
        let sequences: Vec<i64> = page.data.iter().map(|event| event.sequence).collect();
        Ok(compare(after, &sequences, page.next_cursor.is_some(), wanted))
    })
    .await
}

/// How many events are read to look whether the last `wanted` ones are among them.
fn probe_len(wanted: usize) -> usize {
    (wanted * 4).min(MAX_PAGE_LEN)
}

/// Compares by the events that follow, and whether yet more do.
fn compare(after: i64, follow: &[i64], and_more: bool, wanted: usize) -> Place {
    if and_more {
        // Enough follow even the last `wanted` of these.
        let later = follow.iter().rev().nth(wanted);
        Place::Early(later.map_or(after, |&sequence| sequence.max(after)))
    } else if follow.len() >= wanted {
        Place::Right
    } else {
        Place::Late
    }
}

/// Where the events since a time begin, with some earlier ones before them.
pub async fn since(filters: &EventFilters, client: &Client, time: Timestamp) -> Result<i64> {
    bisect(async |after| {
        let page = filters.page(client, after, TIME_PROBE_LEN).await?;
        Ok(match (page.data.first(), page.data.last()) {
            (Some(first), Some(last)) if first.time < time && last.time < time => {
                Place::Early(last.sequence.max(after))
            }
            (Some(first), _) if first.time < time => Place::Right,
            _ => Place::Late,
        })
    })
    .await
}

/// Doubles the number until it is too late, then halves the distance.
async fn bisect(compare: impl AsyncFn(i64) -> Result<Place>) -> Result<i64> {
    let (mut early, mut late) = (0, None);
    let mut tried = 0;
    loop {
        match compare(tried).await? {
            Place::Right => return Ok(tried),
            Place::Late if tried == 0 => return Ok(0),
            Place::Late => late = Some(tried),
            Place::Early(sequence) => early = sequence,
        }
        // Events that came meanwhile may have made a late number an early one.
        late = late.filter(|&late| late > early);
        tried = match late {
            None => early * 2 + 1,
            Some(late) if late - early <= 1 => return Ok(early),
            Some(late) => early + (late - early) / 2,
        };
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt;

    use super::*;

    /// What is found among events of these numbers, and with how many requests.
    fn last(numbers: &[i64], wanted: usize) -> (i64, usize) {
        let asked = Cell::new(0);
        let finding = bisect(async |after| {
            asked.set(asked.get() + 1);
            let from = numbers.partition_point(|&number| number <= after);
            let to = numbers.len().min(from + probe_len(wanted));
            Ok(compare(after, &numbers[from..to], to < numbers.len(), wanted))
        });
        (finding.now_or_never().unwrap().unwrap(), asked.get())
    }

    #[test]
    fn few_requests_find_the_last_events() {
        let all: Vec<i64> = (1..=100_000).collect();
        let rare: Vec<i64> = all.iter().copied().filter(|n| n % 997 == 0).collect();
        for (numbers, wanted) in [(&all, 1), (&all, 50), (&all, 1000), (&rare, 20), (&rare, 90)] {
            let (after, asked) = last(numbers, wanted);
            let follow = numbers.iter().filter(|&&number| number > after).count();
            assert!((wanted..=probe_len(wanted) + 1).contains(&follow), "{wanted}: {follow}");
            assert!(asked <= 36, "{wanted}: {asked} requests");
        }
        assert_eq!(last(&[], 50), (0, 1));
        assert_eq!(last(&[3, 5], 50), (0, 1));
    }
}
