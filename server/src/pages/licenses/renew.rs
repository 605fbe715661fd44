//! Renewals of several licenses at a time, which are marked in the list.

use std::collections::BTreeMap;

use axum::response::Response;
use common::{LicenseId, LicenseWithSeats, RenewLicense, Timestamp};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::http::extract::Form;
use crate::ops::licenses;
use crate::ops::plans;
use crate::ops::view::View;
use crate::pages::filters::end_in_words;
use crate::pages::question::Point;
use crate::pages::{Editor, Notice, Question, Visitor, counted, short};

/// Maximum number of licenses, which a page of the list has.
const MOST: usize = 50;

/// The fields of the form.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Marked {
    /// The query of the list to return to.
    list: String,
    confirmed: String,
    /// Each marked license with the time of its last change. Other fields may be among them.
    #[serde(flatten)]
    fields: BTreeMap<String, String>,
}

impl Marked {
    fn licenses(&self) -> impl Iterator<Item = (LicenseId, Option<Timestamp>)> {
        let marked =
            self.fields.iter().filter_map(|(id, seen)| Some((id.parse().ok()?, seen.parse().ok())));
        marked.take(MOST)
    }

    /// The path of the list. Its query is parsed and written, since the form may have anything.
    fn path_back(&self) -> String {
        let pairs = form_urlencoded::parse(self.list.as_bytes());
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
        format!("/licenses?{query}")
    }
}

pub async fn renew(
    Editor(visitor): Editor,
    Form { fields, .. }: Form<Marked>,
) -> Result<Response, Error> {
    if fields.licenses().next().is_none() {
        return Ok(visitor.redirect(&fields.path_back(), Notice::NoneMarked));
    }
    match fields.confirmed.is_empty() {
        true => ask(visitor, &fields).await,
        false => renew_marked(visitor, &fields).await,
    }
}

/// Asks about the licenses, each with its end before and after.
async fn ask(visitor: Visitor, marked: &Marked) -> Result<Response, Error> {
    let (mut points, mut renewable) = (Vec::new(), BTreeMap::new());
    for (id, seen) in marked.licenses() {
        let license = licenses::get(visitor.view(), id).await?;
        let text = match end_if_renewed(visitor.view(), &license).await {
            Ok(end) => {
                renewable.insert(id.to_string(), seen.map(|it| it.to_string()).unwrap_or_default());
                let before = license.expires_at.map(end_in_words).unwrap_or_default();
                format!("{before} → {}", end_in_words(end))
            }
            Err(error @ (Error::Conflict(_) | Error::Invalid { .. })) => {
                format!("is not renewed. {error}.")
            }
            Err(error) => return Err(error),
        };
        points.push(Point { text: format!("{} {text}", name(&license)), links: Vec::new() });
    }
    let count = counted(renewable.len() as i64, "license");
    let (title, back) = (format!("Renew {count}?"), marked.path_back());
    let sentence = "Each is renewed for the term of its plan, from its end if that lies ahead or it is \
                    in grace, and from now otherwise.";
    let mut question = Question::new(title, sentence, back);
    question.points = points;
    if !renewable.is_empty() {
        let confirmed = Marked { fields: renewable, confirmed: "yes".to_owned(), ..marked.clone() };
        question = question.choice(format!("Renew {count}"), "/licenses/renew", &confirmed)?;
    }
    question.ask(visitor.layout)
}

async fn end_if_renewed(view: View, license: &LicenseWithSeats) -> Result<Timestamp, Error> {
    let days = plans::get(view, license.plan_id).await?.expires_in_days;
    licenses::renewed_end(license, RenewLicense::default(), days, Timestamp::now())
}

/// Renews each license by itself, and shows those that were not.
async fn renew_marked(visitor: Visitor, marked: &Marked) -> Result<Response, Error> {
    let (mut done, mut points) = (0, Vec::new());
    for (id, seen) in marked.licenses() {
        let change = visitor.change(seen).await?;
        match licenses::renew(change, id, RenewLicense::default()).await {
            Ok(_) => done += 1,
            Err(error @ (Error::Conflict(_) | Error::Changed(_) | Error::Invalid { .. })) => {
                let license = licenses::get(visitor.view(), id).await?;
                let text = format!("{}: {error}.", name(&license));
                points.push(Point { text, links: Vec::new() });
            }
            Err(error) => return Err(error),
        }
    }
    let renewed = counted(done, "license");
    if points.is_empty() {
        return Ok(visitor.redirect(&marked.path_back(), Notice::Renewed.with("", renewed)));
    }
    let title = format!("Renewed {renewed}, and {} not", points.len());
    let mut shown = Question::new(title, "These were not renewed:", marked.path_back());
    shown.points = points;
    shown.ask(visitor.layout)
}

fn name(license: &LicenseWithSeats) -> String {
    license.name.as_ref().map_or_else(|| short(license.id), ToString::to_string)
}
