//! What operations that write come to: a record, and whether it is new.

use serde::Serialize;

/// A record that was created.
pub struct Created<T>(pub T);

/// A record that existed before: as it is now, or as it was when it was deleted.
pub struct Changed<T>(pub T);

/// A record that was created, or existed before.
pub enum Upserted<T> {
    New(T),
    Known(T),
}

/// What an operation came to. It is stored for a request that may be sent again.
pub trait Outcome {
    type Record: Serialize;

    fn record(&self) -> &Self::Record;

    fn is_new(&self) -> bool;
}

impl<T: Serialize> Outcome for Created<T> {
    type Record = T;

    fn record(&self) -> &T {
        &self.0
    }

    fn is_new(&self) -> bool {
        true
    }
}

impl<T: Serialize> Outcome for Changed<T> {
    type Record = T;

    fn record(&self) -> &T {
        &self.0
    }

    fn is_new(&self) -> bool {
        false
    }
}

impl<T: Serialize> Outcome for Upserted<T> {
    type Record = T;

    fn record(&self) -> &T {
        match self {
            Self::New(record) | Self::Known(record) => record,
        }
    }

    fn is_new(&self) -> bool {
        matches!(self, Self::New(_))
    }
}
