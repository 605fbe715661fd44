//! `--print-curl`: a request as a curl command that can be pasted. The key is a variable of the
//! shell.

use crate::client::PlannedRequest;
use crate::env;
use crate::escape::quote;

pub fn command(request: &PlannedRequest) -> String {
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
