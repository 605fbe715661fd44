//! From what people type to the record they mean: an id, a name, or a piece of either. A guess is
//! made only where a wrong one does no harm.

use std::collections::HashMap;

use common::{Key, License, LicenseId, Plan, PlanId, Product, ProductId, User, UserId};
use futures_util::stream::{self, StreamExt, TryStreamExt};

use crate::client::{Answer, encode};
use crate::context::Context;
use crate::error::{Error, Exit, Result};
use crate::names;
use crate::prompt;

/// The shortest piece of an id that stands for it.
const SHORTEST_PIECE: usize = 6;
/// Above this many, reading the whole list takes less than reading one by one.
const FEW: usize = 25;
const AT_A_TIME: usize = 4;

/// What the record is wanted for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A wrong guess would only show the wrong thing.
    Read,
    /// Without a person to notice, only an id or an exact name will do.
    Write,
}

/// A record that people call by name.
pub trait Named {
    const NOUN: &str;
    fn id(&self) -> String;
    fn name(&self) -> &str;
}

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
    pick(ctx, given, &all, purpose)
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

pub async fn user(ctx: &Context, given: &str) -> Result<Answer<User>> {
    find_user(ctx, given).await?.ok_or_else(|| {
        Error::not_found(format!("There is no user {given}."))
            .because("Users are named by your own id for them, letter by letter.")
            .fix("licctl users list --search TEXT")
    })
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

/// The one record that `given` means.
fn pick<T: Named + Clone>(ctx: &Context, given: &str, all: &[T], purpose: Purpose) -> Result<T> {
    let loosely = purpose == Purpose::Read || ctx.may_ask();
    match search(given, all, loosely) {
        Found::One(at) => Ok(all[at].clone()),
        Found::Many(places) if ctx.may_ask() => {
            let labels: Vec<_> = places.iter().map(|&at| label(&all[at])).collect();
            let question = format!("Several {}s match {given}", T::NOUN);
            Ok(all[places[prompt::choose(ctx, &question, &labels)?]].clone())
        }
        Found::Many(places) => {
            let matches = places.iter().take(5).map(|&at| label(&all[at])).collect::<Vec<_>>();
            let error = Error::new(
                Exit::NotFound,
                "ambiguous",
                format!("{given} matches {} {}s.", places.len(), T::NOUN),
            );
            Err(error.because(matches.join("; ")).fix(format!("give the {}'s id", T::NOUN)))
        }
        Found::None => Err(nothing_matches(given, all, loosely)),
    }
}

fn nothing_matches<T: Named>(given: &str, all: &[T], loosely: bool) -> Error {
    let error = Error::not_found(format!("There is no {} {given}.", T::NOUN));
    match search(given, all, true) {
        Found::One(at) if !loosely => error
            .because(format!(
                "Did you mean {}? Nobody can be asked, so nothing is guessed.",
                label(&all[at])
            ))
            .fix("give the exact name or id"),
        _ => error.fix(format!("licctl {}s list", T::NOUN)),
    }
}

fn label<T: Named>(record: &T) -> String {
    format!("{} {}", record.id(), record.name()).trim_end().to_owned()
}

enum Found {
    None,
    One(usize),
    Many(Vec<usize>),
}

/// Looks for the exact name first, then, `loosely`, for less and less.
fn search<T: Named>(given: &str, all: &[T], loosely: bool) -> Found {
    if given.is_empty() {
        return Found::None;
    }
    let folded = given.to_lowercase();
    let exact = |record: &T| record.name() == given || record.id() == given;
    let nearly = |record: &T| record.name().to_lowercase() == folded;
    let piece = |record: &T| {
        let id = record.id();
        given.len() >= SHORTEST_PIECE && (id.starts_with(given) || id.ends_with(given))
    };
    let steps: [&dyn Fn(&T) -> bool; 3] = [&exact, &nearly, &piece];
    for step in &steps[..if loosely { 3 } else { 1 }] {
        let places: Vec<usize> = (0..all.len()).filter(|&at| step(&all[at])).collect();
        match places.as_slice() {
            [] => {}
            [one] => return Found::One(*one),
            _ => return Found::Many(places),
        }
    }
    Found::None
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Thing(&'static str, &'static str);

    impl Named for Thing {
        const NOUN: &str = "thing";
        fn id(&self) -> String {
            self.0.to_owned()
        }
        fn name(&self) -> &str {
            self.1
        }
    }

    const THINGS: [Thing; 4] = [
        Thing("prd_01aaaa111111", "Studio"),
        Thing("prd_01bbbb222222", "studio"),
        Thing("prd_01cccc333333", "Render Farm"),
        Thing("prd_02dddd333333", "Pro"),
    ];

    fn found(given: &str, loosely: bool) -> Vec<usize> {
        match search(given, &THINGS, loosely) {
            Found::None => Vec::new(),
            Found::One(at) => vec![at],
            Found::Many(places) => places,
        }
    }

    #[test]
    fn the_exact_name_wins_over_one_in_other_letters() {
        assert_eq!(found("Studio", true), [0]);
        assert_eq!(found("STUDIO", true), [0, 1]);
        assert_eq!(found("render farm", true), [2]);
    }

    #[test]
    fn a_piece_of_an_id_counts_from_six_characters_at_either_end() {
        assert_eq!(found("prd_01c", true), [2]);
        assert_eq!(found("222222", true), [1]);
        assert_eq!(found("22222", true), [] as [usize; 0]);
        assert_eq!(found("333333", true), [2, 3]);
        assert_eq!(found("cccc33", true), [] as [usize; 0]);
    }

    #[test]
    fn nothing_is_guessed_when_it_matters() {
        assert_eq!(found("render farm", false), [] as [usize; 0]);
        assert_eq!(found("222222", false), [] as [usize; 0]);
        assert_eq!(found("prd_01cccc333333", false), [2]);
        assert_eq!(found("Render Farm", false), [2]);
    }
}
