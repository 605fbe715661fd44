//! `licctl api`: any endpoint of the service, with the key and the errors of every other command.

use std::fs;
use std::str::FromStr;

use clap::{Args, ValueHint};
use reqwest::Method;
use serde_json::{Map, Value};

use super::planned;
use crate::client::encode;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::output::View;

/// Send a request to any endpoint
///
/// The data of the answer is printed as JSON. The default method is GET, or POST with fields or
/// input.
#[derive(Args)]
#[command(after_help = "\
Examples:
  licctl api /api/v1/key
  licctl api admin/plans -F productId=prd_01k2v4p8qsf8brz6c7y0sjvkd3 \\
      -F name=Pro -F maxSeats=5
  licctl api -X GET admin/users -F externalId=alice
  licctl api -X PATCH admin/plans/pln_01k2v4p8qsf8brz6c7y0sjvkd3 --input p.json")]
pub struct ApiArgs {
    /// Path of the endpoint; /api/v1/ is optional
    path: String,
    /// Method: GET, POST, PATCH, PUT or DELETE
    #[arg(short = 'X', long)]
    method: Option<Method>,
    /// Field of the body, or of the query with GET; numbers, true, false and null are JSON,
    /// anything else is text (repeatable)
    #[arg(short = 'F', long = "field", value_name = "KEY=VALUE")]
    fields: Vec<FieldArg>,
    /// File with the body, - for stdin
    #[arg(long, value_name = "FILE", conflicts_with = "fields", value_hint = ValueHint::FilePath)]
    input: Option<String>,
}

/// One `KEY=VALUE` of `--field`.
#[derive(Clone, Debug)]
struct FieldArg(String, Value);

impl FromStr for FieldArg {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let (key, value) = text.split_once('=').ok_or("must be KEY=VALUE")?;
        let json = serde_json::from_str::<Value>(value).ok();
        let scalar = json.filter(|json| !json.is_object() && !json.is_array() && !json.is_string());
        Ok(Self(key.to_owned(), scalar.unwrap_or_else(|| value.into())))
    }
}

pub async fn run(ctx: &Context, args: ApiArgs) -> Result<View> {
    let body = match &args.input {
        Some(file) => Some(read(ctx, file).await?),
        None if args.fields.is_empty() => None,
        None => Some(Value::Object(
            args.fields.iter().map(|it| (it.0.clone(), it.1.clone())).collect::<Map<_, _>>(),
        )),
    };
    let method = args.method.unwrap_or(if body.is_some() { Method::POST } else { Method::GET });
    let mut path = match args.path.strip_prefix('/') {
        Some(_) => args.path,
        None => format!("/api/v1/{}", args.path),
    };
    let client = ctx.client().await?;
    if method == Method::GET {
        let query: Vec<String> = args.fields.iter().map(pair).collect();
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        return raw(client.get::<Value>(&path).await?);
    }
    match client.write::<Value>(method, &path, body.as_ref()).await? {
        Some(written) => raw(written.data),
        None => planned(),
    }
}

fn pair(FieldArg(key, value): &FieldArg) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("{}={}", encode(key), encode(&text))
}

async fn read(ctx: &Context, file: &str) -> Result<Value> {
    let text = match file {
        "-" => ctx.io.read_stdin().await?,
        path => fs::read_to_string(path).map_err(|error| {
            Error::usage(format!("{path} cannot be read.")).because(error.to_string())
        })?,
    };
    serde_json::from_str(&text).map_err(|error| {
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
