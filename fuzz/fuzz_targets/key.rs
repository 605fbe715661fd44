//! API keys: any text is a key, which is then itself, or no key. Nothing panics.

#![no_main]

use common::ApiKey;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(key) = text.parse::<ApiKey>() {
        assert_eq!(key.expose(), text);
        assert!(text.starts_with(key.prefix()) && key.prefix().len() == 12);
    }
});
