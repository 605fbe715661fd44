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
                 plan. `expiresInDays` overrides the plan's. The license belongs to nobody until \
                 it is assigned."))
            .get_with(licenses::list, op("listLicenses", "List licenses",
                "Lists the tenant's licenses in this mode with their seats, oldest first. Filters \
                 narrow the list down together. Without `limit` all of them are streamed; with \
                 `limit` they come in pages.")))
        .api_route("/api/v1/admin/licenses/{id}",
            get_with(licenses::get, op("getLicense", "Get a license",
                "Gets the license with this id, with its name, metadata and seats."))
            .patch_with(licenses::update,
                op("updateLicense", "Update a license's terms, name or metadata",
                "Changes the members that are given and leaves the others. Members named in \
                 `clear` become null: no seat limit, no expiry, no name. Seats that are held are \
                 never taken away."))
            .delete_with(licenses::delete,
                op("deleteLicense", "Delete a license that was never assigned",
                "Deletes the license and returns it as it was. A license that is assigned, or was \
                 according to the events that are kept, stays: 409. So does one that a user could \
                 still claim with a key, unless `keys=revoke` revokes its keys.")))
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
                 Assigning again keeps the assignment, and replaces its metadata if any is given. \
                 A user has at most 100 licenses."))
            .delete_with(licenses::unassign_by_query,
                op("unassignLicenseByQuery", "Unassign a license from a user named in the query",
                "Removes the license from the user and frees the seat, if one was held. For users \
                 whose identifiers cannot be part of a path, such as `..`.")))
        .api_route("/api/v1/admin/licenses/{id}/assign/{userId}",
            delete_with(licenses::unassign,
                op("unassignLicense", "Unassign a license from a user",
                "Removes the license from the user and frees the seat, if one was held. Returns \
                 the assignment as it was.")))
        .api_route("/api/v1/admin/licenses/{id}/release",
            post_with(licenses::release, op("releaseSeat", "Free a user's seat, and keep the assignment",
                "Frees the seat that the user holds on the license, if one is held; `released` is \
                 empty otherwise. The user may take a seat again with the next validation.")))
        .api_route("/api/v1/admin/licenses/{id}/transfer",
            post_with(licenses::transfer, op("transferLicense", "Hand a license to another user, with the seat",
                "Takes the license from one user and gives it to another, who is created if \
                 unknown. A seat that the first one holds goes over in the same step, so nobody \
                 else gets it in between. Metadata of the assignment goes along. Returns the \
                 assignment of the other user. If that user holds a seat on the license already: \
                 409.")))
        .api_route("/api/v1/admin/licenses/{id}/assignments",
            get_with(licenses::assignments,
                op("listAssignments", "List the users to whom a license is assigned",
                "Lists the users to whom the license is assigned, in the order of assignment, \
                 each with the seat that the user holds, if any. Without `limit` all of them are \
                 streamed; with `limit` they come in pages.")))
        .api_route("/api/v1/admin/licenses/{id}/usage",
            get_with(usage::get, op("getLicenseUsage", "List the seats of a license",
                "Lists the seats that are held, oldest first, and counts them. Without `limit` all \
                 of them are streamed; with `limit` they come in pages, and the totals still count \
                 all of them.")))
}

#[rustfmt::skip]
pub fn license_keys() -> ApiRouter<App> {
    ApiRouter::new()
        .api_route("/api/v1/admin/licenses/{id}/keys",
            post_with(license_keys::create,
                op("createLicenseKey", "Give a license a key, which is shown once",
                "Makes a license key, or takes one that users have already, and shows it, only \
                 this once. The same key for the same license again is a 200. Repeating the \
                 request with the same `Idempotency-Key` returns 409, as the key itself is not \
                 stored."))
            .get_with(license_keys::of_license,
                op("listLicenseKeys", "List the keys of a license",
                "Lists the keys of the license with their uses, oldest first, but never the keys \
                 themselves. Without `limit` all of them are streamed; with `limit` they come in \
                 pages.")))
        .api_route("/api/v1/admin/license-keys",
            get_with(license_keys::search,
                op("searchLicenseKeys", "Find license keys by their last characters",
                "Lists the license keys that end like this, oldest first, of whichever license. A key whose `suffix` is \
                 null is not found.")))
        .api_route("/api/v1/admin/license-keys/find",
            post_with(license_keys::find, refusing(&[Refusal::LicenseKeyNotFound],
                op("findLicenseKey", "Find a license key by the whole key",
                "Gets the record of the key that a customer sent. It is a POST, because no address \
                 and no log may hold a key. Wrong keys are limited as for a claim."))))
        .api_route("/api/v1/admin/license-keys/{id}/reissue",
            post_with(license_keys::reissue,
                op("reissueLicenseKey", "Replace a license key with a new text, shown once",
                "Gives the key another text and shows it, only this once: for a key that was lost \
                 or leaked. Nobody can claim with the former text. Limit, expiry and who has \
                 claimed stay. Repeating the request with the same `Idempotency-Key` returns 409, \
                 as the key itself is not stored.")))
        .api_route("/api/v1/admin/license-keys/{id}/revoke",
            post_with(license_keys::revoke,
                op("revokeLicenseKey", "Revoke a license key",
                "Nobody can claim with the key from now on. Who has claimed keeps the license.")))
}
