//! `licctl webhooks listen`: sends events to a program on this machine, as a webhook would.

use std::time::{Duration, Instant};

use common::{
    ApiKey, Event, EventId, EventPattern, Timestamp, WebhookEvent, WebhookSecret, WebhookUrl,
    sign_webhook,
};
use reqwest::StatusCode;

use crate::client::{Client, cause, http};
use crate::commands::events::EventFilters;
use crate::commands::events::feed::{Beginning, Feed};
use crate::commands::prelude::*;
use crate::noun::Printer;
use crate::profile::is_loopback;

/// Time in which the program must end, as for receivers.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The pauses between attempts to reach it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

const COLUMNS: [Column; 5] = [
    Column::fixed("TIME", 1, 24),
    Column::fixed("TYPE", 0, 26),
    Column::fixed("SUBJECT", 2, 30),
    Column::fixed("ANSWER", 0, 6),
    Column::fixed("SEQUENCE", 0, 8),
];

/// Send events to a program on this machine, as a webhook would
///
/// Nothing is set up on the server, and the machine needs no public address. Events are signed with
/// a secret that is shown first and stays the same. They are sent one by one, beginning with the
/// next one, or at --after or --since; whatever the program answers is shown, and the next one
/// follows. A program that cannot be reached is waited for. To go on where it ended: --after with
/// the last sequence.
#[derive(Args)]
pub struct ListenArgs {
    /// The program's address, such as http://localhost:3000/licd
    #[arg(long, value_name = "ADDRESS", required_unless_present = "print_secret")]
    forward_to: Option<WebhookUrl>,
    /// Send events to another machine, over https
    #[arg(long, requires = "forward_to")]
    anywhere: bool,
    /// Print the secret, and send nothing
    #[arg(long, conflicts_with_all = ["forward_to", "types", "since", "after"])]
    print_secret: bool,
    /// Send only events of this type, such as seat.taken or license.* (repeatable, or
    /// comma-separated) [default: all]
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<EventPattern>,
    #[command(flatten)]
    begin: Beginning,
}

/// Response of a program.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgramResponse {
    event: EventId,
    #[serde(rename = "type")]
    kind: String,
    subject: String,
    status: u16,
    duration_ms: u128,
    sequence: i64,
}

const FIELDS: &str = "event type subject status durationMs sequence";

pub async fn run(ctx: &Context, args: ListenArgs) -> Result<View> {
    ctx.refuse_dry_run()?;
    let client = ctx.client().await?;
    let secret = WebhookSecret::of_key(client.key());
    let Some(url) = &args.forward_to else {
        let text = secret.expose();
        let view = View::new(serde_json::json!({ "secret": *text }), vec![text.to_string()])?;
        return Ok(view.line(TextCell::text(&*text)));
    };
    refuse_other_machine(url, args.anywhere)?;
    ctx.note(&format!("The secret of this receiver is {}.", *secret.expose()));
    let program = Program::new(client, url, secret).await?;
    let mut feed = Feed::new(ctx, &EventFilters::default(), &args.begin).await?;
    ctx.interruption.expect();
    let printer = Printer::begin(ctx, &COLUMNS, &[FIELDS])?;
    while let Some(event) = feed.next(&ctx.io).await? {
        if !is_chosen(&args.types, &event) {
            continue;
        }
        let answer = program.send(ctx, &event).await?;
        let is_taken = (200..300).contains(&answer.status);
        let tone = if is_taken { Tone::Good } else { Tone::Bad };
        let row = vec![
            TextCell::of(event.time),
            TextCell::of(&event.kind),
            TextCell::text(&answer.subject),
            TextCell::of(answer.status).toned(tone),
            TextCell::of(answer.sequence),
        ];
        printer.print(ctx, &answer, answer.sequence.to_string(), row)?;
    }
    Ok(View::printed())
}

/// Events name users, so they leave this machine only encrypted, and only if that is meant.
fn refuse_other_machine(url: &WebhookUrl, anywhere: bool) -> Result<()> {
    let (address, url) = (url.as_str(), url.url());
    if is_loopback(url) || anywhere && url.scheme() == "https" {
        return Ok(());
    }
    let message = format!("Refusing to send events to {address}, which is not on this machine.");
    Err(Error::usage(message)
        .fix("use an address such as http://localhost:3000, or https and --anywhere"))
}

fn is_chosen(types: &[EventPattern], event: &Event) -> bool {
    let kind = event.kind.to_string();
    types.is_empty() || types.iter().any(|it| EventPattern::matches(it.as_str(), &kind))
}

/// The program that gets the events, and what they tell of their origin.
struct Program<'a> {
    http: reqwest::Client,
    url: &'a WebhookUrl,
    secrets: [WebhookSecret; 1],
    key: &'a ApiKey,
    tenant_id: common::TenantId,
}

impl<'a> Program<'a> {
    async fn new(client: &'a Client, url: &'a WebhookUrl, secret: WebhookSecret) -> Result<Self> {
        let (http, key) = (http(url.url(), TIMEOUT, None)?, client.key());
        let tenant_id = client.current_key().await?.tenant.id;
        Ok(Self { http, url, secrets: [secret], key, tenant_id })
    }

    /// Sends an event until a response comes.
    async fn send(&self, ctx: &Context, event: &ApiRecord<Event>) -> Result<ProgramResponse> {
        let (mode, tenant_id) = (self.key.mode(), self.tenant_id);
        let body = WebhookEvent { event, timestamp: event.time, mode, tenant_id };
        let body = serde_json::to_vec(&body).map_err(Error::internal)?;
        let mut pause = FIRST_PAUSE;
        loop {
            let begun = Instant::now();
            match self.try_once(&event.id.to_string(), &body).await {
                Ok(status) => {
                    if pause > FIRST_PAUSE {
                        ctx.note("The program is back.");
                    }
                    return Ok(ProgramResponse {
                        event: event.id,
                        kind: event.kind.to_string(),
                        subject: event.subject.id.clone(),
                        status: status.as_u16(),
                        duration_ms: begun.elapsed().as_millis(),
                        sequence: event.sequence,
                    });
                }
                Err(error) => {
                    if pause == FIRST_PAUSE {
                        let (url, why) = (self.url.as_str(), cause(&error));
                        ctx.note(&format!("{url} does not answer ({why}). Waiting."));
                    }
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    async fn try_once(&self, id: &str, body: &[u8]) -> reqwest::Result<StatusCode> {
        let timestamp = Timestamp::now().millis() / 1000;
        let signature = sign_webhook(&self.secrets, id, timestamp, body);
        let request = self.http.post(self.url.url().clone()).body(body.to_vec());
        let request = request
            .header("content-type", "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", signature);
        Ok(request.send().await?.status())
    }
}
