//! `licctl api`: any endpoint of the service, with the key and the errors of every other command.

mod fields;

use clap::ValueHint;
use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;

use crate::client::{Client, Headers, encode};
use crate::commands::prelude::*;
use crate::terminal::Io;
use fields::{FieldArg, body, query};

/// Paths that the server serves outside its API.
const OUTSIDE_THE_API: [&str; 2] = ["healthz", "readyz"];

/// Send a request to any endpoint
///
/// The data of the response is printed as JSON. The default method is GET, or POST with fields or
/// input.
#[derive(Args)]
pub struct ApiArgs {
    /// Path of the endpoint; the prefix /api/v1/ is optional
    path: String,
    /// Method: GET, POST, PATCH, PUT or DELETE
    #[arg(short = 'X', long)]
    method: Option<Method>,
    /// Field of the body, or of the query with GET. Numbers, true, false and null are JSON values,
    /// @FILE is the text of a file, anything else is text. KEY[MEMBER]=VALUE sets a member of an
    /// object, KEY[]=VALUE appends to an array (repeatable)
    #[arg(short = 'F', long = "field", value_name = "KEY=VALUE")]
    fields: Vec<FieldArg>,
    /// Field whose value is always text, such as a numeric id (repeatable)
    #[arg(short = 'f', long = "raw-field", value_name = "KEY=TEXT", value_parser = FieldArg::text)]
    texts: Vec<FieldArg>,
    /// Request header, such as "Idempotency-Key: order-7" (repeatable)
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Read the body from this file, - for stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fields", "texts"], value_hint = ValueHint::FilePath)]
    input: Option<String>,
    /// Print the response status and headers first, even for errors
    #[arg(short, long)]
    include: bool,
    /// Read all pages of a list and print them as one
    #[arg(long, conflicts_with_all = ["include", "input"])]
    paginate: bool,
}

/// Headers that only licctl sets, because a key goes to its own server only.
const OWN_HEADERS: [&str; 3] = ["authorization", "content-type", "content-length"];

fn header(text: &str) -> std::result::Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("must be NAME: VALUE")?;
    let name: HeaderName = name.trim().parse().map_err(|_| "must begin with a header name")?;
    if OWN_HEADERS.contains(&name.as_str()) {
        return Err(format!("cannot be {name}, which licctl sets itself"));
    }
    let value = value.trim().parse().map_err(|_| "has an invalid header value")?;
    Ok((name, value))
}

pub async fn run(ctx: &Context, args: ApiArgs) -> Result<View> {
    let fields = [args.texts, args.fields].concat();
    let body = match &args.input {
        Some(file) => Some(read(&ctx.io, file).await?),
        None if fields.is_empty() || args.paginate => None,
        None => Some(body(&fields)?),
    };
    let usual = if body.is_some() { Method::POST } else { Method::GET };
    let method = args.method.unwrap_or(usual);
    let mut path = full_path(&args.path);
    let client = ctx.client().await?;
    if method != Method::GET {
        if args.paginate {
            return Err(Error::usage("--paginate requires the method GET."));
        }
        let answer = client.raw(method, &path, &args.headers, body).await;
        include(ctx, args.include, client)?;
        return answer?.map_or_else(|| Ok(View::planned()), raw);
    }
    let pairs = query(&fields)?;
    let pairs: Vec<String> =
        pairs.iter().map(|(key, value)| format!("{}={}", encode(key), encode(value))).collect();
    if !pairs.is_empty() {
        path = format!("{path}{}{}", if path.contains('?') { '&' } else { '?' }, pairs.join("&"));
    }
    if args.paginate {
        return raw(all(client, &path, &args.headers).await?);
    }
    let answer = client.raw(method, &path, &args.headers, None).await;
    include(ctx, args.include, client)?;
    raw(answer?.unwrap_or_default())
}

/// The path with the API's prefix, which may be there already.
fn full_path(given: &str) -> String {
    let path = given.trim_start_matches('/');
    let first = path.split(['/', '?']).next().unwrap_or_default();
    if path.starts_with("api/") || OUTSIDE_THE_API.contains(&first) {
        return format!("/{path}");
    }
    format!("/api/v1/{path}")
}

async fn all(client: &Client, path: &str, headers: &Headers) -> Result<Value> {
    let records = client.raw_list(path, headers).await.map_err(|error| {
        if error.is_misunderstood() { Error::usage("--paginate requires a list.") } else { error }
    })?;
    Ok(records.into())
}

fn include(ctx: &Context, wanted: bool, client: &Client) -> Result<()> {
    match client.last_head().filter(|_| wanted) {
        Some(head) => ctx.io.data(&format!("{head}\n")),
        None => Ok(()),
    }
}

async fn read(io: &Io, file: &str) -> Result<Value> {
    serde_json::from_str(&io.read_text(file).await?).map_err(|error| {
        Error::usage(format!("{file} is not valid JSON.")).because(error.to_string())
    })
}

/// Shows JSON, as a record of unknown kind has no table.
fn raw(data: Value) -> Result<View> {
    let records = data.as_array().map_or_else(|| std::slice::from_ref(&data), Vec::as_slice);
    let ids = records.iter().filter_map(|record| record["id"].as_str().map(str::to_owned));
    let ids = ids.collect();
    View::new(data, ids).map(View::json_only)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_and_the_slash_are_optional() {
        for given in ["admin/plans", "/admin/plans", "api/v1/admin/plans", "/api/v1/admin/plans"] {
            assert_eq!(full_path(given), "/api/v1/admin/plans");
        }
        assert_eq!(full_path("admin/users?limit=1"), "/api/v1/admin/users?limit=1");
        assert_eq!(full_path("/healthz"), "/healthz");
    }
}
