# Lemon Squeezy: pages of license-keys, license-key-instances and products. A key becomes a row for its
# buyer and one for each instance.
def by_id($type): reduce (.[].content.data[]? | select(.type == $type)) as $it ({}; .[$it.id] = $it);
def plan: if . == null then "No limit" elif . == 1 then "1 activation" else "\(.) activations" end;
. as $files
| by_id("products") as $products
| (reduce ($files[].content.data[]? | select(.type == "license-key-instances")) as $it
    ({}; .[$it.attributes.license_key_id | tostring] += [$it.attributes])) as $instances
| $files[].content.data[]? | select(.type == "license-keys") | .id as $id
| .attributes as $it
| $products[$it.product_id | tostring].attributes as $product
| {
    product: ($product.name // "Product \($it.product_id)"),
    plan: ($it.activation_limit | plan),
    seats: $it.activation_limit,
    expires: $it.expires_at,
    status: (if $it.disabled == true or $it.disabled == 1 then "suspended" else "active" end),
    key: $it.key,
    sourceId: $id,
    testMode: ($product.test_mode == true)
  } as $row
| ($row + { user: ($it.customer_id | tostring), email: $it.user_email, name: $it.user_name }),
  (($instances[$id] // [])[] | $row + { machine: .identifier, notes: ["the name of an instance"] })
