//! Limits for the amount of code in the product and the tests. Code grows a line at a time, which
//! no one sees in one commit, so `tests/ceilings.txt` gives each issue an allowance. There are two
//! sums instead of one for each folder, because code may move between folders.

use std::fs;

use super::{root, sources};

/// The ceiling of `what`: the sum of the lines of `tests/ceilings.txt` that begin with it.
fn ceiling(what: &str) -> i64 {
    let text = fs::read_to_string(root().join("tests/ceilings.txt")).unwrap();
    let lines = text.lines().filter(|line| line.starts_with(what));
    lines.map(|line| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap()).sum()
}

/// Whether a file is a test of its own, not part of what users run.
fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.starts_with("cli/tests/")
}

/// Number of lines of code: neither blank, nor comments, nor unit tests.
fn weight(path: &str, text: &str) -> usize {
    if path.ends_with("tests.rs") || path.contains("/tests/") && path.contains("/src/") {
        return 0;
    }
    let mut lines = text.lines().peekable();
    let mut count = 0;
    while let Some(line) = lines.next() {
        let code = line.trim();
        if code == "#[cfg(test)]" {
            let indent = &line[..line.len() - line.trim_start().len()];
            let is_block = lines.peek().is_some_and(|next| next.ends_with('{'));
            let ends = [format!("{indent}}}"), format!("{indent}}},")];
            lines.by_ref().find(|line| !is_block || ends.iter().any(|end| end == line));
        } else if !code.is_empty() && !code.starts_with("//") {
            count += 1;
        }
    }
    count
}

#[test]
fn product_and_tests_stay_within_their_ceilings() {
    for (what, tests) in [("product", false), ("tests", true)] {
        let files = sources().into_iter().filter(|source| is_test(&source.path) == tests);
        let lines: usize = files.map(|source| weight(&source.path, &source.text)).sum();
        let ceiling = ceiling(what);
        assert!(ceiling > 0, "tests/ceilings.txt names no ceiling of the {what}");
        assert!(lines as i64 <= ceiling, "{what}: {lines} lines, ceiling {ceiling}");
    }
}

#[test]
fn code_is_weighed_without_comments_and_unit_tests() {
    let text = "//! A file.\n\nfn a() {\n    // Why.\n    b();\n}\n\n\
                #[cfg(test)]\nmod tests {\n    fn t() {\n    }\n}\n\n#[cfg(test)]\nmod more;\n\
                impl A {\n    #[cfg(test)]\n    fn t() {\n    }\n    fn c() {}\n}\n";
    assert_eq!(weight("cli/src/a.rs", text), 6);
    assert_eq!(weight("cli/src/a/tests.rs", text), 0);
}
