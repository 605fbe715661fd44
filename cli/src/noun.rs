//! What nouns share: how a record is found by its name or id, listed, and described by flags.

mod completion_cache;
mod elsewhere;
mod lists;
mod metadata;
mod named;
mod people;
mod resolve;
mod search;
mod values;

pub use completion_cache::{CachedName, load, remember, remember_users};
pub use elsewhere::{FoundElsewhere, other_profiles_with};
pub use lists::{ListFlags, ListSpec, print_or_collect};
pub use metadata::{MetadataChange, MetadataFlags};
pub use named::Named;
pub use people::{did_you_mean, label, oddity, similar_users, spelled, visible};
pub use resolve::{
    NameIndex, PlanOfProduct, find_user, key, keys_named, license, name_taken, no_user, past_user,
    plan, plans, plans_by_product, product, products, refuse_taken_name, user, users_by_id,
};
pub use search::Purpose;
pub use values::{Edit, IdempotencyKey, changed_features, cleared, features, is_empty};
