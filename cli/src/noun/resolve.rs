//! Finds the record that an argument names. This module reads the candidates; [`super::search`]
//! chooses.

use std::collections::HashMap;

use common::{
    Explain, ExternalId, KeyState, LicenseId, Plan, PlanId, Product, ProductId, RenamedUser, User,
    UserId,
};

use super::Named;
use super::people::{did_you_mean, similar_users, suspicious_characters, visible};
use super::search::{Purpose, all, named, pick};
use crate::client::{ApiRecord, Key, LicenseWithSeats, Query};
use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::escape::quote;
use crate::output::Format;

/// A plan with the name of its product, which distinguishes plans that share a name.
#[derive(Clone)]
pub struct PlanOfProduct {
    pub plan: ApiRecord<Plan>,
    product: String,
}

impl PlanOfProduct {
    pub fn title(&self) -> String {
        format!("{}/{}", self.product, self.plan.name)
    }
}

impl Named for PlanOfProduct {
    const NOUN: &str = "plan";
    fn id(&self) -> String {
        self.plan.id.to_string()
    }
    fn name(&self) -> &str {
        self.plan.name.as_str()
    }
    fn full_name(&self) -> Option<String> {
        Some(self.title())
    }
}

pub async fn plans(ctx: &Context, of: Option<ProductId>) -> Result<Vec<ApiRecord<Plan>>> {
    let client = ctx.client().await?;
    let plans = client.plans().list(Query::default().with("productId", of)).await?;
    if of.is_none() {
        super::remember(client, &ctx.env, &plans);
    }
    Ok(plans)
}

/// The plan of this id or name, or of `Product/Plan`; with `product`, one of its plans.
pub async fn plan(
    ctx: &Context,
    given: &str,
    product: Option<&str>,
    purpose: Purpose,
) -> Result<ApiRecord<Plan>> {
    if given.parse::<PlanId>().is_err() {
        let plans = plans_by_product(ctx, product, purpose).await?;
        return pick(ctx, given, &plans, purpose).map(|found| found.plan);
    }
    let plan = ctx.client().await?.plans().get(given).await?;
    if let Some(of) = product
        && named::<Product>(ctx, of, purpose).await?.id != plan.product_id
    {
        return Err(Error::not_found(format!("Plan {given} is not a plan of product {of}."))
            .fix("omit --product; the plan id is enough"));
    }
    Ok(plan)
}

/// The plans of this product, or all, each with its product's name.
pub async fn plans_by_product(
    ctx: &Context,
    of: Option<&str>,
    purpose: Purpose,
) -> Result<Vec<PlanOfProduct>> {
    let (products, plans) = match of {
        Some(given) => {
            let product = named::<Product>(ctx, given, purpose).await?;
            let plans = plans(ctx, Some(product.id)).await?;
            (vec![product], plans)
        }
        None => tokio::try_join!(all::<Product>(ctx), plans(ctx, None))?,
    };
    let names = NameIndex::of(&products, &[]);
    let with_product = |plan: ApiRecord<Plan>| {
        let product = names.product(plan.product_id);
        PlanOfProduct { plan, product }
    };
    Ok(plans.into_iter().map(with_product).collect())
}

pub async fn license(
    ctx: &Context,
    given: &str,
    purpose: Purpose,
) -> Result<ApiRecord<LicenseWithSeats>> {
    if given.parse::<LicenseId>().is_ok() {
        return ctx.client().await?.licenses().get(given).await;
    }
    let all = ctx.client().await?.licenses().list(Query::of("search", given.trim())).await?;
    let license = pick(ctx, given, &all, purpose)?;
    ctx.prompts.expand_id(given, &license.id.to_string());
    Ok(license)
}

pub async fn key(ctx: &Context, given: &str) -> Result<ApiRecord<Key>> {
    let all = ctx.client().await?.keys().list(Query::default()).await?;
    if let Some(at) = all.iter().position(|key| key.id.to_string() == given) {
        return Ok(all[at].clone());
    }
    // After a roll, the name means the new key as soon as the old one has ended.
    let prefix = key_prefix(given);
    let is_meant = |key: &ApiRecord<Key>| match prefix {
        Some(prefix) => key.prefix == prefix,
        None => key.name.as_str() == given,
    };
    let meant: Vec<_> = all.iter().filter(|key| is_meant(key)).cloned().collect();
    let active: Vec<_> =
        meant.iter().filter(|key| key.state(ctx.now) == KeyState::Valid).cloned().collect();
    let (given, all) = match (prefix, active.is_empty()) {
        (Some(prefix), true) => (prefix, meant),
        (Some(prefix), false) => (prefix, active),
        (None, true) => (given, all),
        (None, false) => (given, active),
    };
    let key = pick(ctx, given, &all, Purpose::Write)?;
    if prefix.is_some() {
        // The command that is printed must not repeat a secret.
        ctx.prompts.expand_key(given, &key.id.to_string());
    }
    Ok(key)
}

/// The public prefix of a key. The rest of the key is ignored.
fn key_prefix(text: &str) -> Option<&str> {
    const LEN: usize = "sk_live_".len() + 4;
    let is_key = text.starts_with("sk_live_") || text.starts_with("sk_test_");
    text.get(..LEN).filter(|_| is_key)
}

/// The keys of this name that have not ended.
pub fn keys_named<'a>(
    ctx: &Context,
    all: &'a [ApiRecord<Key>],
    name: &str,
) -> impl Iterator<Item = &'a ApiRecord<Key>> {
    all.iter().filter(move |key| key.name.as_str() == name && key.state(ctx.now) == KeyState::Valid)
}

/// The user with this external id, if there is one.
pub async fn find_user(ctx: &Context, given: &str) -> Result<Option<ApiRecord<User>>> {
    let found = ctx.client().await?.users().list(Query::of("externalId", given)).await?;
    Ok(found.into_iter().next())
}

/// The user with this external id, or else with this id of the service. None if there is none.
pub async fn present_user(ctx: &Context, given: &str) -> Result<Option<ApiRecord<User>>> {
    if let Some(user) = find_user(ctx, given).await? {
        return Ok(Some(user));
    }
    if given.parse::<UserId>().is_err() {
        return Ok(None);
    }
    match ctx.client().await?.users().get(given).await {
        Err(error) if error.exit == Exit::NotFound => Ok(None),
        user => user.map(Some),
    }
}

/// Like [`present_user`]; it is an error if there is none.
pub async fn user(ctx: &Context, given: &str) -> Result<ApiRecord<User>> {
    match present_user(ctx, given).await? {
        Some(user) => Ok(user),
        None => Err(no_user(ctx, given).await?),
    }
}

/// The external id of a user that may be deleted, whose events and refusals stay.
pub async fn past_user(ctx: &Context, given: ExternalId) -> Result<ExternalId> {
    if given.as_str().parse::<UserId>().is_err() {
        return Ok(given);
    }
    let user = present_user(ctx, given.as_str()).await?;
    Ok(user.map_or(given, |user| user.external_id.clone()))
}

/// The error for a user that does not exist.
pub async fn no_user(ctx: &Context, given: &str) -> Result<Error> {
    let error = Error::not_found(format!("User {} not found.", visible(given)));
    let similar = similar_users(ctx, given).await?;
    let (why, fix) = match (renamed(ctx, given).await, similar.first()) {
        (Some(now), _) => (
            format!(
                "{} has been {} since {}.",
                visible(given),
                visible(now.external_id.as_str()),
                now.renamed_at.day()
            ),
            format!("licctl users get {}", quote(now.external_id.as_str())),
        ),
        (None, Some(first)) => (
            format!("{} licctl looks up users by external id.", did_you_mean(&similar)),
            format!("licctl users get {}", quote(first.external_id.as_str())),
        ),
        (None, None) => (
            "licctl looks up users by external id, and no user is similar.".to_owned(),
            "licctl users list".to_owned(),
        ),
    };
    let odd = suspicious_characters(given).map_or_else(String::new, |odd| format!("{odd} "));
    Ok(error.because(odd + &why).fix(fix))
}

/// The user who had this external id before. This only improves a message, so it never fails.
async fn renamed(ctx: &Context, given: &str) -> Option<RenamedUser> {
    let question = Explain { user_id: given.parse().ok()?, product_id: None };
    let explained = ctx.client().await.ok()?.explain(&question).await.ok()?;
    explained.renamed_to.clone()
}

/// The names of products and plans by id.
#[derive(Default)]
pub struct NameIndex {
    products: HashMap<ProductId, String>,
    plans: HashMap<PlanId, String>,
}

impl NameIndex {
    pub async fn load(ctx: &Context) -> Result<Self> {
        let (products, plans) = tokio::try_join!(all::<Product>(ctx), plans(ctx, None))?;
        Ok(Self::of(&products, &plans))
    }

    /// The names for a record that is already known. Programs get ids; so do people if the names
    /// cannot be read, because the record must be shown anyway.
    pub async fn for_display(ctx: &Context) -> Self {
        match ctx.output.format {
            Format::Table => Self::load(ctx).await.unwrap_or_default(),
            _ => Self::default(),
        }
    }

    pub fn of(products: &[ApiRecord<Product>], plans: &[ApiRecord<Plan>]) -> Self {
        Self {
            products: products.iter().map(|it| (it.id, it.name.to_string())).collect(),
            plans: plans.iter().map(|it| (it.id, it.name.to_string())).collect(),
        }
    }

    /// The product's name; its id when the index lacks it.
    pub fn product(&self, id: ProductId) -> String {
        self.products.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }

    pub fn plan(&self, id: PlanId) -> String {
        self.plans.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }
}
