//! The first steps of a new tenant, from a product to the first licensed user.

use askama::Template;
use common::{Key, Mode, Role};

use crate::error::Error;
use crate::ops::licenses::LicenseQuery;
use crate::ops::users::UserQuery;
use crate::ops::view::View;
use crate::ops::{keys, licenses, plans, products, users};
use crate::pages::paging::ROWS;
use crate::pages::{Layout, short};
use crate::store::Page;

#[derive(Template)]
#[template(path = "overview_steps.html")]
pub struct StepsPage {
    pub layout: Layout,
    pub steps: Steps,
}

pub type Steps = [Step; 5];

pub struct Step {
    title: &'static str,
    hint: &'static str,
    /// The name of the record, if the step is done.
    done: Option<String>,
    /// Address at which to do it, if it is the next step.
    path: Option<String>,
}

/// The steps, until there are licenses and users.
pub async fn steps(view: View) -> Result<Option<Steps>, Error> {
    let product = products::page(view.clone(), Page::newest_first(None, 1)).await?.pop();
    let plan = plans::page(view.clone(), None, Page::newest_first(None, 1)).await?.pop();
    let (any, one) = (LicenseQuery::default(), Page::newest_first(None, 1));
    let license = licenses::page(view.clone(), any, one).await?.pop().map(|it| it.license.id);
    let (any, one) = (UserQuery::default(), Page::newest_first(None, 1));
    let user = users::page(view.clone(), any, one).await?.pop();
    if license.is_some() && user.is_some() {
        return Ok(None);
    }
    let mode = view.scope.mode;
    let keys = keys::page(view, Page::newest_first(None, ROWS)).await?;
    let key = keys.into_iter().find(|key| is_for_applications(key, mode));
    let path_to_plans = product.as_ref().map(|product| format!("/products/{}", product.id));
    let path_to_license = license.map(|id| format!("/licenses/{id}"));
    let mut steps = [
        Step {
            title: "Create a product",
            hint: "What you sell: an application, a plug-in, a service.",
            done: product.map(|product| product.name.to_string()),
            path: Some("/products".to_owned()),
        },
        Step {
            title: "Create a plan",
            hint: "How you sell the product: seats, days, features.",
            done: plan.map(|plan| plan.name.to_string()),
            path: path_to_plans,
        },
        Step {
            title: "Create a license",
            hint: "It starts with the terms of its plan.",
            done: license.map(short),
            path: Some("/licenses/new".to_owned()),
        },
        Step {
            title: "Assign a user",
            hint: "By the ID that your application uses for the user.",
            done: user.map(|user| user.external_id.to_string()),
            path: path_to_license,
        },
        Step {
            title: "Create a validate key",
            hint: "Your application uses it to check whether a user is licensed.",
            done: key.map(|key| key.name.to_string()),
            path: Some("/keys".to_owned()),
        },
    ];
    let next = steps.iter().position(|step| step.done.is_none());
    for (at, step) in steps.iter_mut().enumerate() {
        step.path = step.path.take().filter(|_| Some(at) == next);
    }
    Ok(Some(steps))
}

fn is_for_applications(key: &Key, mode: Mode) -> bool {
    key.role == Role::Validate && key.mode == mode && key.revoked_at.is_none()
}
