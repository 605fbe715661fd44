//! `licctl users get`: everything about a user that support needs, on one page.

use common::{Event, Explain, ExternalId, Name, User};
use serde_json::{Value, json};

use crate::client::{ExplainedLicense, Explanation};
use crate::commands::licenses::status_cell;
use crate::commands::plans::seats;
use crate::commands::prelude::*;
use crate::commands::validate::verdict_tone;
use crate::commands::{dashboard, events, refusals};

const COLUMNS: [Column; 10] = [
    Column::new("LICENSE", 0),
    Column::sparse("NAME"),
    Column::flexible("PRODUCT", 3),
    Column::flexible("PLAN", 2),
    Column::new("STATUS", 1),
    Column::new("SEATS", 4),
    Column::new("OWN SEAT CHECKED", 5),
    Column::sparse("OFFLINE UNTIL"),
    Column::sparse("CLAIMED WITH"),
    Column::new("VERDICT", 0),
];

/// Number of events that are shown.
const SHOWN_EVENTS: usize = 10;

/// Show a user with licenses, seats, refusals and events
///
/// In JSON, the user's record has the additional members licenses, validation, refusals and events.
/// The validation is only an explanation and changes nothing.
#[derive(Args)]
pub struct GetArgs {
    /// External id of the user, or licd's own id (usr_…)
    user: Option<ExternalId>,
    /// Open the user in the dashboard instead
    #[arg(long)]
    web: bool,
}

pub async fn run(ctx: &Context, args: GetArgs) -> Result<View> {
    let user = noun::user(ctx, noun::given_user(ctx, args.user)?.as_str()).await?;
    if args.web {
        return dashboard::open_record(ctx, &format!("users/{}", user.id)).await;
    }
    if ctx.output.format == Format::Ids {
        return View::new(&user, vec![user.external_id.to_string()]);
    }
    let client = ctx.client().await?;
    let question = Explain { user_id: user.external_id.clone(), product_id: None };
    let events = events::last_of_user(client, user.external_id.clone(), SHOWN_EVENTS);
    let (explained, events) = tokio::try_join!(client.explain(&question), events)?;

    let (answer, tone) = match &explained.reason {
        None => ("VALID".to_owned(), Tone::Good),
        Some(reason) => (reason.to_string(), Tone::Bad),
    };
    let answer = TextCell::text(format!("{answer}: {}", explained.summary)).toned(tone);
    let mut card = user.card(ctx, &NameIndex::default());
    card.push(("answer", answer));
    let licenses = licenses(ctx, &explained.licenses);
    let mut view = View::new(json(&user, &explained, &events), vec![user.external_id.to_string()])?
        .fields(&[ApiRecord::<User>::FIELDS])
        .card(card);
    for (title, table) in [
        ("Licenses, in the order in which they are checked:", licenses),
        ("Recent refusals, newest first:", refusals::table_of_user(ctx, &explained.refusals)),
        ("Recent events, newest last:", noun::table(ctx, &events, &NameIndex::default())),
    ] {
        if !table.is_empty() {
            view = view.line(TextCell::text("")).line(TextCell::text(title)).table(table);
        }
    }
    let quoted = quote(user.external_id.as_str());
    Ok(if explained.valid {
        view.next(format!("licctl events list --user {quoted}"))
    } else {
        view.next(format!("licctl validate {quoted} --explain"))
    })
}

/// The user's record with everything else as further members.
fn json(
    user: &ApiRecord<User>,
    explained: &ApiRecord<Explanation>,
    events: &[ApiRecord<Event>],
) -> Value {
    let sent = serde_json::to_value(explained).unwrap_or_default();
    let list = |name: &str| sent.get(name).cloned().unwrap_or_else(|| json!([]));
    let mut json = serde_json::to_value(user).unwrap_or_default();
    json["licenses"] = list("licenses");
    json["validation"] = json!({
        "valid": explained.valid, "reason": explained.reason, "summary": explained.summary,
    });
    json["refusals"] = list("refusals");
    json["events"] = json!(events);
    json
}

fn licenses(ctx: &Context, licenses: &[ExplainedLicense]) -> Table {
    let row = |it: &ExplainedLicense| {
        let allowed = seats(it.license.max_seats);
        vec![
            TextCell::of(it.license.id),
            TextCell::text(it.name.as_ref().map_or("", Name::as_str)),
            TextCell::text(it.product_name.as_str()),
            TextCell::text(it.plan_name.as_str()),
            status_cell(&it.license, &it.terms, ctx.now),
            TextCell::text(format!("{}/{allowed}", it.seats_used)),
            own_seat(ctx, it),
            TextCell::time_or(
                "",
                it.activation.as_ref().and_then(|it| it.lease_until(ctx.now)),
                ctx.now,
            ),
            TextCell::text(it.claimed_with.map_or_else(String::new, |key| key.to_string())),
            TextCell::of(&it.verdict).toned(verdict_tone(&it.verdict)),
        ]
    };
    Table::new(&COLUMNS).with(licenses.iter().map(row))
}

/// Returns the time of the last check of the user's own seat.
fn own_seat(ctx: &Context, license: &ExplainedLicense) -> TextCell {
    match &license.activation {
        Some(seat) => TextCell::past(seat.last_checked_at, ctx.now),
        None => TextCell::text("no seat"),
    }
}
