//! Profiles: named servers with the keys for them, and where both are kept.

mod config;
mod keystore;
mod server_address;
mod system_keyring;

pub use config::{
    Config, ConfigEdit, DEFAULT_PROFILE, Folder, KeyPlace, LockedFolder, Profile, address,
    profile_name,
};
pub use keystore::{
    CREDENTIALS_FILE, describe, forget, forget_replaced, load, origin, others_can_read, store,
};
pub use server_address::{
    DEFAULT_SERVER, avoids_proxies, is_loopback, parse_server, proxy_on_the_way,
};
