//! Products.

use common::{Product, ProductId};

use super::table::table;
use super::{Page, Scope};
use crate::db::{Conn, Result};

table! {
    products of product: Product by ProductId;
    fixed { created_at }
    changing { name, description, updated_at }
    insert find lock update delete page names
}
