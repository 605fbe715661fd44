//! The reference for people: a page on which Redoc renders the OpenAPI document. Both are part of
//! the program, and the page contacts no other host. Requires no key and has no rate limit.

use axum::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
};
use axum::response::IntoResponse;

static PAGE: &str = include_str!("../../assets/docs.html");
/// Redoc, as `assets/pack` compressed it.
static REDOC: &[u8] = include_bytes!("../../assets/redoc.js.gz");

/// The address of Redoc. It contains the beginning of Redoc's hash, so that a new version has a new
/// address.
pub const REDOC_PATH: &str = "/docs/redoc-a1a7d9bb.js";

/// The page loads only from this host. Redoc also needs a worker for its search, images in `data:`,
/// and style elements. Each style is permitted by its hash: the page's own, that of the scrollbars,
/// and the empty one, to which Redoc adds rules.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; \
    style-src 'sha256-IAdwN3biDCQ3brrgp1m8kBEsPQYyqfREKOEfeoREopc=' \
    'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc=' \
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='; \
    img-src data:; worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub async fn page() -> impl IntoResponse {
    let content_type = (CONTENT_TYPE, "text/html; charset=utf-8");
    ([content_type, (CONTENT_SECURITY_POLICY, POLICY), (REFERRER_POLICY, "no-referrer")], PAGE)
}

/// Always compressed, since every browser accepts gzip.
pub async fn redoc() -> impl IntoResponse {
    let content_type = (CONTENT_TYPE, "text/javascript; charset=utf-8");
    let lasting = (CACHE_CONTROL, "public, max-age=31536000, immutable");
    ([content_type, (CONTENT_ENCODING, "gzip"), lasting], REDOC)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use sha2::{Digest, Sha256};

    use super::*;

    /// Browsers cache a name's content forever.
    #[test]
    fn another_redoc_has_another_address() {
        let hash: String = Sha256::digest(REDOC).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(REDOC_PATH, format!("/docs/redoc-{}.js", &hash[..8]));
    }

    #[test]
    fn the_policy_permits_the_style_of_the_page() {
        let style = PAGE.split(['<', '>']).skip_while(|part| *part != "style").nth(1).unwrap();
        let hash = BASE64_STANDARD.encode(Sha256::digest(style));
        assert!(POLICY.contains(&format!("'sha256-{hash}'")), "{hash}");
    }
}
