//! Numbers out of rounds: medians, spreads and ratios.

/// One round of one row.
#[derive(Clone, Copy, Default)]
pub struct Round {
    /// Validations in a second.
    pub rate: f64,
    /// Milliseconds.
    pub p50: f64,
    pub p99: f64,
    pub p999: f64,
    /// Microseconds of the server's CPU time for each validation.
    pub server_cpu: f64,
    /// CPU time of PostgreSQL.
    pub database_cpu: f64,
    /// Bytes that the server wrote to files for each validation.
    pub server_written: f64,
    /// Bytes that PostgreSQL wrote.
    pub database_written: f64,
    /// Resident bytes of the largest server, after the round.
    pub memory: f64,
}

impl Round {
    /// Microseconds of CPU time for each validation, without the load's.
    pub fn cpu(&self) -> f64 {
        self.server_cpu + self.database_cpu
    }
}

/// All rounds of one row, in their order.
#[derive(Default)]
pub struct Series(pub Vec<Round>);

impl Series {
    pub fn median(&self, of: fn(&Round) -> f64) -> f64 {
        median(self.0.iter().map(of))
    }

    /// The median ratio to `other`, each round by itself.
    pub fn ratio(&self, other: &Self, of: fn(&Round) -> f64) -> f64 {
        median(self.0.iter().zip(&other.0).map(|(one, other)| of(one) / of(other)))
    }

    pub fn least(&self, of: fn(&Round) -> f64) -> f64 {
        self.0.iter().map(of).fold(f64::NAN, f64::min)
    }

    pub fn most(&self, of: fn(&Round) -> f64) -> f64 {
        self.0.iter().map(of).fold(f64::NAN, f64::max)
    }
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
