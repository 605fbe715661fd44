//! The mistake in a form, shown above it and beside the field.

use std::fmt;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::http::StatusCode;

use crate::error::Error;

/// The mistake in a form that is shown again, if there was one.
#[derive(Default)]
pub struct Mistake(Option<Fault>);

struct Fault {
    field: Option<String>,
    message: String,
    status: StatusCode,
}

impl Mistake {
    /// The mistake, if the visitor made one; every other error is a page of its own.
    pub fn of(error: Error) -> Result<Self, Error> {
        match &error {
            Error::Invalid { .. }
            | Error::Conflict(_)
            | Error::IdempotencyKeyInUse
            | Error::IdempotencyKeyReused => {
                let field = error.field().map(str::to_owned);
                let (message, status) = (error.sentence(), error.status());
                Ok(Self(Some(Fault { field, message, status })))
            }
            _ => Err(error),
        }
    }

    /// The status of the page with the form.
    pub fn status(&self) -> StatusCode {
        self.0.as_ref().map_or(StatusCode::OK, |fault| fault.status)
    }

    pub fn is_made(&self) -> bool {
        self.0.is_some()
    }

    /// What stands above the form: what did not happen, and why.
    pub fn summary<'a>(&'a self, title: &'a str) -> Markup<Summary<'a>> {
        let fault = self.0.as_ref();
        Markup(fault.map(|fault| Summary {
            title,
            field: fault.field.as_deref(),
            message: &fault.message,
        }))
    }

    /// The attributes that tie a field to its hint, if it has one, and to its mistake.
    pub fn marks<'a>(&self, field: &'a str, has_hint: bool) -> Markup<Marks<'a>> {
        let is_wrong = self.beside(field).is_some();
        Markup((is_wrong || has_hint).then_some(Marks { field, is_wrong, has_hint }))
    }

    /// What stands beside the field at fault.
    pub fn text<'a>(&'a self, field: &'a str) -> Markup<Text<'a>> {
        Markup(self.beside(field).map(|fault| Text { field, message: &fault.message }))
    }

    fn beside(&self, field: &str) -> Option<&Fault> {
        self.0.as_ref().filter(|fault| fault.field.as_deref() == Some(field))
    }
}

/// A part of a page, or nothing.
pub struct Markup<T>(Option<T>);

impl<T: Template> HtmlSafe for Markup<T> {}

impl<T: Template> fmt::Display for Markup<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(part) => part.render_into(f).map_err(|_| fmt::Error),
            None => Ok(()),
        }
    }
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"<div class="notice bad" role="alert" tabindex="-1"><h2>{{ title }}</h2>
{%- if let Some(field) = field %}<ul><li><a href="#{{ field }}">{{ message }}</a></li></ul>
{%- else %}<p>{{ message }}</p>{% endif %}</div>"##
)]
pub struct Summary<'a> {
    title: &'a str,
    field: Option<&'a str>,
    message: &'a str,
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"{% if is_wrong %} aria-invalid="true"{% endif %} aria-describedby="
{%- if is_wrong %}{{ field }}-error {% endif %}{% if has_hint %}{{ field }}-hint{% endif %}""#
)]
pub struct Marks<'a> {
    field: &'a str,
    is_wrong: bool,
    has_hint: bool,
}

#[derive(Template)]
#[template(ext = "html", source = r#"<p class="error" id="{{ field }}-error">{{ message }}</p>"#)]
pub struct Text<'a> {
    field: &'a str,
    message: &'a str,
}
