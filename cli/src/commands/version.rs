//! `licctl version`: the version and the commit from which licctl was built.

use crate::commands::prelude::*;
use common::version::{COMMIT, LINE};
use serde_json::json;

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn run() -> Result<View> {
    let view = View::new(json!({ "version": VERSION, "commit": COMMIT }), vec![VERSION.to_owned()]);
    Ok(view?.line(TextCell::text(format!("licctl {}", *LINE))))
}
