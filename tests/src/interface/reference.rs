//! The reference at `/docs`: a page for a browser, without a key, that loads only from licd.

use reqwest::{Method, Response};

use crate::harness::App;

async fn get(app: &App, path: &str) -> Response {
    app.without_key().request(Method::GET, path).send().await.unwrap()
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("-", |value| value.to_str().unwrap())
}

/// The values of an attribute, wherever it stands in the page.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let parts = page.split(&format!("{attribute}=\"")[..]).skip(1).collect::<Vec<_>>();
    parts.into_iter().filter_map(|part| part.split('"').next()).collect()
}

#[tokio::test]
async fn the_page_loads_redoc_and_the_document_from_licd() {
    let app = App::start().await;
    let served = get(&app, "/docs").await;
    assert_eq!(served.status(), 200);
    assert_eq!(header(&served, "content-type"), "text/html; charset=utf-8");
    assert_eq!(header(&served, "x-content-type-options"), "nosniff");
    assert_eq!(header(&served, "cache-control"), "no-store");
    assert_eq!(header(&served, "referrer-policy"), "no-referrer");
    let page = served.text().await.unwrap();
    assert!(!page.contains("//"), "the page names another host:\n{page}");

    let scripts = values(&page, "script src");
    let documents = values(&page, "spec-url");
    assert_eq!((scripts.len(), documents.len()), (1, 1), "{page}");
    let script = get(&app, &format!("/{}", scripts[0])).await;
    assert_eq!(script.status(), 200, "{}", scripts[0]);
    assert_eq!(header(&script, "content-type"), "text/javascript; charset=utf-8");
    assert_eq!(header(&script, "content-encoding"), "gzip");
    assert_eq!(header(&script, "x-content-type-options"), "nosniff");
    assert_eq!(header(&script, "cache-control"), "public, max-age=31536000, immutable");
    assert_eq!(script.bytes().await.unwrap()[..2], [0x1f, 0x8b]);
    let document = get(&app, &format!("/{}", documents[0])).await;
    assert_eq!(document.status(), 200, "{}", documents[0]);
    assert_eq!(header(&document, "content-type"), "application/json");
}

/// Scripts come from licd and are never inline; styles only if their hash is known.
#[tokio::test]
async fn the_policy_of_the_page_is_strict() {
    let app = App::start().await;
    let served = get(&app, "/docs").await;
    let policy = header(&served, "content-security-policy").to_owned();
    let directives: Vec<&str> = policy.split("; ").collect();
    for directive in [
        "default-src 'none'",
        "script-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ] {
        assert!(directives.contains(&directive), "{directive} is not in {policy}");
    }
    for loose in ["unsafe", "*", "http:", "https:", "nonce"] {
        assert!(!policy.contains(loose), "{loose} is in {policy}");
    }
    let styles = directives.iter().find_map(|part| part.strip_prefix("style-src ")).unwrap();
    assert!(styles.split(' ').all(|source| source.starts_with("'sha256-")), "{styles}");

    let page = served.text().await.unwrap();
    assert!(!page.contains("<script>"), "a script is inline:\n{page}");
    for attribute in [" style=", " onload=", " onerror=", " onclick="] {
        assert!(!page.contains(attribute), "{attribute} in\n{page}");
    }
}

/// HEAD is GET without the body, and every other method is refused as at any address.
#[tokio::test]
async fn the_page_takes_get_and_head() {
    let app = App::start().await;
    let page = get(&app, "/docs").await.text().await.unwrap();
    let script = format!("/{}", values(&page, "script src")[0]);
    for path in ["/docs", &script] {
        let head = app.without_key().request(Method::HEAD, path).send().await.unwrap();
        assert_eq!(head.status(), 200, "{path}");
        let whole = get(&app, path).await;
        assert_eq!(header(&head, "content-length"), header(&whole, "content-length"), "{path}");
        assert_eq!(header(&head, "content-type"), header(&whole, "content-type"), "{path}");
        for method in [Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS] {
            let refused = app.request(method.clone(), path).send().await.unwrap();
            assert_eq!(refused.status(), 405, "{method} {path}");
            assert_eq!(header(&refused, "allow"), "GET,HEAD", "{method} {path}");
            let body = refused.text().await.unwrap();
            assert!(body.contains(r#""code":"method_not_allowed""#), "{method} {path}: {body}");
        }
    }
}

/// "Never limited": the page needs no key, and one that is sent does not count.
#[tokio::test]
async fn the_page_is_never_limited() {
    let app = App::with_limit("1/m").await;
    for _ in 0..5 {
        let served = app.request(Method::GET, "/docs").send().await.unwrap();
        assert_eq!((served.status().as_u16(), header(&served, "ratelimit-limit")), (200, "-"));
    }
}
