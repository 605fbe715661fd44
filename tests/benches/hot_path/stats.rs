//! Numbers out of samples: percentiles of one round, medians over rounds.

use std::time::Duration;

/// Latencies of one round in microseconds, in order.
pub struct Latencies(Vec<u32>);

impl Latencies {
    pub fn new(mut micros: Vec<u32>) -> Self {
        micros.sort_unstable();
        Self(micros)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The latency that `share` of all requests did not exceed, in milliseconds.
    pub fn percentile(&self, share: f64) -> f64 {
        let rank = (self.0.len() as f64 * share).ceil() as usize;
        let micros = self.0.get(rank.saturating_sub(1)).copied().unwrap_or_default();
        f64::from(micros) / 1000.0
    }
}

pub fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}

/// The middle one of `values`, or the mean of the two in the middle.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => values[n / 2],
        n => f64::midpoint(values[n / 2 - 1], values[n / 2]),
    }
}
