//! Measured numbers stand in one place, the report of the benchmark; other pages quote it.

use std::fs;

use super::root;

/// Each number with a thousands separator on the page about scaling is one of the report.
#[test]
fn quoted_measurements_are_those_of_the_report() {
    let read = |page: &str| fs::read_to_string(root().join("docs/operate").join(page)).unwrap();
    let (scale, report) = (read("scale.md"), read("performance.md"));
    let is_number = |letter: char| letter.is_ascii_digit() || letter == ',';
    let quoted: Vec<String> = scale
        .split(|letter| !is_number(letter))
        .map(|number| number.trim_matches(','))
        .filter(|number| number.contains(','))
        .map(|number| number.replace(',', ""))
        .collect();
    assert!(quoted.len() >= 8, "the rule must look at something");
    for number in quoted {
        let is_there = report.split(|letter: char| !is_number(letter)).any(|word| word == number);
        assert!(is_there, "scale.md says {number}, which performance.md does not");
    }
}
