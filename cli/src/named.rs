//! Records that an argument can name, by id or by name.

use common::{Key, LicenseWithSeats, Plan, Product};

use crate::client::ApiRecord;

/// A record with an id and a name.
pub trait Named {
    const NOUN: &str;
    fn id(&self) -> String;
    fn name(&self) -> &str;

    /// The name with what tells it from the same name elsewhere.
    fn full_name(&self) -> Option<String> {
        None
    }
    /// Ids and words that describe the record, set apart by blanks.
    fn about(&self) -> String;
}

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
