//! The mistakes in a form, shown above it and next to their fields.

use std::fmt;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::http::StatusCode;

use crate::error::Error;

/// The mistakes in a form that is shown again, if there were any.
#[derive(Default)]
pub struct Mistake(Vec<Fault>);

struct Fault {
    field: Option<String>,
    message: String,
    status: StatusCode,
}

impl Mistake {
    /// The mistakes, if the visitor made some; every other error is a page of its own.
    pub fn of(error: Error) -> Result<Self, Error> {
        match error {
            Error::Several(errors) => {
                let faults: Result<Vec<_>, _> = errors.into_iter().map(Fault::of).collect();
                faults.map(Self)
            }
            error => Fault::of(error).map(|fault| Self(vec![fault])),
        }
    }

    /// The status of the page with the form.
    pub fn status(&self) -> StatusCode {
        self.0.first().map_or(StatusCode::OK, |fault| fault.status)
    }

    pub fn is_made(&self) -> bool {
        !self.0.is_empty()
    }

    /// What stands above the form: what did not happen, and why.
    pub fn summary<'a>(&'a self, title: &'a str) -> Markup<Summary<'a>> {
        Markup(self.is_made().then_some(Summary { title, faults: &self.0 }))
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
        self.0.iter().find(|fault| fault.field.as_deref() == Some(field))
    }
}

impl Fault {
    fn of(error: Error) -> Result<Self, Error> {
        match &error {
            Error::Invalid { .. }
            | Error::Conflict(_)
            | Error::Changed(_)
            | Error::ChangedMeanwhile(_)
            | Error::ShownOnce(_)
            | Error::IdempotencyKeyInUse
            | Error::IdempotencyKeyReused => Ok(Self {
                field: error.field().map(str::to_owned),
                message: error.sentence(),
                status: error.status(),
            }),
            _ => Err(error),
        }
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
    source = r##"<div class="notice bad" role="alert" tabindex="-1"><h2>{{ title }}</h2><ul>
{%- for fault in faults.iter() %}<li>{% if let Some(field) = fault.field -%}
<a href="#{{ field }}">{{ fault.message }}</a>{% else %}{{ fault.message }}{% endif %}</li>{% endfor -%}
</ul></div>"##
)]
pub struct Summary<'a> {
    title: &'a str,
    faults: &'a [Fault],
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
