//! The files that pages refer to. They are part of the program, and their names contain a hash of
//! their content, so that browsers can cache them forever.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// A file with its name.
pub struct Asset {
    name: String,
    content_type: &'static str,
    content: &'static [u8],
}

impl Asset {
    fn new(
        stem: &str,
        extension: &str,
        content_type: &'static str,
        content: &'static [u8],
    ) -> Self {
        let hash: String =
            Sha256::digest(content).iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        Self { name: format!("{stem}-{hash}.{extension}"), content_type, content }
    }

    pub fn path(&self) -> String {
        format!("/dashboard/assets/{}", self.name)
    }
}

macro_rules! assets {
    ($($name:ident: $stem:literal $extension:literal, $content_type:literal;)*) => {
        /// All files.
        pub struct Assets { $(pub $name: Asset),* }

        pub static ASSETS: LazyLock<Assets> = LazyLock::new(|| Assets {
            $($name: Asset::new($stem, $extension, $content_type, include_bytes!(
                concat!("../../assets/dashboard/", $stem, ".", $extension)
            )),)*
        });

        impl Assets {
            fn named(&self, name: &str) -> Option<&Asset> {
                [$(&self.$name),*].into_iter().find(|asset| asset.name == name)
            }
        }
    };
}

assets! {
    style: "style" "css", "text/css; charset=utf-8";
    script: "script" "js", "text/javascript; charset=utf-8";
    favicon_live: "favicon-live" "svg", "image/svg+xml";
    favicon_test: "favicon-test" "svg", "image/svg+xml";
}

/// Serves a file, without a session: it is the same for everyone.
pub async fn get(Path(name): Path<String>) -> Result<Response, Error> {
    let asset = ASSETS.named(&name).ok_or(Error::RouteNotFound)?;
    let forever = (CACHE_CONTROL, "public, max-age=31536000, immutable");
    Ok(([(CONTENT_TYPE, asset.content_type), forever], asset.content).into_response())
}
