# Gumroad: the CSV of all sales. Each sale with a license key is a license.
def text: if . == null or . == "" then null else tostring | ltrimstr("'") end;
def flag: . == "1" or ((. // "") | tostring | ascii_downcase) == "true";
.[].content[]
| select((."Purchase ID" | text) != null and ."Purchase ID" != "Totals")
# The later payments of a subscription belong to the license of the first.
| select((."Recurring Charge?" | flag) | not)
| (."License Key" | text) as $key
| {
    product: (."Item Name" | text),
    plan: (."Variants" | text // "Standard"),
    seats: ((."Quantity" | text // "1") | tonumber),
    expires: (."Subscription End Date" | text
      | if . == null then null elif test("T") then . else .[0:10] + "T23:59:59Z" end),
    status: (if ((."License Key Enabled?" | text) != null and (."License Key Enabled?" | flag | not))
      or (."Access Revoked?" | flag) or (."Fully Refunded?" | flag)
      or ((."Disputed?" | flag) and (."Dispute Won?" | flag | not)) then "suspended" else "active" end),
    user: (."Purchase ID" | text),
    email: ((."Giftee Email" | text) // (."Purchase Email" | text)),
    name: (."Buyer Name" | text),
    key: $key,
    sourceId: (."Purchase ID" | text),
    notes: [if $key == null then "a sale without a license key" else empty end]
  }
