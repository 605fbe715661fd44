//! `licctl leases list`.

use common::{ExternalId, RunningLease};

use crate::commands::prelude::*;
use crate::noun::ListFlags;

impl Named for ApiRecord<RunningLease> {
    const NOUN: &str = "lease";
    fn id(&self) -> String {
        self.external_id.to_string()
    }
}

impl Shown for ApiRecord<RunningLease> {
    const CELLS: Cells<Self> = &[
        (Column::new("USER", 0), |it, _, _| TextCell::text(it.external_id.as_str())),
        (Column::new("OFFLINE UNTIL", 0), |it, ctx, _| {
            TextCell::time_or("", Some(it.leased_until), ctx.now)
        }),
        (Column::flexible("DEVICE", 2), |it, _, _| TextCell::maybe(it.device.as_ref())),
        (Column::new("LICENSE", 1), |it, _, _| TextCell::of(it.license_id)),
    ];
    const FIELDS: &'static str = "externalId licenseId device leasedUntil userId id";
}

/// List the users who are licensed offline, and until when
///
/// These users stay licensed offline even if their license is suspended, revoked or unassigned. The
/// time includes the five minutes for which the seat stays taken after the lease.
#[derive(Args)]
pub struct ListArgs {
    /// Only leases of this user
    #[arg(long)]
    user: Option<ExternalId>,
    /// Only leases on seats of this license
    #[arg(long)]
    license: Option<String>,
    #[command(flatten)]
    flags: ListFlags,
}

pub async fn run(ctx: &Context, args: ListArgs) -> Result<View> {
    let user = match &args.user {
        Some(given) => Some(noun::user(ctx, given.as_str()).await?.external_id.clone()),
        None => None,
    };
    let license = match &args.license {
        Some(given) => Some(noun::license(ctx, given, Purpose::Read).await?.id),
        None => None,
    };
    let query = Query::default().with("userId", user).with("licenseId", license);
    let pages = ctx.client().await?.leases().pages(query, args.flags.limit());
    noun::list(ctx, &args.flags, false, pages, "No lease is running.").await
}
