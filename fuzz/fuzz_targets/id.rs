//! Ids: any text is an id that is written as the same text, or no id. Nothing panics.

#![no_main]

use std::fmt::Display;
use std::str::FromStr;

use common::{EventId, KeyId, LicenseId, PlanId, ProductId, UserId};
use libfuzzer_sys::fuzz_target;

/// Whether it is an id of this kind.
fn is<T: FromStr + Display>(text: &str) -> bool {
    let Ok(id) = text.parse::<T>() else { return false };
    assert_eq!(id.to_string(), text);
    true
}

fuzz_target!(|text: &str| {
    let kinds = [
        is::<EventId>(text),
        is::<KeyId>(text),
        is::<LicenseId>(text),
        is::<PlanId>(text),
        is::<ProductId>(text),
        is::<UserId>(text),
    ];
    assert!(kinds.iter().filter(|is_kind| **is_kind).count() < 2, "of two kinds: {text}");
});
