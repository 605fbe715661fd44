//! Parts that nouns share: finding a record by its name or id, listing, and flags that describe one.

mod completion_cache;
mod leases;
mod lists;
mod metadata;
mod named;
mod people;
mod printer;
mod resolve;
mod same_name;
mod search;
mod shown;
mod terms;
mod values;
mod whole;

pub use completion_cache::{CachedName, load, remember};
pub use leases::LeaseFlags;
pub use lists::{ListFlags, print_or_collect};
pub use metadata::{MetadataChange, MetadataFlags, metadata_cell};
pub use named::Named;
pub use people::{
    did_you_mean, given_user, label, similar_users, spelled, suspicious_characters, visible,
};
pub use printer::Printer;
pub use resolve::{
    NameIndex, PlanOfProduct, find_user, key, keys_named, license, no_user, past_user, plan, plans,
    plans_by_product, present_user, user,
};
pub use same_name::{SameNameFlags, refuse_taken_name};
pub use search::{Purpose, all, named};
pub use shown::{
    Card, Cells, Shown, card, choose, columns, list, one, record_choice, several, table, written,
};
pub(crate) use terms::plan_term_fields;
pub use terms::{
    LICENSE_TERM_FIELDS, TermFlags, days_in_words, grace_in_words, idle_in_words, lease_in_words,
    term_changes, term_rows,
};
pub use values::{
    Edit, IdempotencyKey, changed_features, cleared, external_id, features, is_empty,
};
pub use whole::{chosen, delete, get, given_or_chosen, list_all};
