//! The look of a page: on a screen, with preferences, and as a picture.

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::Browser;

/// Set to `write`, it has [`Browser::picture`] write its files.
const PICTURES: &str = "LICD_TEST_PICTURES";

impl Browser {
    /// The screen of a desk, with which every browser begins.
    pub async fn wide(&self) {
        self.screen(1280, 800, false).await;
    }

    /// The narrowest phone, and a wide screen at 400 %: pages must not need to be moved sideways.
    pub async fn narrow(&self) {
        self.screen(320, 640, true).await;
    }

    /// A window for a picture: as high as this, and without scroll bars in pages opened from now on.
    pub async fn framed(&self, height: u32) {
        self.screen(1280, height, false).await;
        let hidden = json!({ "hidden": true });
        self.session.devtools("Emulation.setScrollbarsHidden", hidden).await;
    }

    async fn screen(&self, width: u32, height: u32, mobile: bool) {
        let screen =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile });
        self.session.devtools("Emulation.setDeviceMetricsOverride", screen).await;
    }

    /// Whether the page is wider than the screen.
    pub async fn overflows(&self) -> bool {
        let script = "const page = document.documentElement;
            return page.scrollWidth > page.clientWidth";
        self.script(script).await == true
    }

    pub async fn dark(&self) {
        self.prefer("prefers-color-scheme", "dark").await;
    }

    pub async fn light(&self) {
        self.prefer("prefers-color-scheme", "light").await;
    }

    /// Nothing may move: a colour that changes to another one has too little contrast in between.
    async fn prefer(&self, feature: &str, value: &str) {
        // Colours would be judged in the middle of their change.
        let still = json!({ "name": "prefers-reduced-motion", "value": "reduce" });
        let features = json!({ "features": [{ "name": feature, "value": value }, still] });
        self.session.devtools("Emulation.setEmulatedMedia", features).await;
    }

    /// Pages that are opened from now on run no script of their own.
    pub async fn without_script(&self) {
        let off = json!({ "value": true });
        self.session.devtools("Emulation.setScriptExecutionDisabled", off).await;
    }

    /// Returns the content of the window as WebP.
    pub async fn screenshot(&self) -> Vec<u8> {
        let format = json!({ "format": "webp", "quality": 80 });
        let told = self.session.devtools("Page.captureScreenshot", format).await;
        let Value::String(data) = &told["data"] else { panic!("no picture: {told}") };
        BASE64_STANDARD.decode(data).unwrap()
    }

    /// Takes a picture for the documentation: `docs/images/NAME.webp` shows the window. It is
    /// written if `LICD_TEST_PICTURES=write`. Otherwise it only has to exist, because the fonts of
    /// another machine draw another picture.
    pub async fn picture(&self, name: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/images");
        let write = std::env::var(PICTURES).is_ok_and(|value| value == "write");
        self.keep_picture(&folder.join(format!("{name}.webp")), write).await;
    }

    pub(super) async fn keep_picture(&self, path: &Path, write: bool) {
        let picture = self.screenshot().await;
        if write {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, picture).unwrap();
        }
        assert!(path.exists(), "{} is missing: {PICTURES}=write writes it", path.display());
    }
}
