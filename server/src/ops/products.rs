//! Products.

use common::{CreateProduct, Product, ProductField, ProductId, UpdateProduct};

use super::change::{Change, Events};
use super::members::{refuse_contradictions, update as update_member};
use super::outcome::{Changed, Created};
use super::view::View;
use crate::error::{Error, on_broken_reference};
use crate::events::NewEvent;
use crate::store::{Page, products};

const NOT_FOUND: Error = Error::NotFound("product");
const IN_USE: Error = Error::Conflict("Only a product without plans can be deleted");

pub async fn create(mut change: Change, new: CreateProduct) -> Result<Created<Product>, Error> {
    let (scope, now) = (change.scope(), change.now);
    let product = Product {
        id: ProductId::new(now),
        name: new.name,
        description: new.description,
        created_at: now,
        updated_at: now,
    };
    products::insert(&mut change, scope, &product).await?;
    let event = NewEvent::product_created(&product);
    Ok(change.commit(Created(product), event).await?)
}

pub async fn get(view: View, id: ProductId) -> Result<Product, Error> {
    products::find(&mut view.read().await?, view.scope, id).await?.ok_or(NOT_FOUND)
}

pub async fn page(view: View, page: Page<ProductId>) -> Result<Vec<Product>, Error> {
    Ok(products::page(&mut view.read().await?, view.scope, page).await?)
}

pub async fn update(
    mut change: Change,
    id: ProductId,
    update: UpdateProduct,
) -> Result<Changed<Product>, Error> {
    let scope = change.scope();
    refuse_contradictions(&update)?;
    let clear = update.clear.unwrap_or_default();
    let before = products::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    change.check(&before)?;
    let mut product = before.clone();
    product.name = update.name.unwrap_or(product.name);
    let cleared = clear.contains(&ProductField::Description);
    update_member(&mut product.description, update.description, cleared);
    if product == before {
        return Ok(change.commit(Changed(product), Events::none()).await?);
    }
    product.updated_at = change.time_after(before.updated_at);
    products::update(&mut change, scope, &product).await?;
    let event = NewEvent::product_updated(&before, &product);
    Ok(change.commit(Changed(product), event).await?)
}

/// Deletes a product without plans.
pub async fn delete(mut change: Change, id: ProductId) -> Result<Changed<Product>, Error> {
    let scope = change.scope();
    let product = products::lock(&mut change, scope, id).await?.ok_or(NOT_FOUND)?;
    change.check(&product)?;
    products::delete(&mut change, scope, id).await.map_err(on_broken_reference(IN_USE))?;
    let event = NewEvent::product_deleted(&product);
    Ok(change.commit(Changed(product), event).await?)
}
