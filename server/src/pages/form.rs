//! Forms: what is in their fields, their errors, above the form and next to each field, and why a
//! form that was sent has no effect yet.

use std::fmt;

use askama::Template;
use askama::filters::HtmlSafe;
use axum::http::StatusCode;

use super::{Notice, Question};
use crate::error::Error;

/// Reason why a form that was sent has no effect yet.
pub enum Stop {
    /// The visitor is asked first.
    Ask(Question),
    /// The form had its effect when it was sent before. The visitor is redirected to the page with
    /// this path, which shows the notice.
    Elsewhere(String, Notice),
    Fail(Error),
}

impl From<Question> for Stop {
    fn from(question: Question) -> Self {
        Self::Ask(question)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Fail(error)
    }
}

/// A form as a page shows it. It has errors if it was sent and refused.
#[derive(Default)]
pub struct FormState<F> {
    pub fields: F,
    pub error: FormError,
}

impl<F> FormState<F> {
    pub fn new(fields: F) -> Self {
        Self { fields, error: FormError::default() }
    }
}

/// Faults of a form, if any.
#[derive(Default)]
pub struct FormError(Vec<FieldError>);

struct FieldError {
    field: Option<String>,
    message: String,
    status: StatusCode,
}

impl FormError {
    /// Returns the error if the visitor can correct it in the form. Other errors have a page of
    /// their own.
    pub fn of(error: Error) -> Result<Self, Error> {
        let errors = if let Error::Several(errors) = error { errors } else { vec![error] };
        errors.into_iter().map(FieldError::of).collect::<Result<_, _>>().map(Self)
    }

    /// The status of the page with the form.
    pub fn status(&self) -> StatusCode {
        self.0.first().map_or(StatusCode::OK, |error| error.status)
    }

    pub fn is_some(&self) -> bool {
        !self.0.is_empty()
    }

    /// The list of errors above the form.
    pub fn summary<'a>(&'a self, title: &'a str) -> Markup<Summary<'a>> {
        Markup(self.is_some().then_some(Summary { title, errors: &self.0 }))
    }

    /// The attributes that tie a field to its hint, if it has one, and to its error.
    pub fn aria_attributes<'a>(
        &self,
        field: &'a str,
        has_hint: bool,
    ) -> Markup<AriaAttributes<'a>> {
        let is_wrong = self.for_field(field).is_some();
        Markup((is_wrong || has_hint).then_some(AriaAttributes { field, is_wrong, has_hint }))
    }

    /// The error below a field.
    pub fn message<'a>(&'a self, field: &'a str) -> Markup<Message<'a>> {
        Markup(self.for_field(field).map(|error| Message { field, message: &error.message }))
    }

    fn for_field(&self, field: &str) -> Option<&FieldError> {
        self.0.iter().find(|error| error.field.as_deref() == Some(field))
    }
}

impl FieldError {
    fn of(error: Error) -> Result<Self, Error> {
        match &error {
            Error::Invalid { .. }
            | Error::Conflict(_)
            | Error::Changed(_)
            | Error::EditConflict(_)
            | Error::IdempotencyKeyInUse
            | Error::IdempotencyKeyReused => Ok(Self {
                field: error.field().map(str::to_owned),
                message: error.to_string(),
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
{%- for error in errors.iter() %}<li>{% if let Some(field) = error.field -%}
<a href="#{{ field }}">{{ error.message }}</a>{% else %}{{ error.message }}{% endif %}</li>{% endfor -%}
</ul></div>"##
)]
pub struct Summary<'a> {
    title: &'a str,
    errors: &'a [FieldError],
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"{% if is_wrong %} aria-invalid="true"{% endif %} aria-describedby="
{%- if is_wrong %}{{ field }}-error {% endif %}{% if has_hint %}{{ field }}-hint{% endif %}""#
)]
pub struct AriaAttributes<'a> {
    field: &'a str,
    is_wrong: bool,
    has_hint: bool,
}

#[derive(Template)]
#[template(ext = "html", source = r#"<p class="error" id="{{ field }}-error">{{ message }}</p>"#)]
pub struct Message<'a> {
    field: &'a str,
    message: &'a str,
}
