//! `licctl find`: licenses, users and license keys that a text names, in one table.

use common::{LicenseKey, User};
use futures_util::TryStreamExt;
use serde::Serialize;

use super::licenses::status_cell;
use crate::client::LicenseWithSeats;
use crate::commands::prelude::*;

/// Maximum number of records of each kind.
const MAX: usize = 20;
/// Minimum length of the end of a license key.
const MIN_KEY_END: usize = 4;
const COLUMNS: [Column; 4] = [
    Column::new("KIND", 1),
    Column::new("ID", 0),
    Column::flexible("NAME", 2),
    Column::kept("STATE"),
];

/// Find licenses, users and license keys by a text
///
/// The text is the beginning of words of a name, an email address or metadata, the end of an id, or
/// the end of a license key. At most 20 records of each kind are shown.
#[derive(Args)]
pub struct FindArgs {
    /// Text such as a name, an email address or the end of an id
    text: String,
}

/// A record that was found, of any kind.
#[derive(Serialize)]
struct Found {
    kind: &'static str,
    id: String,
    name: Option<String>,
    #[serde(skip)]
    state: TextCell,
}

pub async fn run(ctx: &Context, args: FindArgs) -> Result<View> {
    let client = ctx.client().await?;
    let query = || Query::of("search", &args.text);
    let licenses = client.licenses().pages(query(), Some(MAX)).try_concat();
    let users = client.users().pages(query(), Some(MAX)).try_concat();
    let keys = async {
        let is_end = |text: &str| text.chars().all(|it| it.is_ascii_alphanumeric() || it == '-');
        match args.text.len() >= MIN_KEY_END && is_end(&args.text) {
            true => client.license_keys().pages(query(), Some(MAX)).try_concat().await,
            false => Ok(Vec::new()),
        }
    };
    let (licenses, users, keys) = tokio::try_join!(licenses, users, keys)?;
    let licenses = licenses.iter().take(MAX).map(|it| of_license(ctx, it));
    let (users, keys) = (users.iter().take(MAX).map(of_user), keys.iter().take(MAX));
    let found: Vec<Found> = licenses.chain(users).chain(keys.map(|it| of_key(ctx, it))).collect();
    let row = |it: &Found| {
        let name = TextCell::maybe(it.name.as_ref());
        vec![TextCell::text(it.kind), TextCell::text(&it.id), name, it.state.clone()]
    };
    let ids = found.iter().map(|it| it.id.clone()).collect();
    let view = View::new(&found, ids)?.fields(&["kind id name"]);
    let view = view.table(Table::new(&COLUMNS).with(found.iter().map(row)));
    let next = found.first().map(|first| match first.kind {
        "user" => format!("licctl users get {}", quote(&first.id)),
        "license" => format!("licctl licenses get {}", first.id),
        _ => format!("licctl licenses keys find --suffix {}", quote(&args.text)),
    });
    let view = view.or_when_empty("Nothing matches. A search compares the beginnings of words.");
    Ok(match next {
        Some(next) => view.next(next),
        None => view,
    })
}

fn of_license(ctx: &Context, it: &ApiRecord<LicenseWithSeats>) -> Found {
    let state = status_cell(it, &it.terms, ctx.now);
    let name = it.name.as_ref().map(ToString::to_string);
    Found { kind: "license", id: it.id.to_string(), name, state }
}

fn of_user(it: &ApiRecord<User>) -> Found {
    let name = it.name.as_ref().map(ToString::to_string);
    let email = TextCell::maybe(it.email.as_ref());
    Found { kind: "user", id: it.external_id.to_string(), name, state: email }
}

fn of_key(ctx: &Context, it: &ApiRecord<LicenseKey>) -> Found {
    let name = format!("{} of {}", it.display_name(), it.license_id);
    let state = TextCell::text(it.state_name(ctx.now));
    Found { kind: "license key", id: it.id.to_string(), name: Some(name), state }
}
