//! `licctl version`: the version and the commit from which licctl was built.

use serde_json::json;

use crate::error::Result;
use crate::output::View;
use crate::output::cell::TextCell;

pub const EXAMPLES: &str = "\
Examples:
  licctl version
  licctl version --jq .commit";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// None when the sources were not a checkout with git.
const COMMIT: Option<&str> = option_env!("LICCTL_COMMIT");

/// What `--version` prints after the program's name.
pub const LINE: &str = env!("LICCTL_VERSION");

pub fn run() -> Result<View> {
    let view = View::new(json!({ "version": VERSION, "commit": COMMIT }), vec![VERSION.to_owned()]);
    Ok(view?.line(TextCell::text(format!("licctl {LINE}"))))
}
