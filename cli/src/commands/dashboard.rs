//! `licctl dashboard`: opens the dashboard of the server in a browser, or prints its address.

use serde_json::json;

use crate::commands::prelude::*;
use crate::profile::address;

/// Open the dashboard in a browser
///
/// Sign in with a read or admin key. The URL is also printed; without a terminal it is only
/// printed.
#[derive(Args)]
pub struct DashboardArgs {
    /// Only print the URL
    #[arg(long)]
    print: bool,
}

pub fn run(ctx: &Context, args: &DashboardArgs) -> Result<View> {
    ctx.refuse_dry_run()?;
    open_page(ctx, "", args.print)
}

/// Opens the page of a record, whose address in the dashboard is `path`.
pub async fn open_record(ctx: &Context, path: &str) -> Result<View> {
    let mode = ctx.client().await?.key().mode();
    open_page(ctx, &format!("/{mode}/{path}"), false)
}

fn open_page(ctx: &Context, path: &str, is_only_printed: bool) -> Result<View> {
    let url = format!("{}/dashboard{path}", address(&ctx.endpoint()?.server));
    let is_watched = ctx.io.terminals.stdout && ctx.env.get("CI").is_none();
    if !is_only_printed && is_watched && open::that_detached(&url).is_err() {
        ctx.note("cannot open a browser; open the URL yourself");
    }
    let view = View::new(json!({ "url": url }), vec![url.clone()])?;
    Ok(view.line(TextCell::text(url)))
}
