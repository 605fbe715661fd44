//! What each operation does, in a few sentences for the OpenAPI document. The rules that apply to
//! many operations are in docs/api.md.

/// The groups of operations, in the order in which a reference shows them.
pub const TAGS: [(&str, &str); 10] = [
    ("Validation", "Whether a user is licensed, and why."),
    ("Products", "What the vendor sells."),
    ("Plans", "The terms of the licenses that are created from them."),
    ("Licenses", "Licenses, their assignments to users, and the seats that users hold."),
    ("Users", "The users of the vendor's application."),
    ("Keys", "The API keys of the tenant."),
    ("Events", "The changes of records, in the order of commit."),
    ("Refusals", "The users whose validations were refused."),
    ("Statistics", "How many validations had which outcome."),
    ("Health", "The state of a node. No key is needed, and no rate counts."),
];

/// The description of the operation with this id.
pub fn of(id: &str) -> &'static str {
    let found = OPERATIONS.iter().find(|(known, _)| *known == id);
    found.map(|(_, text)| *text).unwrap_or_default()
}

const OPERATIONS: [(&str, &str); 35] = [
    (
        "validate",
        "Answers whether the user is licensed. Of the licenses assigned to the user, in the \
         order of assignment, the first that is active and not expired is selected, and it \
         alone decides. The first validation that selects it takes a seat; later ones keep it. \
         An unknown user is created, without licenses. `valid: false` is an answer, not an \
         error. May be repeated after a lost answer.",
    ),
    (
        "explain",
        "Answers what a validation would, with every license of the user in order, its verdict \
         and its seats, and the user's last ten refusals. It has no effect: no user is created \
         and no seat is taken.",
    ),
    ("createProduct", "Creates a product. Two products may have the same name."),
    (
        "listProducts",
        "Lists the tenant's products in this mode, oldest first. Without `limit` all of them \
         are streamed; with `limit` they come in pages, and `nextCursor` is the `after` of the \
         next one.",
    ),
    ("getProduct", "Gets the product with this id."),
    (
        "updateProduct",
        "Changes the members that are given and leaves the others. Members named in `clear` \
         become null.",
    ),
    (
        "createPlan",
        "Creates a plan of an existing product. Without `maxSeats` its licenses have no limit \
         of seats, and without `expiresInDays` no expiry.",
    ),
    (
        "listPlans",
        "Lists the tenant's plans in this mode, oldest first, all or those of one product. \
         Without `limit` all of them are streamed; with `limit` they come in pages.",
    ),
    ("getPlan", "Gets the plan with this id."),
    (
        "updatePlan",
        "Changes the members that are given and leaves the others. Members named in `clear` \
         become null. Licenses that were created from the plan stay as they are.",
    ),
    (
        "createLicense",
        "Creates an active license with the seats, the expiry and the features of the plan. \
         `expiresInDays` overrides that of the plan. The license belongs to nobody until it is \
         assigned.",
    ),
    (
        "listLicenses",
        "Lists the tenant's licenses in this mode with their seats, oldest first. Filters \
         narrow the list down together. Without `limit` all of them are streamed; with `limit` \
         they come in pages.",
    ),
    ("getLicense", "Gets the license with this id, with its name, metadata and seats."),
    (
        "updateLicense",
        "Changes the members that are given and leaves the others. Members named in `clear` \
         become null: no limit of seats, no expiry, no name. No seat that is held is taken away.",
    ),
    (
        "setLicenseStatus",
        "Sets the status to any of the four. Only an active license validates. The seats stay \
         held.",
    ),
    (
        "assignLicense",
        "Assigns the license to a user, who is created if unknown. It takes no seat. Assigned \
         again, the assignment stays the same, and metadata that is given replaces the former. \
         A user has at most 100 licenses.",
    ),
    (
        "unassignLicenseByQuery",
        "Takes the user off the license and frees the seat, if one was held. For users whose \
         identifiers cannot stand in a path, such as `..`.",
    ),
    (
        "unassignLicense",
        "Takes the user off the license and frees the seat, if one was held. Answers the \
         assignment as it was.",
    ),
    (
        "listAssignments",
        "Lists the users to whom the license is assigned, in the order of assignment, each with \
         the seat that the user holds, if any. Without `limit` all of them are streamed; with \
         `limit` they come in pages.",
    ),
    (
        "getLicenseUsage",
        "Lists the seats that are held, all as of one moment, oldest first. With `limit` they \
         come in pages, and the totals stay whole.",
    ),
    (
        "createUser",
        "Creates the user with this `externalId`, or updates the one who exists: members that \
         are given replace the former, others stay. Validations and assignments create unknown \
         users too.",
    ),
    (
        "listUsers",
        "Lists the tenant's users in this mode, oldest first. Without `limit` all of them are \
         streamed; with `limit` they come in pages.",
    ),
    ("getUser", "Gets the user with this internal id."),
    (
        "updateUser",
        "Changes the members that are given and leaves the others. Members named in `clear` \
         become null. The `externalId` never changes.",
    ),
    (
        "deleteUser",
        "Takes the user off all licenses, frees the seats and deletes the user. Answers the \
         user as it was.",
    ),
    (
        "getCurrentKey",
        "Gets the key that this request carries, with its role, its mode and its tenant. Keys \
         of every role may ask.",
    ),
    (
        "createKey",
        "Creates a key and shows it, this once. A live key may also create test keys. Sent \
         again with the same `Idempotency-Key` it is a 409, as the key is not kept.",
    ),
    (
        "listKeys",
        "Lists the tenant's keys, oldest first, revoked and expired ones too, never the keys \
         themselves. A live key also sees test keys.",
    ),
    (
        "rollKey",
        "Creates a key of the same name, role, mode and expiry, and shows it, this once. The old \
         key is valid until `overlapSeconds` have passed, unless it expires sooner, so that \
         applications can be given the new one. With 0 it is revoked at once. Sent again with \
         the same `Idempotency-Key` it is a 409, as the key is not kept.",
    ),
    (
        "revokeKey",
        "Revokes the key at once and for good. The last valid live admin key of a tenant \
         cannot be revoked.",
    ),
    (
        "listEvents",
        "Lists the changes in this mode of the tenant after the sequence `after`, without gaps \
         and in the order of commit. A reader who stores the last sequence misses nothing and \
         sees nothing twice.",
    ),
    (
        "listRefusals",
        "Lists the refused validations of the last 30 days by user, reason and hour, newest \
         first, in pages of 100 without `limit`. They are counted some seconds late.",
    ),
    (
        "getStatistics",
        "Counts the validations of each hour by their outcome, for at most 31 days. Without \
         `to` the current hour is the last; without `from` there are 24 hours.",
    ),
    ("getHealth", "Answers as long as the process is up. It does not look at the database."),
    (
        "getReadiness",
        "Answers 200 while this node can validate users who hold their seats, and 503 while it \
         cannot. With `for=writes` it is 503 as well while nothing can be written.",
    ),
];
