//! Rewords the type errors of the JSON and YAML parsers, which speak of sequences, maps and integer
//! types.

/// `maxSeats: must be a whole number from 1 to 1000000, found an array at line 6 column 19`
pub fn in_plain_words(error: &str) -> String {
    let kinds = ["invalid type: ", "invalid value: "];
    let parts = kinds.into_iter().find_map(|kind| error.split_once(kind));
    let Some((field, found, wanted)) = parts.and_then(|(field, rest)| {
        let (found, wanted) = rest.rsplit_once(", expected ")?;
        Some((field, found, wanted))
    }) else {
        return error.to_owned();
    };
    let (wanted, place) = wanted.split_at(wanted.find(" at line ").unwrap_or(wanted.len()));
    let wanted = plain(wanted);
    match plain(found) {
        // An array of the wrong length or with duplicates.
        "an array" if wanted.starts_with("an array") => format!("{field}must be {wanted}{place}"),
        found => format!("{field}must be {wanted}, found {found}{place}"),
    }
}

fn plain(kind: &str) -> &str {
    match kind {
        "sequence" | "a sequence" => "an array",
        "map" | "a map" => "an object",
        "unit" | "unit value" => "nothing",
        "u32" => "a whole number",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wanted_kind_comes_first() {
        for (error, words) in [
            (
                "a[0].b: invalid type: sequence, expected a string at line 3 column 11",
                "a[0].b: must be a string, found an array at line 3 column 11",
            ),
            ("invalid type: sequence, expected a map", "must be an object, found an array"),
            (
                "x: invalid type: string \"a, expected b\", expected u32 at line 1 column 2",
                "x: must be a whole number, found string \"a, expected b\" at line 1 column 2",
            ),
            (
                "f: invalid value: sequence, expected an array of at most 3 strings",
                "f: must be an array of at most 3 strings",
            ),
            ("missing field `name` at line 5", "missing field `name` at line 5"),
        ] {
            assert_eq!(in_plain_words(error), words);
        }
    }
}
