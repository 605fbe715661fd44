//! From what people type to the record they mean: which records there are to choose from. How one
//! is chosen is in [`search`].

mod search;

use std::collections::HashMap;

use common::{Key, License, LicenseId, Plan, PlanId, Product, ProductId, User, UserId};
use futures_util::stream::{self, StreamExt, TryStreamExt};

use crate::client::{Answer, encode};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::names;
use search::pick;
pub use search::{Named, Purpose};

/// Above this many, reading the whole list takes less than reading one by one.
const FEW: usize = 25;
const AT_A_TIME: usize = 4;

impl Named for Answer<Product> {
    const NOUN: &str = "product";
    fn id(&self) -> String {
        self.id.to_string()
    }
    fn name(&self) -> &str {
        self.name.as_str()
    }
}

impl Named for Answer<Plan> {
    const NOUN: &str = "plan";
    fn id(&self) -> String {
        self.id.to_string()
    }
    fn name(&self) -> &str {
        self.name.as_str()
    }
}

impl Named for Answer<Key> {
    const NOUN: &str = "key";
    fn id(&self) -> String {
        self.id.to_string()
    }
    fn name(&self) -> &str {
        self.name.as_str()
    }
}

impl Named for Answer<License> {
    const NOUN: &str = "license";
    fn id(&self) -> String {
        self.id.to_string()
    }
    /// Licenses have no name; none is ever typed that equals this.
    fn name(&self) -> &str {
        ""
    }
}

pub async fn products(ctx: &Context) -> Result<Vec<Answer<Product>>> {
    let products = ctx.client().await?.list("/api/v1/admin/products", &[]).await?;
    names::remember(ctx, &products);
    Ok(products)
}

pub async fn plans(ctx: &Context, of: Option<ProductId>) -> Result<Vec<Answer<Plan>>> {
    let product = of.map(|id| id.to_string());
    let filter: Vec<_> = product.iter().map(|id| ("productId", id.as_str())).collect();
    let plans = ctx.client().await?.list("/api/v1/admin/plans", &filter).await?;
    if of.is_none() {
        names::remember(ctx, &plans);
    }
    Ok(plans)
}

pub async fn product(ctx: &Context, given: &str, purpose: Purpose) -> Result<Answer<Product>> {
    if given.parse::<ProductId>().is_ok() {
        return ctx.client().await?.get(&format!("/api/v1/admin/products/{given}")).await;
    }
    pick(ctx, given, &products(ctx).await?, purpose)
}

pub async fn plan(ctx: &Context, given: &str, purpose: Purpose) -> Result<Answer<Plan>> {
    if given.parse::<PlanId>().is_ok() {
        return ctx.client().await?.get(&format!("/api/v1/admin/plans/{given}")).await;
    }
    pick(ctx, given, &plans(ctx, None).await?, purpose)
}

pub async fn license(ctx: &Context, given: &str, purpose: Purpose) -> Result<Answer<License>> {
    if given.parse::<LicenseId>().is_ok() {
        return ctx.client().await?.get(&format!("/api/v1/admin/licenses/{given}")).await;
    }
    let all = ctx.client().await?.list("/api/v1/admin/licenses", &[]).await?;
    let license: Answer<License> = pick(ctx, given, &all, purpose)?;
    ctx.meant(given, &license.id.to_string());
    Ok(license)
}

pub async fn key(ctx: &Context, given: &str) -> Result<Answer<Key>> {
    let all = ctx.client().await?.list("/api/v1/admin/keys", &[]).await?;
    if let Some(at) = all.iter().position(|key: &Answer<Key>| key.id.to_string() == given) {
        return Ok(all[at].clone());
    }
    pick(ctx, given, &all, Purpose::Write)
}

/// The user whom the caller's own systems call `given`, if the service knows them.
pub async fn find_user(ctx: &Context, given: &str) -> Result<Option<Answer<User>>> {
    let found = ctx.client().await?.list("/api/v1/admin/users", &[("externalId", given)]).await?;
    Ok(found.into_iter().next())
}

/// The user of that name; or of that id, as the service's answers show it, if no user has it for a
/// name.
pub async fn user(ctx: &Context, given: &str) -> Result<Answer<User>> {
    if let Some(user) = find_user(ctx, given).await? {
        return Ok(user);
    }
    if given.parse::<UserId>().is_ok() {
        return ctx.client().await?.get(&format!("/api/v1/admin/users/{given}")).await;
    }
    Err(Error::not_found(format!("There is no user {given}."))
        .because("Users are named by your own id for them, letter by letter.")
        .fix("licctl users list --search TEXT"))
}

/// Users by their internal ids, as activations name them.
pub async fn users_by_id(ctx: &Context, ids: &[UserId]) -> Result<HashMap<UserId, Answer<User>>> {
    let client = ctx.client().await?;
    let users: Vec<Answer<User>> = if ids.len() <= FEW {
        let one = |id: &UserId| format!("/api/v1/admin/users/{}", encode(&id.to_string()));
        let reading = ids.iter().map(|id| {
            let path = one(id);
            async move { client.get(&path).await }
        });
        stream::iter(reading).buffered(AT_A_TIME).try_collect().await?
    } else {
        client.list("/api/v1/admin/users", &[]).await?
    };
    Ok(users.into_iter().map(|user| (user.id, user)).collect())
}

/// What products and plans are called.
pub struct Names {
    products: HashMap<ProductId, String>,
    plans: HashMap<PlanId, String>,
}

impl Names {
    pub async fn load(ctx: &Context) -> Result<Self> {
        let (products, plans) = tokio::try_join!(products(ctx), plans(ctx, None))?;
        Ok(Self {
            products: products.iter().map(|it| (it.id, it.name.to_string())).collect(),
            plans: plans.iter().map(|it| (it.id, it.name.to_string())).collect(),
        })
    }

    pub fn of(products: &[Answer<Product>]) -> Self {
        let products = products.iter().map(|it| (it.id, it.name.to_string())).collect();
        Self { products, plans: HashMap::new() }
    }

    /// The product's name; its id when it was made only just now.
    pub fn product(&self, id: ProductId) -> String {
        self.products.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }

    pub fn plan(&self, id: PlanId) -> String {
        self.plans.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }
}
