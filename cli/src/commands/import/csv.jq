# Rows of a CSV file whose columns are named like the members of a row, in any spelling of case.
def text: if . == null or . == "" then null else tostring end;
def number: text | if . == null or ascii_downcase == "unlimited" then null else tonumber end;
.[].content[]
| with_entries(.key |= (ascii_downcase | explode | map(select(. >= 97 and . <= 122)) | implode))
| {
    product: (.product | text),
    plan: (.plan | text),
    seats: (.seats | number),
    days: (.days | number),
    expiresFrom: (.expiresfrom | text),
    expires: (.expires | text),
    features: ((.features // "") | tostring | split(",") | map(ltrimstr(" ")) | map(select(. != ""))),
    status: (.status | text),
    user: (.user | text),
    email: (.email | text),
    name: (.name | text),
    key: (.key | text),
    machine: (.machine | text),
    graceDays: (.gracedays | number),
    lastChecked: (.lastchecked | text),
    sourceId: (.sourceid | text)
  }
