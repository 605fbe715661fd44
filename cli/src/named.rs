//! Records that an argument can name, by id or by name.

use common::{Key, LicenseWithSeats, Name, Plan, Product, Timestamp};

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

    /// What tells the record from others that match the same argument.
    fn label(&self) -> String {
        let name = self.full_name().unwrap_or_else(|| self.name().to_owned());
        format!("{} {name}", self.id()).trim_end().to_owned()
    }

    /// What an argument of this kind can also be, next to a name and an id.
    fn is_also(&self, _given: &str) -> bool {
        false
    }
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
    /// The keys of an overlap differ in these alone.
    fn label(&self) -> String {
        let ends = match (self.revoked_at, self.expires_at) {
            (Some(end), _) => format!("revoked {}", minute(end)),
            (None, Some(end)) => format!("expires {}", minute(end)),
            (None, None) => "expires never".to_owned(),
        };
        let (id, name, made) = (self.id, &self.name, minute(self.created_at));
        format!("{id} {name} ({}…, created {made}, {ends})", self.prefix)
    }
    fn is_also(&self, given: &str) -> bool {
        self.prefix == given
    }
}

/// The time without seconds, as in `2027-01-31T12:00Z`.
fn minute(time: Timestamp) -> String {
    let text = time.to_string();
    format!("{}Z", text.get(.."2027-01-31T12:00".len()).unwrap_or(&text))
}

impl Named for ApiRecord<LicenseWithSeats> {
    const NOUN: &str = "license";
    fn id(&self) -> String {
        self.id.to_string()
    }
    /// Many licenses have no name; the empty one matches no argument.
    fn name(&self) -> &str {
        self.name.as_ref().map_or("", Name::as_str)
    }
    fn about(&self) -> String {
        format!("{} {}", self.plan_id, self.status)
    }
}
