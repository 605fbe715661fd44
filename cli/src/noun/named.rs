//! Records that an argument can name, by id or by name.

use common::{Name, Plan, Product, Timestamp, User};

use crate::client::{ApiRecord, Key, License, LicenseWithSeats};

/// A record with an id and a name.
pub trait Named {
    const NOUN: &str;
    fn id(&self) -> String;

    /// The noun at the beginning of a sentence.
    fn capitalized() -> String {
        Self::NOUN[..1].to_uppercase() + &Self::NOUN[1..]
    }

    /// Empty for records without one.
    fn name(&self) -> &str {
        ""
    }

    /// The name, qualified where several records can share it.
    fn full_name(&self) -> Option<String> {
        None
    }
    /// Ids and words that describe the record, separated by spaces.
    fn about(&self) -> String {
        String::new()
    }

    /// The label in a list of records that match the same argument.
    fn label(&self) -> String {
        let name = self.full_name().unwrap_or_else(|| self.name().to_owned());
        format!("{} {name}", self.id()).trim_end().to_owned()
    }

    /// Whether an argument names the record in another way than by name or id.
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
}

/// Users are named only by their external ids.
impl Named for ApiRecord<User> {
    const NOUN: &str = "user";
    fn id(&self) -> String {
        self.external_id.to_string()
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
        let revoked = if self.revoked_at.is_some() { " revoked" } else { "" };
        format!("{} {}{revoked}", self.role, self.mode)
    }
    /// During an overlap, the old and the new key differ only in these.
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

/// A license as it is after a write.
impl Named for ApiRecord<License> {
    const NOUN: &str = "license";
    fn id(&self) -> String {
        self.id.to_string()
    }
}

impl Named for ApiRecord<LicenseWithSeats> {
    const NOUN: &str = "license";
    fn id(&self) -> String {
        self.id.to_string()
    }
    /// Many licenses have no name; an empty name matches no argument.
    fn name(&self) -> &str {
        self.name.as_ref().map_or("", Name::as_str)
    }
    fn about(&self) -> String {
        format!("{} {}", self.plan_id, self.status)
    }
}
