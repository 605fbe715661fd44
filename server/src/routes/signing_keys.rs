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
                "Lists the public keys of this mode of the tenant, oldest first: the one that signs, \
                 the one on standby, and those that were retired within 401 days. Available to every \
                 role.")))
        .api_route("/api/v1/admin/signing-keys",
            post_with(signing_keys::create, op("createSigningKeys", "Create the signing keys",
                "Creates the key that signs leases and the one on standby. Where there are signing \
                 keys already: 409.")))
        .api_route("/api/v1/admin/signing-keys/rotate",
            post_with(signing_keys::rotate, op("rotateSigningKeys", "Let the key on standby sign",
                "Retires the key that signs, lets the one on standby sign, and creates another one \
                 for standby. Applications that were built before the new active key's `createdAt` \
                 refuse every lease from then on. If `standby` is not the id of the key on standby \
                 any more, as after a rotation by somebody else: 409. `abandon` creates both anew, \
                 and only where no node of the service can open the key on standby any more.")))
        .api_route("/api/v1/admin/signing-keys/{id}",
            delete_with(signing_keys::delete, op("deleteSigningKey", "Delete a retired signing key",
                "Takes the key out of the set that applications embed, and returns it as it was. One \
                 that is not retired stays: 409.")))
}
