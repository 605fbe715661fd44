//! Products, with their plans.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use common::{CreateProduct, Line, Plan, Product, ProductField, ProductId, UpdateProduct};
use serde::{Deserialize, Serialize};

use super::fields::{all, created_before, once, optional, required};
use super::filters;
use super::form::Mistake;
use super::html::page;
use super::layout::{Layout, Notice};
use super::meanwhile;
use super::parts::{Pager, Paging, ROWS, counted};
use super::plans::PlanForm;
use super::visitor::{Editor, Viewer, Visitor};
use crate::App;
use crate::error::Error;
use crate::http::extract::{Form, Id, Query};
use crate::ops::outcome::{Changed, Outcome};
use crate::ops::{plans, products};
use crate::store::Page;

/// How many products a page of the list has, and how many plans each shows there.
const LISTED_PRODUCTS: i64 = 10;
const LISTED_PLANS: i64 = 5;

#[derive(Template)]
#[template(path = "products.html")]
struct ProductsPage {
    layout: Layout,
    listed: Vec<ListedProduct>,
    pager: Pager,
    form: ProductForm,
    once: String,
    mistake: Mistake,
}

struct ListedProduct {
    product: Product,
    /// The newest ones.
    plans: Vec<Plan>,
    more_exist: bool,
}

/// The query of a list.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct ListQuery {
    before: String,
}

pub async fn list(
    State(app): State<App>,
    Viewer(visitor): Viewer,
    Query(query): Query<ListQuery>,
) -> Result<Response, Error> {
    show_list(&app, visitor, &query, ProductForm::default(), Mistake::default()).await
}

async fn show_list(
    app: &App,
    visitor: Visitor,
    query: &ListQuery,
    form: ProductForm,
    mistake: Mistake,
) -> Result<Response, Error> {
    let view = app.ops.view(visitor.scope);
    let newest = Page::newest_first(query.before.parse().ok(), LISTED_PRODUCTS + 1);
    let mut found = products::page(view.clone(), newest).await?;
    let cursor = |product: &Product| product.id.to_string();
    let paging = Paging { rows: LISTED_PRODUCTS, ..Paging::default() };
    let pager = Pager::of(&mut found, cursor, &query.before, paging);
    let mut listed = Vec::new();
    for product in found {
        let newest = Page::newest_first(None, LISTED_PLANS + 1);
        let mut plans = plans::page(view.clone(), Some(product.id), newest).await?;
        let more_exist = plans.len() > LISTED_PLANS as usize;
        plans.truncate(LISTED_PLANS as usize);
        listed.push(ListedProduct { product, plans, more_exist });
    }
    let (layout, once, status) = (visitor.layout, once(), mistake.status());
    page(status, &ProductsPage { layout, listed, pager, form, once, mistake })
}

/// The form for a product, new or known.
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

    /// The fields at fault are named as on the page, which has the plan's form as well.
    fn read(&self) -> Result<CreateProduct, Error> {
        all! {
            name = required("product_name", "The name", &self.name),
            description = optional("product_description", "The description", &self.description),
        }
        Ok(CreateProduct { name, description })
    }

    /// An empty description is cleared.
    fn update(&self) -> Result<UpdateProduct, Error> {
        let CreateProduct { name, description } = self.read()?;
        let clear = description.is_none().then(|| vec![ProductField::Description]);
        Ok(UpdateProduct { name: Some(name), description, clear })
    }
}

pub async fn create(
    State(app): State<App>,
    Editor(visitor): Editor,
    form: Form<ProductForm>,
) -> Result<Response, Error> {
    let Form { fields, idempotency, .. } = form;
    let created = Box::pin(async {
        let change = app.ops.change(visitor.origin(), idempotency.of(&fields)?).await?;
        Ok(products::create(change, fields.read()?).await?.record().id)
    });
    match created.await.or_else(created_before) {
        Ok(id) => visitor.go_to(&format!("/products/{id}"), Notice::ProductCreated),
        Err(error) => {
            let mistake = Mistake::of(error)?;
            Box::pin(show_list(&app, visitor, &ListQuery::default(), fields, mistake)).await
        }
    }
}

#[derive(Template)]
#[template(path = "product.html")]
struct ProductPage {
    layout: Layout,
    product: Product,
    plans: Vec<Plan>,
    pager: Pager,
    once: String,
    form: ProductForm,
    mistake: Mistake,
    plan_form: PlanForm,
    plan_mistake: Mistake,
}

/// The form that was sent with a mistake, if one was.
enum Sent {
    Nothing,
    Product(ProductForm, Mistake),
    Plan(PlanForm, Mistake),
}

pub async fn get(
    State(app): State<App>,
    Viewer(visitor): Viewer,
    Id(id): Id<ProductId>,
    Query(query): Query<ListQuery>,
) -> Result<Response, Error> {
    show(&app, visitor, id, &query, Sent::Nothing).await
}

async fn show(
    app: &App,
    visitor: Visitor,
    id: ProductId,
    query: &ListQuery,
    sent: Sent,
) -> Result<Response, Error> {
    let view = app.ops.view(visitor.scope);
    let product = products::get(view.clone(), id).await?;
    let newest = Page::newest_first(query.before.parse().ok(), ROWS + 1);
    let mut plans = plans::page(view, Some(id), newest).await?;
    let pager = Pager::of(&mut plans, |plan| plan.id.to_string(), &query.before, Paging::default());
    let (mut form, mut mistake) = (ProductForm::of(&product), Mistake::default());
    let (mut plan_form, mut plan_mistake) = (PlanForm::default(), Mistake::default());
    match sent {
        Sent::Nothing => {}
        Sent::Product(sent, made) => (form, mistake) = (sent, made),
        Sent::Plan(sent, made) => (plan_form, plan_mistake) = (sent, made),
    }
    let status = mistake.status().max(plan_mistake.status());
    let (layout, once) = (visitor.layout, once());
    let shown =
        ProductPage { layout, product, plans, pager, once, form, mistake, plan_form, plan_mistake };
    page(status, &shown)
}

pub async fn update(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<ProductId>,
    Form { fields, seen, .. }: Form<ProductForm>,
) -> Result<Response, Error> {
    let updated = Box::pin(async {
        let stored = products::get(app.ops.view(visitor.scope), id).await?;
        let update = fields.update()?;
        let change = visitor.change(&app, seen).await?;
        let Changed(product) = products::update(change, id, update).await?;
        Ok(if product == stored { Notice::Unchanged } else { Notice::ProductUpdated })
    });
    match updated.await {
        Ok(notice) => visitor.go_to(&format!("/products/{id}"), notice),
        Err(error) => {
            let error = meanwhile::explain(app.ops.view(visitor.scope), id, error).await;
            let sent = Sent::Product(fields, Mistake::of(error)?);
            Box::pin(show(&app, visitor, id, &ListQuery::default(), sent)).await
        }
    }
}

pub async fn create_plan(
    State(app): State<App>,
    Editor(visitor): Editor,
    Id(id): Id<ProductId>,
    form: Form<PlanForm>,
) -> Result<Response, Error> {
    let Form { fields, idempotency, .. } = form;
    let created = Box::pin(async {
        let change = app.ops.change(visitor.origin(), idempotency.of(&fields)?).await?;
        Ok(plans::create(change, fields.create(id)?).await?.record().id)
    });
    match created.await.or_else(created_before) {
        Ok(plan) => visitor.go_to(&format!("/plans/{plan}"), Notice::PlanCreated),
        Err(error) => {
            let sent = Sent::Plan(fields, Mistake::of(error)?);
            Box::pin(show(&app, visitor, id, &ListQuery::default(), sent)).await
        }
    }
}
