//! The addresses of signing keys.

use aide::axum::ApiRouter;
use aide::axum::routing::{delete_with, get_with, post_with};

use super::op;
use crate::api::signing_keys;
use crate::http::App;

#[rustfmt::skip]
pub fn signing_keys() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/signing-keys",
            get_with(signing_keys::list, op("listSigningKeys", "List the signing keys that applications embed",
                "Lists the public keys of this mode of the tenant, oldest first: the active key, \
                 the standby key, and keys that were retired within 401 days. Available to every \
                 role.")))
        .api_route("/api/v1/admin/signing-keys",
            post_with(signing_keys::create, op("createSigningKeys", "Create the signing keys",
                "Creates the active key, which signs leases, and the standby key. If there are \
                 signing keys already: 409.")))
        .api_route("/api/v1/admin/signing-keys/rotate",
            post_with(signing_keys::rotate, op("rotateSigningKeys", "Make the standby key active",
                "Retires the active key, makes the standby key active, and creates another \
                 standby key. Applications that were built before the new active key's \
                 `createdAt` then refuse all new leases. If `standby` is no longer the id of the \
                 standby key, for example after another rotation: 409. `abandon` replaces both \
                 keys, which is possible only if no node of the service can open the standby key.")))
        .api_route("/api/v1/admin/signing-keys/{id}",
            delete_with(signing_keys::delete, op("deleteSigningKey", "Delete a retired signing key",
                "Removes the key from the set that applications embed, and returns it as it was. \
                 A key that is not retired cannot be deleted: 409.")))
}
