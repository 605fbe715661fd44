//! Products, with their plans.

use askama::Template;
use axum::response::Response;
use common::{CreateProduct, Line, Plan, PlanId, Product, ProductField, ProductId, UpdateProduct};
use serde::{Deserialize, Serialize};

use super::plans::PlanForm;
use super::{
    Before, Editor, FormState, Layout, Notice, Pager, Paging, Viewer, Visitor, all, cleared,
    counted, filters, once, optional, page, required,
};
use crate::error::Error;
use crate::http::extract::{Form, Id, Query};
use crate::ops::outcome::Changed;
use crate::ops::{plans, products};
use crate::store::Page;

/// Number of products in a page of the list, and number of plans shown for each.
const LISTED_PRODUCTS: i64 = 10;
const LISTED_PLANS: i64 = 5;
/// Number of products that are compared with the name of a new one. A tenant has few.
const COMPARED: i64 = 1000;

#[derive(Template)]
#[template(path = "products.html")]
struct ProductsPage {
    layout: Layout,
    listed: Vec<ListedProduct>,
    pager: Pager,
    form: FormState<ProductForm>,
    once: String,
}

struct ListedProduct {
    product: Product,
    /// The newest ones.
    plans: Vec<Plan>,
    more_exist: bool,
}

pub async fn list(Viewer(visitor): Viewer, Query(query): Query<Before>) -> Result<Response, Error> {
    show_list(visitor, query, FormState::default()).await
}

async fn show_list(
    visitor: Visitor,
    query: Before,
    form: FormState<ProductForm>,
) -> Result<Response, Error> {
    let view = visitor.view();
    let paging = Paging { rows: LISTED_PRODUCTS, ..Paging::new(&query.before) };
    let mut found = products::page(view.clone(), paging.page()).await?;
    let pager = paging.pager(&mut found, |product| product.id);
    let mut listed = Vec::new();
    for product in found {
        let newest = Page::newest_first(None, LISTED_PLANS + 1);
        let mut plans = plans::page(view.clone(), Some(product.id), newest).await?;
        let more_exist = plans.len() > LISTED_PLANS as usize;
        plans.truncate(LISTED_PLANS as usize);
        listed.push(ListedProduct { product, plans, more_exist });
    }
    let status = form.error.status();
    page(status, &ProductsPage { layout: visitor.layout, listed, pager, form, once: once() })
}

/// The form for a product, new or existing.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
pub struct ProductForm {
    name: String,
    description: String,
}

impl ProductForm {
    fn of(product: &Product) -> Self {
        let description = product.description.as_ref().map_or("", Line::as_str).to_owned();
        Self { name: product.name.to_string(), description }
    }

    /// Errors name the fields as the page does, which has the form for a plan as well.
    fn read(&self) -> Result<CreateProduct, Error> {
        all! {
            name = required("product_name", "The name", &self.name),
            description = optional("product_description", "The description", &self.description),
        }
        Ok(CreateProduct { name, description })
    }

    fn update(&self) -> Result<UpdateProduct, Error> {
        let new = self.read()?;
        let clear = cleared(ProductField::ALL, &new);
        let CreateProduct { name, description } = new;
        Ok(UpdateProduct { name: Some(name), description, clear })
    }
}

pub async fn create(
    Editor(visitor): Editor,
    Form { fields, idempotency, .. }: Form<ProductForm>,
) -> Result<Response, Error> {
    let create = async |visitor: &Visitor, fields: &ProductForm| {
        let new = fields.read()?;
        let create = async |change| products::create(change, new).await.map(|it| it.0.id);
        let id: ProductId = visitor.create(idempotency, fields, create).await?;
        let view = visitor.view();
        let others = products::page(view, Page::newest_first(None, COMPARED)).await?;
        let same_name = others.iter().filter(|it| it.name.as_str() == fields.name.trim()).count();
        let notice =
            if same_name > 1 { Notice::ProductTwinCreated } else { Notice::ProductCreated };
        Ok(visitor.redirect(&format!("/products/{id}"), notice))
    };
    let again = |visitor, form| show_list(visitor, Before::default(), form);
    visitor.submit(fields, create, again).await
}

#[derive(Template)]
#[template(path = "product.html")]
struct ProductPage {
    layout: Layout,
    product: Product,
    plans: Vec<Plan>,
    pager: Pager,
    once: String,
    form: FormState<ProductForm>,
    plan_form: FormState<PlanForm>,
}

pub async fn get(
    Viewer(visitor): Viewer,
    Id(id): Id<ProductId>,
    Query(query): Query<Before>,
) -> Result<Response, Error> {
    show(visitor, id, query, None, FormState::default()).await
}

/// Shows the product; `sent` is the form for it, if that was refused.
async fn show(
    visitor: Visitor,
    id: ProductId,
    query: Before,
    sent: Option<FormState<ProductForm>>,
    plan_form: FormState<PlanForm>,
) -> Result<Response, Error> {
    let view = visitor.view();
    let product = products::get(view.clone(), id).await?;
    let paging = Paging::new(&query.before);
    let mut plans = plans::page(view, Some(id), paging.page()).await?;
    let pager = paging.pager(&mut plans, |plan| plan.id);
    let form = sent.unwrap_or_else(|| FormState::new(ProductForm::of(&product)));
    let status = form.error.status().max(plan_form.error.status());
    let (layout, once) = (visitor.layout, once());
    page(status, &ProductPage { layout, product, plans, pager, once, form, plan_form })
}

pub async fn update(
    Editor(visitor): Editor,
    Id(id): Id<ProductId>,
    Form { fields, seen, .. }: Form<ProductForm>,
) -> Result<Response, Error> {
    let update = async |visitor: &Visitor, fields: &ProductForm| {
        let stored = products::get(visitor.view(), id).await?;
        let update = fields.update()?;
        let change = visitor.change(seen).await?;
        let Changed(product) = products::update(change, id, update).await?;
        let notice = Notice::ProductUpdated.unless(product == stored);
        Ok(visitor.redirect(&format!("/products/{id}"), notice))
    };
    let again =
        |visitor, form| show(visitor, id, Before::default(), Some(form), FormState::default());
    visitor.submit(fields, update, again).await
}

pub async fn create_plan(
    Editor(visitor): Editor,
    Id(id): Id<ProductId>,
    Form { fields, idempotency, .. }: Form<PlanForm>,
) -> Result<Response, Error> {
    let create = async |visitor: &Visitor, fields: &PlanForm| {
        let new = fields.create(id)?;
        let create = async |change| plans::create(change, new).await.map(|it| it.0.id);
        let plan: PlanId = visitor.create(idempotency, fields, create).await?;
        Ok(visitor.redirect(&format!("/plans/{plan}"), Notice::PlanCreated))
    };
    let again = |visitor, form| show(visitor, id, Before::default(), None, form);
    visitor.submit(fields, create, again).await
}
