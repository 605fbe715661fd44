# Cryptlex: the arrays of licenses, users, products and activations of its API.
def by_id(f): reduce (.[].content | if type == "array" then .[] else empty end | select(f)) as $it ({}; .[$it.id] = $it);
def limit: if . == null or . <= 0 then null else . end;
by_id(has("displayName") and (has("key") | not)) as $products
| by_id(has("email") and (has("key") | not)) as $users
| (reduce (.[].content | if type == "array" then .[] else empty end | select(has("licenseId"))) as $it
    ({}; .[$it.licenseId] += [$it])) as $activations
| .[].content | if type == "array" then .[] else empty end
| select(has("key") and has("allowedActivations"))
| (.user // $users[.userId // ""]) as $user
| {
    product: ($products[.productId] | .displayName // .name // "Product"),
    plan: (.licenseTemplate.name // .type // "Standard"),
    seats: (.allowedActivations | limit),
    expires: .expiresAt,
    status: (if .revoked then "revoked" elif .suspended then "suspended" else "active" end),
    key: .key,
    sourceId: .id,
    notes: [
      (if ((.metadata // []) | length) > 0 then "metadata of licenses" else empty end),
      (if (.leaseDuration // 0) > 0 then "the duration of a lease: set --max-lease on the plan" else empty end)
    ]
  } as $row
| ($row + if $user then {
    user: $user.id, email: $user.email,
    name: ([$user.firstName, $user.lastName] | map(select(. != null and . != "")) | join(" ")
      | if . == "" then null else . end)
  } else {} end),
  (($activations[.id] // [])[] | $row + { machine: .fingerprint, lastChecked: .lastSyncedAt })
