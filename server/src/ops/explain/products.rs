//! Explains the results of a user's validations, product by product.

use common::{
    ExplainedLicense, LicenseId, Name, ProductId, Reason, RenamedUser, Timestamp, User, UserId,
    UserRefusal,
};

use super::namesakes::licensed_namesakes;
use super::remedies::{add_remedies, deciding};
use super::{IdleHolders, LAST_REFUSALS, find_idle, judge, show_checks};
use crate::error::Error;
use crate::ops::renames::renamed_from;
use crate::ops::view::View;
use crate::store::outcomes::RefusalFilter;
use crate::store::validations::{self, NamedLicense};
use crate::store::{Page, outcomes, users};

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
    let mut found = validations::explain(&mut tx, scope, user.id).await?;
    show_checks(&mut found, &view.last_checks);
    let idle = find_idle(&mut tx, scope, &mut found, now).await?;
    let of_user =
        RefusalFilter { user: Some(user.external_id.to_string()), ..RefusalFilter::default() };
    let newest = Page::newest_first(None, LAST_REFUSALS);
    let refusals = outcomes::refusals(&mut tx, scope, &of_user, newest).await?.records;
    let mut products: Vec<ProductAnswer> = Vec::new();
    for license in &found {
        let id = license.assigned.license.product_id;
        if products.iter().any(|answer| answer.product_id == id) {
            continue;
        }
        let mut answer = answer((&found, &idle), id, license.product_name.clone(), &refusals, now);
        let ProductAnswer { reason, licenses, .. } = &mut answer;
        let of = (scope, &user.external_id);
        add_remedies(&mut tx, of, *reason, licenses, &view.last_checks, now).await?;
        products.push(answer);
    }
    let unnamed = (products.len() > 1).then(|| {
        let (reason, mut licenses) = judge(&found, &idle, None, now);
        match (reason, deciding(reason, &mut licenses)) {
            (None, Some(license)) => Ok(license.license.id),
            (reason, _) => Err(reason.unwrap_or(Reason::NoLicense)),
        }
    });
    let last_assigned = found.iter().map(|license| license.assigned_at).max();
    let is_unmet = |refusal: &&UserRefusal| {
        refusal.reason == Reason::NoLicense
            && last_assigned.is_some_and(|assigned_at| refusal.last_at > assigned_at)
    };
    let other_product = Refused::sum(refusals.iter().filter(is_unmet));
    let similar_users = match found.as_slice() {
        [] => licensed_namesakes(&mut tx, scope, &user.external_id, Some(&user)).await?,
        _ => Vec::new(),
    };
    let renamed_to = renamed_from(&mut tx, scope, &user.external_id, Some(&user)).await?;
    Ok(ExplainedUser {
        user,
        checked_at: now,
        products,
        unnamed,
        other_product,
        refusals,
        similar_users,
        renamed_to,
    })
}

fn answer(
    (found, idle): (&[NamedLicense], &IdleHolders),
    product_id: ProductId,
    product_name: Name,
    refusals: &[UserRefusal],
    now: Timestamp,
) -> ProductAnswer {
    let (reason, mut licenses) = judge(found, idle, Some(product_id), now);
    licenses.retain(|license| license.license.product_id == product_id);
    let deciding = deciding(reason, &mut licenses).map(|license| license.license.id);
    let is_of = |refusal: &&UserRefusal| {
        licenses.iter().any(|license| refusal.license_id == Some(license.license.id))
    };
    let refused = Refused::sum(refusals.iter().filter(is_of));
    ProductAnswer { product_id, product_name, reason, licenses, deciding, refused }
}
