//! Secrets as text: a prefix that names the kind, random letters and digits, and 6 more that are the
//! CRC-32 of everything before them, so that a damaged secret is detected without a lookup.

#[cfg(feature = "server")]
use zeroize::Zeroizing;

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
pub(crate) const CHECK_LENGTH: usize = 6;

/// Generates a text with this number of random characters, from the system's source of randomness.
#[cfg(feature = "server")]
#[expect(clippy::expect_used, reason = "without randomness no secret is safe to give out")]
pub fn checked_text(mark: &str, random: usize) -> Zeroizing<String> {
    let signed = mark.len() + random;
    // Allocated once, because a text that grows leaves copies in memory.
    let mut text = Zeroizing::new(String::with_capacity(signed + CHECK_LENGTH));
    text.push_str(mark);
    while text.len() < signed {
        let mut bytes = Zeroizing::new([0; 32]);
        getrandom::fill(&mut *bytes).expect("the system gives random bytes");
        // 248 is four times 62. Larger bytes are skipped, because they would favour some letters.
        let fair = bytes.iter().filter(|&&byte| byte < 248);
        let wanted = signed - text.len();
        text.extend(fair.take(wanted).map(|byte| char::from(DIGITS[usize::from(byte % 62)])));
    }
    let check = checksum(&text);
    text.push_str(&check);
    text
}

/// Whether the text has this prefix and number of random characters, and its checksum matches.
pub fn is_checked_text(text: &str, mark: &str, random: usize) -> bool {
    let signed = mark.len() + random;
    text.len() == signed + CHECK_LENGTH
        && text.starts_with(mark)
        && text.bytes().skip(mark.len()).all(|byte| byte.is_ascii_alphanumeric())
        && checksum(&text[..signed]) == text[signed..]
}

/// The CRC-32 of `signed` in base62, highest digit first.
pub(crate) fn checksum(signed: &str) -> String {
    let sum = crc32fast::hash(signed.as_bytes());
    (0..CHECK_LENGTH as u32)
        .rev()
        .map(|place| char::from(DIGITS[(sum / 62u32.pow(place) % 62) as usize]))
        .collect()
}
