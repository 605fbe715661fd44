//! The part of the user's page that gives the user a license: a new one, or an existing one.

use common::LicenseWithSeats;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::ops::explain::ExplainedUser;
use crate::ops::licenses::{self, LicenseQuery, Names};
use crate::ops::view::View;
use crate::pages::catalog::Catalog;
use crate::pages::{FormState, once};
use crate::store::Page;

/// Maximum number of licenses that a search shows.
const SHOWN_LICENSES: usize = 10;

/// The query of a user's page.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct LicensingQuery {
    /// The last characters of the id of the license to give.
    pub license: String,
}

/// Choices that the page offers.
pub struct Licensing {
    pub catalog: Catalog,
    pub create: FormState<CreateForm>,
    pub once: String,
    pub search: String,
    pub found: Vec<LicenseWithSeats>,
    pub names: Names,
    pub more_exist: bool,
}

impl Licensing {
    pub async fn read(
        view: View,
        explained: &ExplainedUser,
        query: LicensingQuery,
        create: FormState<CreateForm>,
    ) -> Result<Self, Error> {
        let catalog = Catalog::read(&view).await?;
        // Pages show the end of an id behind an ellipsis.
        let search = query.license.trim().trim_start_matches('…').to_owned();
        let mut found = Vec::new();
        if !search.is_empty() {
            let query = LicenseQuery { search: Some(search.clone()), ..LicenseQuery::default() };
            // All of the user's own licenses may be among them.
            let own = explained.licenses().count();
            let newest = Page::newest_first(None, (SHOWN_LICENSES + own + 1) as i64);
            found = licenses::page(view.clone(), query, newest).await?;
            found.retain(|found| explained.licenses().all(|own| own.license.id != found.id));
        }
        let more_exist = found.len() > SHOWN_LICENSES;
        found.truncate(SHOWN_LICENSES);
        let names = licenses::names(view, &found).await?;
        Ok(Self { catalog, create, once: once(), search, found, names, more_exist })
    }
}

/// The form that creates a license for the user.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CreateForm {
    pub plan_id: String,
    /// Checked: the license is to decide before those that the user has.
    pub first: Option<String>,
}

/// The form that assigns a license that was found.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AssignForm {
    pub license_id: String,
    /// Set by the button that also puts the license before those that the user has.
    pub first: Option<String>,
}
