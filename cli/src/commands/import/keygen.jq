# Keygen: pages of JSON:API, as docs/moving.md fetches them. A license becomes a row for each of its
# users and one for each of its machines.
def by_id($type): reduce (.[].content.data[]? | select(.type == $type)) as $it ({}; .[$it.id] = $it);
# Pages of records that belong to a parent name it only in their own address.
def under($parents; $type):
  reduce (.[].content | select((.links.self? // "") | test("/\($parents)/[^/?]+/\($type)"))) as $page
    ({}; ($page.links.self | capture("/\($parents)/(?<id>[^/?]+)/").id) as $id | .[$id] += $page.data);
def codes: map(.attributes.code);
def person: { user: .id, email: .attributes.email, name: .attributes.fullName };
. as $files
| by_id("products") as $products | by_id("policies") as $policies | by_id("users") as $users
| under("licenses"; "users") as $members
| under("licenses"; "entitlements") as $own | under("policies"; "entitlements") as $inherited
| (reduce ($files[].content.data[]? | select(.type == "machines")) as $it
    ({}; .[$it.relationships.license.data.id] += [$it])) as $machines
| $files[].content.data[]? | select(.type == "licenses") | . as $license
| .attributes as $it
| $policies[.relationships.policy.data.id] as $policy
| ($policy.attributes.encrypted == true) as $isEncrypted
| {
    product: $products[.relationships.product.data.id].attributes.name,
    plan: $policy.attributes.name,
    seats: (if $policy.attributes.floating == false then 1 else ($it.maxUsers // $it.maxMachines) end),
    days: (if $policy.attributes.duration then ($policy.attributes.duration / 86400 | ceil) else null end),
    expiresFrom: (if (($policy.attributes.expirationBasis // "") | startswith("FROM_FIRST_"))
      then "firstValidation" else null end),
    expires: $it.expiry,
    features: ((($inherited[$policy.id] // []) + ($own[.id] // [])) | codes | unique),
    status: (if $it.status == "BANNED" then "suspended"
      elif $it.suspended or $it.status == "SUSPENDED" then "suspended" else "active" end),
    key: (if $isEncrypted then null else $it.key end),
    lastChecked: $it.lastValidated,
    sourceId: .id,
    notes: [
      (if $isEncrypted then "the key is encrypted, so the export does not have it" else empty end),
      (if ($it.uses // 0) > 0 then "the number of uses" else empty end)
    ]
  } as $row
| (
    ([$users[.relationships.owner.data.id // ""]] + ($members[.id] // []) | map(select(.)) | unique_by(.id)
      | map($row + person)),
    (($machines[.id] // []) | map($row + {
        machine: .attributes.fingerprint, lastChecked: (.attributes.lastHeartbeat // $it.lastValidated)
      }))
  ) as $rows
# A license without users is a license too.
| $row, $rows[]
