//! The licenses of a list as CSV, for spreadsheets.

use std::io;

use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use common::{LicenseId, LicenseWithSeats, Timestamp};
use futures_util::stream;

use super::list::ListQuery;
use crate::error::Error;
use crate::http::extract::Query;
use crate::ops::licenses::{self, LicenseQuery, Names};
use crate::ops::view::View;
use crate::pages::{Badge, Viewer};
use crate::store::{Cursor, Page};

/// Number of licenses that one query reads, and that a file has at most.
const PORTION: i64 = 500;
const MOST: usize = 100_000;
/// The mark by which spreadsheets recognise UTF-8, and the names of the columns.
const HEAD: &str = "\u{feff}id,name,product,plan,state,ends,graceEnds,seats,held,metadata\r\n";
const CUT: &str = "The file ends here: it has at most 100000 licenses.\r\n";

/// A file that is being sent.
struct Export {
    view: View,
    query: LicenseQuery,
    after: Option<LicenseWithSeats>,
    sent: usize,
}

pub async fn export(
    Viewer(visitor): Viewer,
    Query(query): Query<ListQuery>,
) -> Result<Response, Error> {
    let query = query.read(Timestamp::now())?;
    let mut export = Export { view: visitor.view(), query, after: None, sent: 0 };
    // A database that is away is an error. One that goes away later breaks the file off.
    let (first, is_last) = export.next().await?;
    let first = (HEAD.to_owned() + &first, (!is_last).then_some(export));
    let rows = stream::try_unfold(Some(first), async move |next| {
        let Some((text, export)) = next else { return Ok::<_, io::Error>(None) };
        let Some(mut export) = export else { return Ok(Some((text, None))) };
        let broken = |error: Error| io::Error::other(error.code().as_str());
        let (more, is_last) = export.next().await.map_err(broken)?;
        Ok(Some((text, Some((more, (!is_last).then_some(export))))))
    });
    let headers = [
        (CONTENT_TYPE, "text/csv; charset=utf-8"),
        (CONTENT_DISPOSITION, "attachment; filename=\"licenses.csv\""),
    ];
    Ok((headers, Body::from_stream(rows)).into_response())
}

impl Export {
    /// The next rows, and whether they are the last.
    async fn next(&mut self) -> Result<(String, bool), Error> {
        let (view, query) = (self.view.clone(), self.query.clone());
        let after = self.after.as_ref();
        let found = match query.ends {
            Some(_) => {
                let after = after.and_then(|it| Some((it.expires_at?, it.id)));
                licenses::by_end(view.clone(), query, after, PORTION).await?
            }
            None => {
                let before = after.map_or_else(LicenseId::last, |it| it.id);
                let page = Page::newest_first(Some(before), PORTION);
                licenses::page(view.clone(), query, page).await?
            }
        };
        let names = licenses::names(view, &found).await?;
        let mut rows: String = found.iter().map(|license| row(license, &names)).collect();
        self.sent += found.len();
        let is_cut = self.sent >= MOST;
        if is_cut {
            rows += CUT;
        }
        let is_last = found.len() < PORTION as usize || is_cut;
        self.after = found.into_iter().next_back();
        Ok((rows, is_last))
    }
}

fn row(license: &LicenseWithSeats, names: &Names) -> String {
    let time = |time: Option<Timestamp>| time.map(|time| time.to_string()).unwrap_or_default();
    let limit = license.max_seats.map(|limit| limit.to_string()).unwrap_or_default();
    let metadata = license.metadata.as_ref();
    let metadata = metadata.and_then(|metadata| serde_json::to_string(metadata).ok());
    let cells = [
        license.id.to_string(),
        license.name.as_ref().map(ToString::to_string).unwrap_or_default(),
        names.product_of(license).to_owned(),
        names.plan_of(license).to_owned(),
        Badge::of_license(license).word.to_owned(),
        time(license.expires_at),
        time(license.terms.grace_ends_at(license.expires_at)),
        limit,
        license.seats.used.to_string(),
        metadata.unwrap_or_default(),
    ];
    cells.map(|text| cell(&text)).join(",") + "\r\n"
}

/// A cell. Spreadsheets would run one that begins with these characters as a formula.
fn cell(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{guard}{}\"", text.replace('"', "\"\"")),
        false => format!("{guard}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::cell;

    #[test]
    fn a_cell_is_quoted_and_never_a_formula() {
        for (text, written) in [
            ("Ember Construction", "Ember Construction"),
            ("Bau, \"Nord\"", "\"Bau, \"\"Nord\"\"\""),
            ("=1+1", "'=1+1"),
            ("@sum(a1),2", "\"'@sum(a1),2\""),
        ] {
            assert_eq!(cell(text), written);
        }
    }
}
