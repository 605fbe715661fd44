//! `licctl leases verify`: shows a lease, and whether an application may accept it.

use chrono::TimeDelta;
use common::{DeviceName, ExternalId, Jwk, LeaseClaims, ProductId, Timestamp};
use serde::{Deserialize, Serialize};

use crate::commands::plans::joined;
use crate::commands::prelude::*;
use crate::commands::validate::product_id;

/// Check a lease as your application does, without asking the server about it
///
/// The keys are those of --keys, as licctl signing-keys export prints them, or the server's. With
/// --keys nothing needs the network; --product is then an id. Exit code 10: not valid.
#[derive(Args)]
pub struct VerifyArgs {
    /// File with the lease; - reads stdin
    #[arg(value_name = "FILE")]
    file: String,
    /// Product that the lease must be for
    #[arg(long)]
    product: String,
    /// File with the keys that your application embeds
    #[arg(long, value_name = "FILE")]
    keys: Option<String>,
    /// External id of the user who must be the lease's
    #[arg(long)]
    user: Option<ExternalId>,
    /// Device that the lease must name
    #[arg(long, value_name = "TEXT")]
    device: Option<DeviceName>,
    /// Time of the check, such as 2028-01-31T12:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,
}

/// A set of keys, as exported.
#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Jwk>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Verified {
    valid: bool,
    /// Reason why it is not valid.
    reason: Option<String>,
    /// Claims of the lease. `None` if no known key has signed it.
    claims: Option<LeaseClaims>,
}

pub async fn run(ctx: &Context, args: VerifyArgs) -> Result<View> {
    let text = ctx.io.read_text(&args.file).await?;
    let keys = keys(ctx, args.keys.as_deref()).await?;
    let at = args.at.unwrap_or(ctx.now);
    // Mail folds long lines, and editors add a byte order mark.
    let token: String = text.trim_start_matches('\u{feff}').split_whitespace().collect();
    let checked = match LeaseClaims::verify(&token, &keys) {
        Err(error) => Verified { valid: false, reason: Some(error.to_string()), claims: None },
        Ok(claims) => {
            let reason = objection(ctx, &claims, &args, at).await?;
            Verified { valid: reason.is_none(), reason, claims: Some(claims) }
        }
    };
    if let Some(claims) = &checked.claims
        && let Some(ahead) = time(claims.iat).filter(|issued| *issued > at)
    {
        ctx.note(&format!("it was issued at {ahead}, which this clock has not reached"));
    }
    let exit = if checked.valid { Exit::Success } else { Exit::Negative };
    let ids = checked.claims.iter().map(|claims| claims.jti.to_string()).collect();
    Ok(View::new(&checked, ids)?.card(card(&checked)).exit(exit))
}

/// The keys that leases are verified with.
async fn keys(ctx: &Context, file: Option<&str>) -> Result<Vec<Jwk>> {
    let Some(file) = file else {
        let set = ctx.client().await?.signing_keys().list(Query::default()).await?;
        return Ok(set.iter().map(|key| key.jwk.clone()).collect());
    };
    let text = ctx.io.read_text(file).await?;
    let set: KeySet = serde_json::from_str(&text).map_err(|error| {
        Error::usage(format!("{file} has no signing keys."))
            .because(error.to_string())
            .fix("licctl signing-keys export > FILE")
    })?;
    Ok(set.keys)
}

/// Returns the reason for which an application refuses a lease with a valid signature.
async fn objection(
    ctx: &Context,
    claims: &LeaseClaims,
    args: &VerifyArgs,
    at: Timestamp,
) -> Result<Option<String>> {
    if args.keys.is_some() && args.product.parse::<ProductId>().is_err() {
        return Err(Error::usage("With --keys, --product must be the id of the product."));
    }
    let product = product_id(ctx, &args.product).await?;
    let end = claims.exp + LeaseClaims::TOLERANCE;
    Ok(if product != claims.aud {
        Some(format!("it is for another product, {}", claims.aud))
    } else if args.user.as_ref().is_some_and(|user| *user != claims.sub) {
        Some(format!("it is for another user, {}", claims.sub))
    } else if args.device.is_some() && args.device != claims.device {
        Some(match &claims.device {
            Some(device) => format!("it is for another device, {device}"),
            None => "it names no device".to_owned(),
        })
    } else if time(end).is_none_or(|end| end <= at) {
        Some("it has ended".to_owned())
    } else {
        None
    })
}

fn time(seconds: i64) -> Option<Timestamp> {
    Timestamp::from_millis(seconds.checked_mul(1000)?)
}

fn card(checked: &Verified) -> Vec<(&'static str, TextCell)> {
    let lease = match &checked.reason {
        None => TextCell::text("VALID").toned(Tone::Good),
        Some(reason) => TextCell::text(format!("not valid: {reason}")).toned(Tone::Bad),
    };
    let mut card = vec![("lease", lease)];
    let Some(claims) = &checked.claims else { return card };
    let lasts = TimeDelta::seconds(claims.exp - claims.iat);
    let hours = lasts.num_hours();
    card.extend([
        ("id", TextCell::of(claims.jti)),
        ("user", TextCell::text(claims.sub.as_str())),
        ("device", TextCell::maybe(claims.device.as_ref())),
        ("product", TextCell::of(claims.aud)),
        ("license", TextCell::of(claims.license_id)),
        ("plan", TextCell::of(claims.plan_id)),
        ("features", TextCell::text(joined(&claims.features))),
        ("issued", TextCell::maybe(time(claims.iat))),
        ("ends", TextCell::maybe(time(claims.exp))),
        (
            "lasts",
            TextCell::text(match hours {
                48.. => format!("{} days", hours / 24),
                _ => format!("{hours} h {} min", lasts.num_minutes() % 60),
            }),
        ),
        ("mode", TextCell::of(claims.mode)),
    ]);
    card
}
