//! The client that does not take what it is sent: since when it is waited for, and how much it has
//! taken meanwhile. The connection's own task writes this, the accept loop reads it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::clock::{millis, now};

/// How much a client must take in each `write_timeout`.
const MIN_WRITTEN: u64 = 64 * 1024;

#[derive(Default)]
pub struct Blocked {
    /// When the kernel began to take no more; 0 while it takes everything.
    since: AtomicU64,
    /// What the kernel took since then, in bytes.
    written: AtomicU64,
}

impl Blocked {
    /// Whether the client is waited for.
    pub fn is_blocked(&self) -> bool {
        self.since.load(Relaxed) != 0
    }

    /// The kernel took so many bytes.
    pub fn wrote(&self, bytes: usize) {
        if self.is_blocked() {
            self.written.fetch_add(bytes as u64, Relaxed);
        }
    }

    /// The kernel takes no more, as the client does not read.
    pub fn kernel_is_full(&self) {
        if !self.is_blocked() {
            self.written.store(0, Relaxed);
            self.since.store(now(), Relaxed);
        }
    }

    /// The kernel took everything that it was given.
    pub fn kernel_took_all(&self) {
        if self.is_blocked() {
            self.since.store(0, Relaxed);
        }
    }

    /// Whether the client has taken too little in the time `limit`. One that took enough is given as
    /// long again.
    pub fn is_overdue(&self, limit: Duration, now: u64) -> bool {
        let since = self.since.load(Relaxed);
        if since == 0 || now.saturating_sub(since) < millis(limit) {
            return false;
        }
        if self.written.swap(0, Relaxed) < MIN_WRITTEN {
            return true;
        }
        // Fails when the kernel has taken everything meanwhile.
        let _ = self.since.compare_exchange(since, now, Relaxed, Relaxed);
        false
    }
}
