//! The requests of a dry run: as they would be sent, or as curl commands that can be pasted, in
//! which the key is a variable of the shell.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use super::{Format, OutputOptions, View, format};
use crate::error::Result;
use crate::escape::quote;
use crate::terminal::{Io, env};

/// A write, which a dry run does not send, or a read, which it does.
#[derive(Serialize)]
pub struct PlannedRequest {
    pub method: String,
    pub path: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    pub body: Option<Value>,
    #[serde(skip)]
    pub url: String,
    #[serde(skip)]
    pub ca_cert: Option<PathBuf>,
    #[serde(skip)]
    pub sent: bool,
}

/// Shows the requests that a dry run would have sent.
pub fn show_planned(io: &Io, options: &OutputOptions, planned: &[PlannedRequest]) -> Result<()> {
    if options.curl {
        return io.data(&planned.iter().map(curl).collect::<String>());
    }
    if !matches!(options.format, Format::Table | Format::Ids) {
        return View::new(planned, Vec::new())?.show(io, options);
    }
    for request in planned {
        io.data(&format!("{} {}\n", request.method, request.path))?;
        request.headers.iter().try_for_each(|header| io.data(&format!("{header}\n")))?;
        if let Some(body) = &request.body {
            io.data(&format::json(body))?;
        }
    }
    io.say("Dry run: nothing was changed.\n");
    Ok(())
}

fn curl(request: &PlannedRequest) -> String {
    let mut lines = vec![match request.method.as_str() {
        "GET" => format!("curl -sS {}", quote(&request.url)),
        method => format!("curl -sS -X {method} {}", quote(&request.url)),
    }];
    lines.push(format!("  -H \"Authorization: Bearer ${}\"", env::API_KEY));
    lines.extend(request.headers.iter().map(|header| format!("  -H {}", quote(header))));
    if let Some(body) = &request.body {
        lines.push("  -H \"Content-Type: application/json\"".to_owned());
        lines.push(format!("  --data {}", quote(&body.to_string())));
    }
    if let Some(path) = &request.ca_cert {
        lines.push(format!("  --cacert {}", quote(&path.to_string_lossy())));
    }
    lines.join(" \\\n") + "\n"
}
