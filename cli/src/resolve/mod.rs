//! Finds the record that an argument names. This module reads the candidates; [`search`] chooses.

mod search;

use std::collections::HashMap;

use common::{Key, LicenseId, LicenseWithSeats, Plan, PlanId, Product, ProductId, User, UserId};
use futures_util::stream::{self, StreamExt, TryStreamExt};

use crate::client::ApiRecord;
use crate::completion_cache;
use crate::context::Context;
use crate::error::{Error, Result};
use search::pick;
pub use search::{Named, Purpose};

/// Above this many records, one list is faster than single reads.
const MAX_SINGLE_READS: usize = 25;
const REQUESTS_IN_FLIGHT: usize = 4;

impl Named for ApiRecord<Product> {
    const NOUN: &str = "product";
    fn id(&self) -> String {
        self.id.to_string()
    }
    fn name(&self) -> &str {
        self.name.as_str()
    }
    fn about(&self) -> String {
        String::new()
    }
}

impl Named for ApiRecord<Plan> {
    const NOUN: &str = "plan";
    fn id(&self) -> String {
        self.id.to_string()
    }
    fn name(&self) -> &str {
        self.name.as_str()
    }
    fn about(&self) -> String {
        self.product_id.to_string()
    }
}

impl Named for ApiRecord<Key> {
    const NOUN: &str = "key";
    fn id(&self) -> String {
        self.id.to_string()
    }
    fn name(&self) -> &str {
        self.name.as_str()
    }
    fn about(&self) -> String {
        format!("{} {}", self.role, self.mode)
    }
}

impl Named for ApiRecord<LicenseWithSeats> {
    const NOUN: &str = "license";
    fn id(&self) -> String {
        self.id.to_string()
    }
    /// Licenses have no name; the empty one matches no argument.
    fn name(&self) -> &str {
        ""
    }
    fn about(&self) -> String {
        format!("{} {}", self.plan_id, self.status)
    }
}

pub async fn products(ctx: &Context) -> Result<Vec<ApiRecord<Product>>> {
    let products = ctx.client().await?.products().list(&[]).await?;
    completion_cache::remember(ctx, &products);
    Ok(products)
}

pub async fn plans(ctx: &Context, of: Option<ProductId>) -> Result<Vec<ApiRecord<Plan>>> {
    let product = of.map(|id| id.to_string());
    let filter: Vec<_> = product.iter().map(|id| ("productId", id.as_str())).collect();
    let plans = ctx.client().await?.plans().list(&filter).await?;
    if of.is_none() {
        completion_cache::remember(ctx, &plans);
    }
    Ok(plans)
}

pub async fn product(ctx: &Context, given: &str, purpose: Purpose) -> Result<ApiRecord<Product>> {
    if given.parse::<ProductId>().is_ok() {
        return ctx.client().await?.products().get(given).await;
    }
    pick(ctx, given, &products(ctx).await?, purpose)
}

pub async fn plan(ctx: &Context, given: &str, purpose: Purpose) -> Result<ApiRecord<Plan>> {
    if given.parse::<PlanId>().is_ok() {
        return ctx.client().await?.plans().get(given).await;
    }
    pick(ctx, given, &plans(ctx, None).await?, purpose)
}

pub async fn license(
    ctx: &Context,
    given: &str,
    purpose: Purpose,
) -> Result<ApiRecord<LicenseWithSeats>> {
    if given.parse::<LicenseId>().is_ok() {
        return ctx.client().await?.licenses().get(given).await;
    }
    let all = ctx.client().await?.licenses().list(&[]).await?;
    let license = pick(ctx, given, &all, purpose)?;
    ctx.meant(given, &license.id.to_string());
    Ok(license)
}

pub async fn key(ctx: &Context, given: &str) -> Result<ApiRecord<Key>> {
    let all = ctx.client().await?.keys().list(&[]).await?;
    if let Some(at) = all.iter().position(|key| key.id.to_string() == given) {
        return Ok(all[at].clone());
    }
    pick(ctx, given, &all, Purpose::Write)
}

/// The user with this external id, if there is one.
pub async fn find_user(ctx: &Context, given: &str) -> Result<Option<ApiRecord<User>>> {
    let found = ctx.client().await?.users().list(&[("externalId", given)]).await?;
    Ok(found.into_iter().next())
}

/// The user with this external id, or else with this id of the service.
pub async fn user(ctx: &Context, given: &str) -> Result<ApiRecord<User>> {
    if let Some(user) = find_user(ctx, given).await? {
        return Ok(user);
    }
    if given.parse::<UserId>().is_ok() {
        return ctx.client().await?.users().get(given).await;
    }
    Err(Error::not_found(format!("There is no user {given}."))
        .because("licctl finds users by their exact external id.")
        .fix("licctl users list --search TEXT"))
}

/// Users by their ids, which activations hold.
pub async fn users_by_id(
    ctx: &Context,
    ids: &[UserId],
) -> Result<HashMap<UserId, ApiRecord<User>>> {
    let client = ctx.client().await?;
    let users: Vec<ApiRecord<User>> = if ids.len() <= MAX_SINGLE_READS {
        let reading = ids.iter().map(async |id| client.users().get(id).await);
        stream::iter(reading).buffered(REQUESTS_IN_FLIGHT).try_collect().await?
    } else {
        client.users().list(&[]).await?
    };
    Ok(users.into_iter().map(|user| (user.id, user)).collect())
}

/// The names of products and plans by id.
pub struct NameIndex {
    products: HashMap<ProductId, String>,
    plans: HashMap<PlanId, String>,
}

impl NameIndex {
    pub async fn load(ctx: &Context) -> Result<Self> {
        let (products, plans) = tokio::try_join!(products(ctx), plans(ctx, None))?;
        Ok(Self {
            products: products.iter().map(|it| (it.id, it.name.to_string())).collect(),
            plans: plans.iter().map(|it| (it.id, it.name.to_string())).collect(),
        })
    }

    pub fn of(products: &[ApiRecord<Product>]) -> Self {
        let products = products.iter().map(|it| (it.id, it.name.to_string())).collect();
        Self { products, plans: HashMap::new() }
    }

    /// The product's name; its id when the product is newer than the index.
    pub fn product(&self, id: ProductId) -> String {
        self.products.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }

    pub fn plan(&self, id: PlanId) -> String {
        self.plans.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }
}
