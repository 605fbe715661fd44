//! The client that does not take what it is sent: why and since when it is waited for, and how much
//! it has taken meanwhile.
//!
//! A word holds the reasons and the time, and is only ever exchanged as a whole, as the answers of an
//! HTTP/2 connection are sent by tasks of their own.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::clock::{millis, now};

/// The low bits of the word: whether the kernel takes no more, and how many answers the client has
/// made no room for. The others are the time.
const REASON_BITS: u32 = 17;
const REASONS: u64 = (1 << REASON_BITS) - 1;
const KERNEL: u64 = 1;
const ONE_ANSWER: u64 = 2;

/// How much a client must take in each `write_timeout`.
const MIN_WRITTEN: u64 = 64 * 1024;

#[derive(Default)]
pub struct Blocked {
    /// 0 while the client takes everything.
    word: AtomicU64,
    /// What the kernel took since then, in bytes.
    written: AtomicU64,
}

impl Blocked {
    /// Whether the client is waited for.
    pub fn is_blocked(&self) -> bool {
        self.word.load(Relaxed) != 0
    }

    /// The kernel took so many bytes.
    pub fn wrote(&self, bytes: usize) {
        if self.is_blocked() {
            self.written.fetch_add(bytes as u64, Relaxed);
        }
    }

    /// The kernel takes no more, as the client does not read.
    pub fn kernel_is_full(&self) {
        if self.word.load(Relaxed) & KERNEL == 0 {
            self.change(|reasons| reasons | KERNEL);
        }
    }

    /// The kernel took everything that it was given.
    pub fn kernel_took_all(&self) {
        if self.word.load(Relaxed) & KERNEL != 0 {
            self.change(|reasons| reasons & !KERNEL);
        }
    }

    /// An answer over HTTP/2 waits until the client makes room for more of it.
    pub fn answer_waits(&self) {
        self.change(|reasons| reasons + ONE_ANSWER);
    }

    /// The client made room for an answer that waited, or the answer is given up.
    pub fn answer_goes_on(&self) {
        self.change(|reasons| reasons.saturating_sub(ONE_ANSWER));
    }

    /// With the first reason a time begins, with the last it ends.
    fn change(&self, change: impl Fn(u64) -> u64) {
        // Never fails, as there is always a new word.
        let _ = self.word.fetch_update(Relaxed, Relaxed, |word| {
            let (old, new) = (word & REASONS, change(word & REASONS));
            if old == 0 {
                self.written.store(0, Relaxed);
            }
            let since = if old == 0 { now() << REASON_BITS } else { word & !REASONS };
            Some(if new == 0 { 0 } else { since | new })
        });
    }

    /// Whether the client has taken too little in the time `limit`. One that took enough is given as
    /// long again.
    pub fn is_overdue(&self, limit: Duration, now: u64) -> bool {
        let word = self.word.load(Relaxed);
        if word == 0 || now.saturating_sub(word >> REASON_BITS) < millis(limit) {
            return false;
        }
        if self.written.swap(0, Relaxed) < MIN_WRITTEN {
            return true;
        }
        let again = now << REASON_BITS | word & REASONS;
        // Fails when the reasons have changed meanwhile. Then the next look at it does this.
        let _ = self.word.compare_exchange(word, again, Relaxed, Relaxed);
        false
    }
}
