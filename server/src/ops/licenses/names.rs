//! Names of licenses, of their products and of their plans.

use std::collections::{HashMap, HashSet};

use common::{ExternalId, License, LicenseId, LicenseWithSeats, Name, PlanId, ProductId};

use crate::error::Error;
use crate::ops::view::View;
use crate::store::{assignments, plans, products};

/// Names of the products and plans of licenses, and the holder of the first seat of licenses
/// without a name.
pub struct Names {
    pub products: HashMap<ProductId, Name>,
    pub plans: HashMap<PlanId, Name>,
    holders: HashMap<LicenseId, ExternalId>,
}

impl Names {
    /// Returns the name of the license's product. Empty if it is unknown.
    pub fn product_of(&self, license: &License) -> &str {
        self.products.get(&license.product_id).map_or("", Name::as_str)
    }

    /// Returns the name of the license's plan. Empty if it is unknown.
    pub fn plan_of(&self, license: &License) -> &str {
        self.plans.get(&license.plan_id).map_or("", Name::as_str)
    }

    /// Returns a title for the license: its name, or `ada +4` if it has five holders. `None`
    /// without both.
    pub fn title_of(&self, license: &LicenseWithSeats) -> Option<String> {
        if let Some(name) = &license.name {
            return Some(name.to_string());
        }
        let first = self.holders.get(&license.id)?;
        Some(match license.seats.used - 1 {
            others @ 1.. => format!("{first} +{others}"),
            _ => first.to_string(),
        })
    }
}

/// Reads the names for these licenses.
pub async fn names(view: View, of: &[LicenseWithSeats]) -> Result<Names, Error> {
    let products: HashSet<_> = of.iter().map(|of| of.license.product_id).collect();
    let plans: HashSet<_> = of.iter().map(|of| of.license.plan_id).collect();
    let unnamed = of.iter().filter(|of| of.name.is_none()).map(|of| of.license.id);
    let (mut conn, scope) = (view.read().await?, view.scope);
    Ok(Names {
        products: products::names(&mut conn, scope, products).await?,
        plans: plans::names(&mut conn, scope, plans).await?,
        holders: assignments::first_holders(&mut conn, scope, unnamed).await?,
    })
}
