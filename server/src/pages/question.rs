//! A question on a page of its own, before a form does something that may not be intended.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use super::{Layout, once, page};
use crate::error::Error;

/// A question, with a button for each answer.
pub struct Question {
    pub title: String,
    sentence: String,
    /// A list below the sentence.
    pub points: Vec<Point>,
    choices: Vec<Choice>,
    /// The path, behind the mode, of the page to return to.
    back: String,
}

/// A line of the list.
pub struct Point {
    pub text: String,
    pub links: Vec<Link>,
}

pub struct Link {
    /// Behind the mode.
    pub path: String,
    pub text: String,
}

/// A form that shows nothing but its button.
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
        Self { title, sentence, points: Vec::new(), choices: Vec::new(), back }
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

    /// The last button sends this field too, in place of one of that name.
    pub fn with(mut self, name: &str, value: &impl ToString) -> Self {
        if let Some(Choice { fields, .. }) = self.choices.last_mut() {
            fields.retain(|(field, _)| field != name);
            fields.push((name.to_owned(), value.to_string()));
        }
        self
    }

    /// Marks the last button: its action cannot be undone, or takes effect immediately.
    pub fn dangerous(mut self) -> Self {
        if let Some(last) = self.choices.last_mut() {
            last.is_dangerous = true;
        }
        self
    }

    pub fn ask(self, layout: Layout) -> Result<Response, Error> {
        page(StatusCode::OK, &QuestionPage { layout, question: self, once: once() })
    }
}
