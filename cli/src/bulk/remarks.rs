//! Remarks about a usable file of rows: columns that were left out, values that were trimmed, and
//! ids that a spreadsheet may have changed.

use std::collections::HashMap;

use common::Line;
use unicode_normalization::is_nfc;

use super::source::{ColumnMapping, METADATA, USER_TITLES, UserFile, UserRow};
use crate::noun::spelled;
use crate::output::normalized;

/// The columns besides the user's that are read, as [`normalized`] writes them, and those that
/// lists of the service have besides.
const FIELDS: [&str; 3] = ["email", "name", "metadata"];
const OF_SERVICE: [&str; 4] = ["id", "tenantid", "createdat", "updatedat"];

/// Maximum edit distance between a column and a known one that is suggested for it.
const SIMILAR: usize = 2;
/// Maximum number of values that a remark names.
const MOST_NAMED: usize = 3;

type IsOdd = fn(&str) -> bool;

/// Remarks about ids, and which ids they are about.
const ODD_IDS: [(&str, IsOdd); 3] = [
    ("a spreadsheet may have shortened", is_shortened),
    ("a spreadsheet could not show", is_spreadsheet_error),
    ("the accents are characters of their own in", |id| !is_nfc(id)),
];

/// The remarks in a line; empty if there are none.
pub fn of(file: &UserFile, mapping: &[ColumnMapping]) -> String {
    let UserFile { rows, titles, trimmed } = file;
    let mut remarks = Vec::new();
    let is_read = |title: &str| {
        let name = normalized(title);
        known().any(|it| it == name)
            || OF_SERVICE.contains(&&*name)
            || title.starts_with(METADATA)
            || mapping.iter().any(|it| it.column == title)
    };
    let left_out = titles.iter().filter(|title| !title.is_empty() && !is_read(title));
    remarks.extend(named("left out the columns", left_out.map(|title| suggested(title))));
    if *trimmed > 0 {
        remarks.push(format!("trimmed blanks around {trimmed} values"));
    }
    for (what, is_odd) in ODD_IDS {
        let odd = rows.iter().filter(|row| is_odd(row.user.as_str()));
        remarks.extend(named(what, odd.map(|row| format!("{} on line {}", row.user, row.line))));
    }
    let is_no_address = |row: &&UserRow| row.email.as_ref().is_some_and(|it| !is_address(it));
    let odd = rows.iter().filter(is_no_address).map(|row| format!("line {}", row.line));
    remarks.extend(named("the email is not an address on", odd));
    remarks.extend(named("these ids differ only in case or form:", twins(rows).into_iter()));
    remarks.join("; ")
}

/// A remark that names the first of these; none if there are none.
fn named(what: &str, each: impl Iterator<Item = String>) -> Option<String> {
    let all: Vec<String> = each.collect();
    let first = all[..all.len().min(MOST_NAMED)].join(", ");
    match all.len() {
        0 => None,
        count if count > MOST_NAMED => {
            Some(format!("{what} {first} and {} more", count - MOST_NAMED))
        }
        _ => Some(format!("{what} {first}")),
    }
}

fn known() -> impl Iterator<Item = &'static str> {
    USER_TITLES.into_iter().chain(FIELDS)
}

fn suggested(title: &str) -> String {
    let name = normalized(title);
    let near = |known: &&str| {
        strsim::damerau_levenshtein(known, &name) <= SIMILAR
            || FIELDS.contains(known) && name.contains(*known)
    };
    match known().find(near) {
        Some(known) => format!("{title} (did you mean {known}?)"),
        None => title.to_owned(),
    }
}

/// As in `1.2E+05`.
fn is_shortened(id: &str) -> bool {
    let is_number = |text: &str| {
        text.contains(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','))
    };
    id.split_once("E+").is_some_and(|(number, power)| is_number(number) && is_number(power))
}

/// As in `#REF!`, `#NAME?` or `####`.
fn is_spreadsheet_error(id: &str) -> bool {
    let is_name = |name: &str| name.chars().all(|c| c.is_ascii_uppercase() || "/0".contains(c));
    id.strip_prefix('#').is_some_and(|rest| match rest.strip_suffix(['!', '?']) {
        Some(name) => is_name(name),
        None => rest == "N/A" || rest.len() > 1 && rest.chars().all(|c| c == '#'),
    })
}

fn is_address(email: &Line) -> bool {
    let parts = email.as_str().split_once('@');
    parts.is_some_and(|(local, domain)| {
        !local.is_empty() && !domain.is_empty() && !domain.contains('@')
    })
}

/// Ids of which an earlier row has another spelling.
fn twins(rows: &[UserRow]) -> Vec<String> {
    let mut seen: HashMap<String, &UserRow> = HashMap::new();
    let mut twins = Vec::new();
    for row in rows {
        let spelling = spelled(row.user.as_str());
        match seen.get(&spelling) {
            Some(first) => {
                twins.push(format!("{} on line {} and line {}", row.user, first.line, row.line));
            }
            None => drop(seen.insert(spelling, row)),
        }
    }
    twins
}

#[cfg(test)]
mod tests {
    use super::super::source::tests::file;
    use super::*;

    #[test]
    fn what_is_left_out_trimmed_or_odd_is_said_in_a_line() {
        for (text, remark) in [
            ("userId,email,name,metadata.team\nada,a@x.example,Ada,blue\n", ""),
            ("id,externalId,createdAt\nusr_1,ada,2027\n", ""),
            (
                "userId,e-mail,mail,Abteilung\nada,,,\n",
                "left out the columns Abteilung, mail (did you mean email?)",
            ),
            ("userId,a,b,c,d\nada,1,2,3,4\n", "left out the columns a, b, c and 1 more"),
            ("userId\n ada \n\u{200b}bob\n", "trimmed blanks around 2 values"),
            (
                "userId\n1.2E+05\n1E+06\nE+1\n",
                "a spreadsheet may have shortened 1.2E+05 on line 2, 1E+06 on line 3",
            ),
            (
                "userId,E-Mail-Adresse,Full Name\nada,,\n",
                "left out the columns E-Mail-Adresse (did you mean email?), \
                 Full Name (did you mean name?)",
            ),
            (
                "userId\n#REF!\n####\n#1\n",
                "a spreadsheet could not show #REF! on line 2, #### on line 3",
            ),
            (
                "sep=;\nuserId;name\nzoe\u{308};Zoe\n",
                "the accents are characters of their own in zoe\u{308} on line 3",
            ),
            ("userId,email\nada,ada at x\n", "the email is not an address on line 2"),
            ("userId,email\nada,ada@x@y.example\n", "the email is not an address on line 2"),
            (
                "userId\nZo\u{eb}\nzoe\u{308}\n",
                "the accents are characters of their own in zoe\u{308} on line 3; \
                 these ids differ only in case or form: zoe\u{308} on line 2 and line 3",
            ),
        ] {
            assert_eq!(of(&file(text), &[]), remark, "{text}");
        }
        let mapping = ["metadata.dept=Abteilung".parse().unwrap()];
        assert_eq!(of(&file("userId,Abteilung\nada,Sales\n"), &mapping), "");
    }
}
