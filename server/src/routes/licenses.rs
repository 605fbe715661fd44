//! The addresses of licenses, and of the license keys with which users claim them.

use aide::axum::ApiRouter;
use aide::axum::routing::{delete_with, get_with, patch_with, post_with};

use super::{op, refusing};
use crate::api::{license_keys, licenses, usage};
use crate::http::App;
use crate::http::openapi::Refusal;

#[rustfmt::skip]
pub fn licenses() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/licenses",
            post_with(licenses::create, op("createLicense", "Create a license from a plan",
                "Creates an active license with the seats, the expiry and the features of the \
                 plan. `expiresInDays` overrides the plan's. The license has no users until it is \
                 assigned or claimed. `assignTo` does this in the same request, and `unlessHeld` \
                 keeps a user from getting a second license of the plan."))
            .get_with(licenses::list, op("listLicenses", "List licenses",
                "Lists the tenant's licenses in this mode with their seats, oldest first. A \
                 license must match all filters.")))
        .api_route("/api/v1/admin/licenses/totals",
            get_with(licenses::totals, op("getLicenseTotals", "Add up licenses",
                "Counts the licenses that match all filters, with their seats sold and held. It \
                 counts up to 10,000.")))
        .api_route("/api/v1/admin/licenses/{id}",
            get_with(licenses::get, op("getLicense", "Get a license",
                "Gets the license with this id, with its name, metadata and seats."))
            .patch_with(licenses::update,
                op("updateLicense", "Update a license's terms, name or metadata",
                "Changes the given members. Members named in `clear` become null: no seat limit, \
                 no expiry, no name. All others stay. Held seats are never freed."))
            .delete_with(licenses::delete,
                op("deleteLicense", "Delete a license that was never assigned",
                "Deletes the license and returns it as it was. A license that is assigned, or was \
                 according to the stored events, cannot be deleted: 409. Neither can a license \
                 that a user could still claim with a key, unless `keys=revoke` revokes its keys.")))
        .api_route("/api/v1/admin/licenses/{id}/renew",
            post_with(licenses::renew, op("renewLicense", "Renew a license for another term",
                "Moves the end by the term of the plan or the given one, and activates an expired \
                 license. A license that is suspended or revoked, has no end, or would still have \
                 ended: 409.")))
        .api_route("/api/v1/admin/licenses/{id}/status",
            patch_with(licenses::set_status, op("setLicenseStatus", "Set a license's status",
                "Sets the status to any of the four. Only an active license validates. Seats \
                 remain held.")))
        .merge(assignments())
}

#[rustfmt::skip]
fn assignments() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/licenses/{id}/assign",
            post_with(licenses::assign, op("assignLicense", "Assign a license to a user",
                "Assigns the license to a user, who is created if unknown. It takes no seat. \
                 Assigning again keeps the assignment, and replaces its metadata if given. A user \
                 can have at most 100 licenses."))
            .delete_with(licenses::unassign_by_query,
                op("unassignLicenseByQuery", "Unassign a license from a user named in the query",
                "Unassigns the license from the user and frees the seat, if one is held. For \
                 users whose identifiers cannot be part of a path, such as `..`.")))
        .api_route("/api/v1/admin/licenses/{id}/assign/{userId}",
            delete_with(licenses::unassign,
                op("unassignLicense", "Unassign a license from a user",
                "Unassigns the license from the user and frees the seat, if one is held. Returns \
                 the assignment as it was.")))
        .api_route("/api/v1/admin/licenses/{id}/release",
            post_with(licenses::release, op("releaseSeat", "Free a user's seat, and keep the assignment",
                "Frees the seat that the user holds on the license. If the user holds none, \
                 `released` is empty. The user may take a seat again with the next validation.")))
        .api_route("/api/v1/admin/licenses/{id}/transfer",
            post_with(licenses::transfer, op("transferLicense", "Transfer a license to another user, with the seat",
                "Moves the license from one user to another, who is created if unknown. The seat \
                 moves in the same step, so no other user can take it in between. The metadata of \
                 the assignment moves too. Returns the assignment of the new user. If that user \
                 already holds a seat on the license: 409.")))
        .api_route("/api/v1/admin/licenses/{id}/assignments",
            get_with(licenses::assignments,
                op("listAssignments", "List the users to whom a license is assigned",
                "Lists the users to whom the license is assigned, in the order of assignment, \
                 each with the seat that the user holds, if any.")))
        .api_route("/api/v1/admin/licenses/{id}/usage",
            get_with(usage::get, op("getLicenseUsage", "List the seats of a license",
                "Lists the held seats, oldest first, and counts them. Without `limit`, all of \
                 them are streamed. With `limit`, they come in pages, and the totals still count \
                 all of them.")))
}

#[rustfmt::skip]
pub fn license_keys() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/licenses/{id}/keys",
            post_with(license_keys::create,
                op("createLicenseKey", "Add a key to a license, which is shown once",
                "Generates a license key, or adds one that users have already. Only this response \
                 shows it. Adding the same key to the same license again returns 200. Repeating \
                 the request with the same `Idempotency-Key` returns 409, because the key itself \
                 is not stored."))
            .get_with(license_keys::of_license,
                op("listLicenseKeys", "List the keys of a license",
                "Lists the keys of the license with their uses, oldest first, but never the keys \
                 themselves.")))
        .api_route("/api/v1/admin/license-keys",
            get_with(license_keys::search,
                op("searchLicenseKeys", "Find license keys by their last characters",
                "Lists the license keys of all licenses that have this ending, oldest first. A \
                 key whose `suffix` is null is not found.")))
        .api_route("/api/v1/admin/license-keys/find",
            post_with(license_keys::find, refusing(&[Refusal::LicenseKeyNotFound],
                op("findLicenseKey", "Find a license key by the whole key",
                "Gets the record of the key that a customer sent. It is a POST, so that the key \
                 does not get into URLs and logs. Wrong keys are limited as for a claim."))))
        .api_route("/api/v1/admin/license-keys/{id}/reissue",
            post_with(license_keys::reissue,
                op("reissueLicenseKey", "Replace a license key with a new text, shown once",
                "Replaces the text of a key that was lost or has leaked. Only this response shows \
                 the new text. Users can no longer claim with the old text. Limit, expiry and \
                 past claims stay. Repeating the request with the same `Idempotency-Key` returns \
                 409, because the key itself is not stored.")))
        .api_route("/api/v1/admin/license-keys/{id}/revoke",
            post_with(license_keys::revoke,
                op("revokeLicenseKey", "Revoke a license key",
                "Revokes the key, so that users can no longer claim with it. Users who have \
                 claimed keep the license.")))
}
