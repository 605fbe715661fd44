//! The refusals that never reach the router: hyper's own of heads that cannot be read or are too
//! large, which it sends without a body, and those of plain HTTP where TLS is spoken.

use common::{ConstBool, ErrorCode, Failure};
use uuid::Uuid;

/// Gives the head of such a refusal the body and headers that all refusals have.
pub fn with_envelope(head: &[u8]) -> Vec<u8> {
    let described = std::str::from_utf8(head).ok().and_then(|head| {
        let head = head.strip_suffix("\r\n\r\n")?;
        let (code, sentence) = describe(head.get("HTTP/1.1 ".len()..)?.get(..3)?)?;
        Some((head.replace("\r\ncontent-length: 0", ""), code, sentence))
    });
    match described {
        Some((head, code, sentence)) => enveloped(&head, code, sentence),
        None => head.to_vec(),
    }
}

/// The answer to a request in plain HTTP on a connection that is for TLS.
pub fn of_plain_http() -> Vec<u8> {
    let sentence = "This address is served over TLS: it begins with https://";
    let head = "HTTP/1.1 400 Bad Request\r\nconnection: close";
    enveloped(head, ErrorCode::InvalidRequest, sentence)
}

fn enveloped(head: &str, code: ErrorCode, sentence: &str) -> Vec<u8> {
    let request_id = Uuid::now_v7().simple().to_string();
    let failure = Failure {
        success: ConstBool,
        error: sentence.to_owned(),
        code: code.to_string(),
        field: None,
        request_id: request_id.clone(),
        retry_after: None,
    };
    tracing::debug!(request_id, %code, "a request that cannot be read was refused");
    let body = serde_json::to_string(&failure).unwrap_or_default();
    format!(
        "{head}\r\nx-request-id: {request_id}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Code and sentence for a status, as hyper knows them.
fn describe(status: &str) -> Option<(ErrorCode, &'static str)> {
    match status {
        "400" => Some((ErrorCode::InvalidRequest, "The request is not well-formed HTTP/1.1")),
        "431" => Some((
            ErrorCode::RequestHeaderFieldsTooLarge,
            "The request's head must be at most 16 KiB, with at most 100 headers",
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_gets_its_body_and_keeps_its_head() {
        let head = "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\
                    content-length: 0\r\ndate: Sun, 22 Nov 2026 00:00:00 GMT\r\n\r\n";
        let text = String::from_utf8(with_envelope(head.as_bytes())).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{head}");
        assert!(head.contains("\r\nconnection: close\r\n"), "{head}");
        assert_eq!(head.matches("content-length:").count(), 1, "{head}");
        assert!(head.contains(&format!("\r\ncontent-length: {}", body.len())), "{head}");
        let failure: Failure = serde_json::from_str(body).unwrap();
        assert_eq!(failure.code, "request_header_fields_too_large");
        assert!(head.contains(&format!("\r\nx-request-id: {}\r\n", failure.request_id)), "{head}");
    }

    #[test]
    fn anything_else_stays_as_it_is() {
        for head in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 400 Bad", "HTTP", ""] {
            assert_eq!(with_envelope(head.as_bytes()), head.as_bytes());
        }
    }
}
