//! A question on a page of its own, before a form does what somebody may not have meant.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use common::Timestamp;
use serde::Serialize;

use super::fields::once;
use super::html::page;
use super::layout::Layout;
use crate::error::Error;

/// A question, with the acts that answer it.
pub struct Question {
    title: String,
    sentence: String,
    /// What the sentence is about, one by one.
    pub points: Vec<Point>,
    choices: Vec<Choice>,
    /// The page, behind the mode, of who wants none of it.
    back: String,
    /// When the record that it is about had been changed last.
    seen: Option<Timestamp>,
}

/// A line of a question.
pub struct Point {
    pub text: String,
    pub links: Vec<Link>,
}

pub struct Link {
    /// Behind the mode.
    pub path: String,
    pub text: String,
}

/// A form that is sent with its button alone.
struct Choice {
    /// Behind the mode.
    path: String,
    fields: Vec<(String, String)>,
    button: String,
    is_dangerous: bool,
}

#[derive(Template)]
#[template(path = "question.html")]
struct QuestionPage {
    layout: Layout,
    question: Question,
    once: String,
}

impl Question {
    pub fn new(title: impl Into<String>, sentence: impl Into<String>, back: String) -> Self {
        let (title, sentence) = (title.into(), sentence.into());
        Self { title, sentence, points: Vec::new(), choices: Vec::new(), back, seen: None }
    }

    /// A button that sends these fields to `path`.
    pub fn choice(
        mut self,
        button: impl Into<String>,
        path: impl Into<String>,
        fields: &impl Serialize,
    ) -> Result<Self, Error> {
        let text = serde_urlencoded::to_string(fields).map_err(|_| Error::Internal)?;
        let fields = form_urlencoded::parse(text.as_bytes()).into_owned().collect();
        let (button, path) = (button.into(), path.into());
        self.choices.push(Choice { path, fields, button, is_dangerous: false });
        Ok(self)
    }

    /// What the last button does cannot be undone, or is felt immediately.
    pub fn dangerous(mut self) -> Self {
        if let Some(last) = self.choices.last_mut() {
            last.is_dangerous = true;
        }
        self
    }

    /// The question holds for a record that had been changed last at this time.
    pub fn about(self, seen: Option<Timestamp>) -> Self {
        Self { seen, ..self }
    }

    pub fn ask(self, layout: Layout) -> Result<Response, Error> {
        page(StatusCode::OK, &QuestionPage { layout, question: self, once: once() })
    }
}
