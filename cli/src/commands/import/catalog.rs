//! The products and plans of an import: found by name, or created.

use std::collections::HashMap;

use common::{CreatePlan, CreateProduct, Plan, Product, ProductId, SeatIdleMinutes};

use super::rows::{ImportedLicense, SourceRow};
use crate::client::ApiRecord;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::noun::all;

/// Name of a product and of one of its plans.
type Names = (String, String);

/// The products and plans that exist, by name.
pub struct Catalog {
    products: HashMap<String, ProductId>,
    plans: HashMap<Names, ApiRecord<Plan>>,
}

fn names(row: &SourceRow) -> Names {
    (row.product.to_string(), row.plan.to_string())
}

impl Catalog {
    pub async fn read(ctx: &Context) -> Result<Self> {
        let products = all::<Product>(ctx).await?.into_iter();
        let products: HashMap<_, _> = products.map(|it| (it.name.to_string(), it.id)).collect();
        let names: HashMap<_, _> = products.iter().map(|(name, id)| (*id, name.clone())).collect();
        let plans = all::<Plan>(ctx).await?.into_iter().filter_map(|plan| {
            Some(((names.get(&plan.product_id)?.clone(), plan.name.to_string()), plan))
        });
        let plans = plans.collect();
        Ok(Self { products, plans })
    }

    /// The plan of a license, which [`Self::complete`] has created.
    pub fn plan(&self, license: &ImportedLicense) -> Result<&ApiRecord<Plan>> {
        let plan = self.plans.get(&names(&license.terms));
        plan.ok_or_else(|| Error::internal("a plan was not created"))
    }

    pub fn product(&self, license: &ImportedLicense) -> Option<ProductId> {
        self.products.get(license.terms.product.as_str()).copied()
    }

    /// Creates the products and plans that are missing, with the terms of their first license.
    pub async fn complete(
        &mut self,
        ctx: &Context,
        licenses: &[ImportedLicense],
        idle: Option<SeatIdleMinutes>,
    ) -> Result<()> {
        let client = ctx.client().await?;
        for license in licenses {
            let row = &license.terms;
            if self.plans.contains_key(&names(row)) {
                continue;
            }
            let product = match self.product(license) {
                Some(id) => id,
                None => {
                    let body = CreateProduct { name: row.product.clone(), description: None };
                    let Some(made) = client.products().create(&body).await? else { return Ok(()) };
                    self.products.insert(row.product.to_string(), made.data.id);
                    made.data.id
                }
            };
            let Some(made) = client.plans().create(&body(product, row, idle)).await? else {
                return Ok(());
            };
            self.plans.insert(names(row), made.data);
        }
        Ok(())
    }
}

fn body(product: ProductId, row: &SourceRow, idle: Option<SeatIdleMinutes>) -> CreatePlan {
    CreatePlan {
        max_seats: row.seats,
        expires_in_days: row.days,
        features: Some(row.features.clone()),
        // A plan without days has nothing to begin.
        expires_from: row.expires_from.filter(|_| row.days.is_some()),
        seat_idle_minutes: idle.filter(|_| row.seats.is_some()),
        grace_days: row.grace_days,
        ..CreatePlan::new(product, row.plan.clone())
    }
}
