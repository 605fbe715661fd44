//! A visitor of the dashboard without a browser: a cookie, and requests that follow no redirection.

use reqwest::header::{CONTENT_TYPE, COOKIE, SET_COOKIE};
use reqwest::{Client, Method, RequestBuilder, Response, redirect};

use super::App;
use super::caller::client;

/// A visitor with or without a session.
pub struct Visitor {
    client: Client,
    base: String,
    pub cookie: Option<String>,
}

impl Visitor {
    pub fn stranger(app: &App) -> Self {
        Self::stranger_at(&app.base)
    }

    pub fn stranger_at(base: &str) -> Self {
        let client = client().redirect(redirect::Policy::none()).build().unwrap();
        Self { client, base: base.to_owned(), cookie: None }
    }

    /// A visitor with a session of this key.
    pub async fn with_key(app: &App, key: &str) -> Self {
        Self::at(&app.base, key).await
    }

    /// Signs in at the address of a node.
    pub async fn at(base: &str, key: &str) -> Self {
        let stranger = Self::stranger_at(base);
        let answer = stranger.post("/dashboard/sign-in", &[("key", key)]).await;
        assert_eq!(answer.status(), 303, "the key signs in");
        Self { cookie: Some(cookie_of(&answer)), ..stranger }
    }

    /// Returns this visitor with another cookie.
    pub fn with_cookie(&self, cookie: &str) -> Self {
        let (client, base) = (self.client.clone(), self.base.clone());
        Self { client, base, cookie: Some(cookie.to_owned()) }
    }

    pub async fn get(&self, path: &str) -> Response {
        self.request(Method::GET, path).send().await.unwrap()
    }

    pub async fn status(&self, path: &str) -> u16 {
        self.get(path).await.status().as_u16()
    }

    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        self.form(path, fields).send().await.unwrap()
    }

    /// A form that is not sent yet.
    pub fn form(&self, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let mut body = form_urlencoded::Serializer::new(String::new());
        let body = body.extend_pairs(fields).finish();
        let request = self.request(Method::POST, path);
        request.header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body)
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base));
        match &self.cookie {
            Some(cookie) => request.header(COOKIE, cookie),
            None => request,
        }
    }
}

/// Returns the cookie that a browser would send back.
pub fn cookie_of(response: &Response) -> String {
    let set = response.headers()[SET_COOKIE].to_str().unwrap();
    set.split(';').next().unwrap().to_owned()
}
