//! The header `If-Match`: a change that is made only if the record is still as the caller saw it.

use axum::extract::FromRequestParts;
use axum::http::header::IF_MATCH;
use axum::http::request::Parts;

use crate::error::Error;
use crate::ops::etag::Expected;

/// The state that the request expects of its record.
pub struct IfMatch(pub Expected);

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let lines: Option<Vec<&str>> =
            parts.headers.get_all(IF_MATCH).iter().map(|line| line.to_str().ok()).collect();
        let expected = lines.and_then(|lines| parse(&lines)).ok_or_else(|| {
            let rule = r#"If-Match must be * or tags in quotes, such as "1801483200000""#;
            Error::invalid("If-Match", rule)
        })?;
        Ok(Self(expected))
    }
}

/// Several lines form one list. Weak tags never match, because the comparison is strong.
fn parse(lines: &[&str]) -> Option<Expected> {
    if lines.is_empty() || matches!(lines, [line] if line.trim() == "*") {
        return Some(Expected::Anything);
    }
    let (mut strong, mut count) = (Vec::new(), 0);
    for line in lines {
        let mut rest = line.trim_matches(SEPARATORS);
        while !rest.is_empty() {
            let opaque = rest.strip_prefix("W/").unwrap_or(rest);
            let (tag, after) = opaque.strip_prefix('"')?.split_once('"')?;
            let is_listed = after.is_empty() || after.trim_start().starts_with(',');
            if !is_listed || tag.contains(|letter: char| !letter.is_ascii_graphic()) {
                return None;
            }
            if opaque.len() == rest.len() {
                strong.push(tag.to_owned());
            }
            count += 1;
            rest = after.trim_start_matches(SEPARATORS);
        }
    }
    (count > 0).then_some(Expected::OneOf(strong))
}

const SEPARATORS: [char; 3] = [' ', '\t', ','];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_read_as_rfc_9110_lists_them() {
        let tags = |tags: &[&str]| {
            Some(Expected::OneOf(tags.iter().map(|tag| (*tag).to_owned()).collect()))
        };
        for (lines, expected) in [
            (&[][..], Some(Expected::Anything)),
            (&["*"], Some(Expected::Anything)),
            (&[" * "], Some(Expected::Anything)),
            (&[r#""a""#], tags(&["a"])),
            (&[r#""a", "b""#, r#""c""#], tags(&["a", "b", "c"])),
            (&[r#" ,"a",,W/"b" , "c,d","#], tags(&["a", "c,d"])),
            (&[r#"W/"a""#], tags(&[])),
            (&[r#""""#], tags(&[""])),
            (&[""], None),
            (&["a"], None),
            (&[r#""a"#], None),
            (&[r#""a" "b""#], None),
            (&[r#""a"b"#], None),
            (&[r#""a b""#], None),
            (&[r#"w/"a""#], None),
            (&["*", r#""a""#], None),
            (&[r#"*, "a""#], None),
        ] {
            assert_eq!(parse(lines), expected, "{lines:?}");
        }
    }
}
