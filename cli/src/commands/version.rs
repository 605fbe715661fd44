//! `licctl version`: the version and the commit from which licctl was built.

use common::version::{COMMIT, LINE};
use serde_json::json;

use crate::error::Result;
use crate::output::{TextCell, View};

const VERSION: &str = env!("CARGO_PKG_VERSION");

pub fn run() -> Result<View> {
    let view = View::new(json!({ "version": VERSION, "commit": COMMIT }), vec![VERSION.to_owned()]);
    Ok(view?.line(TextCell::text(format!("licctl {}", *LINE))))
}
