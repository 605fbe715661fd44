//! Findings of axe-core on a page: barriers for people who use it without a mouse, or without
//! sight.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::Browser;

/// axe-core, as `pack` compressed it.
static AXE: LazyLock<String> = LazyLock::new(|| {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/harness/browser/axe.js.gz");
    let unpacked = Command::new("gzip").arg("-dc").arg(&packed).output().unwrap();
    assert!(unpacked.status.success(), "{}: {unpacked:?}", packed.display());
    String::from_utf8(unpacked.stdout).unwrap()
});

impl Browser {
    /// Fails the test if axe-core finds anything that breaks a rule of its own.
    pub async fn is_accessible(&self) {
        let barriers = self.barriers().await;
        if !barriers.is_empty() {
            self.fail(&format!("axe-core finds:\n{}", barriers.join("\n"))).await;
        }
    }

    /// Each violation: the rule, how bad it is, the help, and the elements.
    async fn barriers(&self) -> Vec<String> {
        self.script(&AXE).await;
        let run = "axe.run({ resultTypes: ['violations'] }).then(arguments[0])";
        let asked = json!({ "script": run, "args": [] });
        let told = self.session.post("execute/async", asked).await.unwrap();
        told["violations"].as_array().unwrap().iter().map(barrier).collect()
    }
}

fn barrier(violation: &Value) -> String {
    let word = |member: &str| violation[member].as_str().unwrap_or_default();
    let targets = violation["nodes"].as_array().unwrap().iter().map(|node| {
        let why = node["failureSummary"].as_str().unwrap_or_default().replace('\n', "\n    ");
        format!("\n  {} {}\n    {why}", node["target"], node["html"].as_str().unwrap_or_default())
    });
    let (rule, impact, help) = (word("id"), word("impact"), word("help"));
    format!("{rule} ({impact}): {help}\n  {}{}", word("helpUrl"), targets.collect::<String>())
}
