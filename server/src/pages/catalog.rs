//! The products and plans that a form offers.

use std::collections::HashMap;

use common::{Plan, PlanId, Product, ProductId};

use super::counted;
use crate::error::Error;
use crate::ops::view::View;
use crate::ops::{plans, products};
use crate::store::{Cursor, Page};

/// Maximum number of products or plans in a list of choices. With more, a form asks for the ID.
const MOST: i64 = 200;

/// Products and plans by name.
#[derive(Default)]
pub struct Catalog {
    /// None if there are too many for a list.
    pub products: Option<Vec<Product>>,
    /// None if there are too many of them, or of their products, for a list.
    pub plans: Option<Vec<Offer>>,
}

/// A plan of a product.
pub struct Offer {
    pub product: Product,
    pub plan: Plan,
}

impl Offer {
    /// `Studio · Team, 5 seats, 365 days`.
    pub fn label(&self) -> String {
        let seats = self.plan.max_seats.map(|seats| counted(seats.get(), "seat"));
        let days = self.plan.expires_in_days.map(|days| counted(days.get(), "day"));
        let (seats, days) =
            (seats.as_deref().unwrap_or("unlimited seats"), days.as_deref().unwrap_or("no expiry"));
        format!("{} · {}, {seats}, {days}", self.product.name, self.plan.name)
    }
}

impl Catalog {
    pub async fn read(view: &View) -> Result<Self, Error> {
        let mut products = products::page(view.clone(), first()).await?;
        let plans = plans::page(view.clone(), None, first()).await?;
        products.sort_by(|a, b| a.name.cmp(&b.name));
        let products = few(products);
        let plans = products.as_ref().and_then(|products| Some(offers(products, few(plans)?)));
        Ok(Self { products, plans })
    }
}

/// The plan that a form names.
pub fn chosen_plan(text: &str) -> Result<PlanId, Error> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::invalid("planId", "Choose a plan."));
    }
    text.parse().map_err(|_| Error::unknown("planId", "plan"))
}

/// One more than is offered, which shows that there are too many.
fn first<C: Cursor>() -> Page<C> {
    Page::newest_first(None, MOST + 1)
}

fn few<T>(records: Vec<T>) -> Option<Vec<T>> {
    (records.len() <= MOST as usize).then_some(records)
}

/// The plans in the order of their products.
fn offers(products: &[Product], plans: Vec<Plan>) -> Vec<Offer> {
    let mut of: HashMap<ProductId, Vec<Plan>> = HashMap::new();
    for plan in plans {
        of.entry(plan.product_id).or_default().push(plan);
    }
    let offers = products.iter().flat_map(|product| {
        let mut plans = of.remove(&product.id).unwrap_or_default();
        plans.sort_by(|a, b| a.name.cmp(&b.name));
        plans.into_iter().map(|plan| Offer { product: product.clone(), plan })
    });
    offers.collect()
}
