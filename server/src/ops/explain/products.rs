//! Explains the results of a user's validations, product by product.

use common::{
    ExplainedLicense, LicenseId, Name, ProductId, Reason, RenamedUser, Timestamp, User, UserId,
    UserRefusal,
};

use super::remedies::{add_remedies, deciding};
use super::{UserFacts, judge};
use crate::error::Error;
use crate::ops::view::View;
use crate::store::users;

/// Results of a user's validations.
pub struct ExplainedUser {
    pub user: User,
    pub checked_at: Timestamp,
    /// Result for each product of the user's licenses, in the order of assignment.
    pub products: Vec<ProductAnswer>,
    /// Result of a validation without a product, if the user has licenses for several.
    pub unnamed: Option<Result<LicenseId, Reason>>,
    /// Refusals with `no_license` since the last license was assigned: an application asked for a
    /// product that the user has no license for.
    pub other_product: Option<Refused>,
    /// Last refused validations, newest first.
    pub refusals: Vec<UserRefusal>,
    /// Users with a license who may be the same person, if this user has none.
    pub similar_users: Vec<User>,
    /// User who had this external id before and has another one now.
    pub renamed_to: Option<RenamedUser>,
}

/// Result of a validation for a product.
pub struct ProductAnswer {
    pub product_id: ProductId,
    pub product_name: Name,
    /// `None` if the validation is valid.
    pub reason: Option<Reason>,
    /// The user's licenses for the product, in the order in which a validation considers them.
    pub licenses: Vec<ExplainedLicense>,
    /// License that decides, and has the remedies.
    pub deciding: Option<LicenseId>,
    /// Refusals for which one of these licenses gave the reason.
    pub refused: Option<Refused>,
}

/// Refusals of validations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refused {
    pub count: i64,
    pub last_at: Timestamp,
}

impl Refused {
    fn sum<'a>(refusals: impl Iterator<Item = &'a UserRefusal>) -> Option<Self> {
        let each = refusals.map(|it| Self { count: it.count, last_at: it.last_at });
        each.reduce(|a, b| Self { count: a.count + b.count, last_at: a.last_at.max(b.last_at) })
    }
}

impl ExplainedUser {
    pub fn licenses(&self) -> impl Iterator<Item = &ExplainedLicense> {
        self.products.iter().flat_map(|product| &product.licenses)
    }
}

/// Explains all products of the user, from one snapshot.
pub async fn of_user(view: View, id: UserId) -> Result<ExplainedUser, Error> {
    let (mut tx, scope, now) = (view.snapshot().await?, view.scope, Timestamp::now());
    let user = users::find(&mut tx, scope, id).await?.ok_or(Error::NotFound("user"))?;
    let facts = UserFacts::read(&mut tx, &view, &user.external_id, Some(&user), now).await?;
    let mut products: Vec<ProductAnswer> = Vec::new();
    for license in &facts.licenses {
        let id = license.assigned.license.product_id;
        if products.iter().any(|answer| answer.product_id == id) {
            continue;
        }
        let mut answer = answer(&facts, id, license.product_name.clone(), now);
        let ProductAnswer { reason, licenses, .. } = &mut answer;
        let of = (scope, &user.external_id);
        add_remedies(&mut tx, of, *reason, licenses, &view.last_checks, now).await?;
        products.push(answer);
    }
    let unnamed = (products.len() > 1).then(|| {
        let (reason, mut licenses) = judge(&facts, None, now);
        match (reason, deciding(reason, &mut licenses)) {
            (None, Some(license)) => Ok(license.license.id),
            (reason, _) => Err(reason.unwrap_or(Reason::NoLicense)),
        }
    });
    let last_assigned = facts.licenses.iter().map(|license| license.assigned_at).max();
    let is_unmet = |refusal: &&UserRefusal| {
        refusal.reason == Reason::NoLicense
            && last_assigned.is_some_and(|assigned_at| refusal.last_at > assigned_at)
    };
    let other_product = Refused::sum(facts.refusals.iter().filter(is_unmet));
    Ok(ExplainedUser {
        user,
        checked_at: now,
        products,
        unnamed,
        other_product,
        refusals: facts.refusals,
        similar_users: facts.similar_users,
        renamed_to: facts.renamed_to,
    })
}

fn answer(
    facts: &UserFacts,
    product_id: ProductId,
    product_name: Name,
    now: Timestamp,
) -> ProductAnswer {
    let (reason, mut licenses) = judge(facts, Some(product_id), now);
    licenses.retain(|license| license.license.product_id == product_id);
    let deciding = deciding(reason, &mut licenses).map(|license| license.license.id);
    let is_of = |refusal: &&UserRefusal| {
        licenses.iter().any(|license| refusal.license_id == Some(license.license.id))
    };
    let refused = Refused::sum(facts.refusals.iter().filter(is_of));
    ProductAnswer { product_id, product_name, reason, licenses, deciding, refused }
}
