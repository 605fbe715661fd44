//! The documentation as a book: its links lead somewhere, its table of contents is complete, and
//! each page says whom it is for and where to go next.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{hold, lines_of_prose, pages, root};

/// The targets of a page's links and images, in Markdown and in HTML.
fn targets(text: &str) -> Vec<String> {
    let without_code = |line: &str| line.split('`').step_by(2).collect::<Vec<_>>().join("`") + " ";
    let prose: String = lines_of_prose(text).map(without_code).collect();
    let ends = [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"'), ("href=\"", '"')];
    let of =
        |(begin, end)| prose.split(begin).skip(1).filter_map(move |rest| rest.split(end).next());
    let is_here = |target: &&str| !target.contains("://") && !target.starts_with("mailto:");
    ends.into_iter().flat_map(of).filter(is_here).map(str::to_owned).collect()
}

/// The anchors that forges and mdBook give to the headings of a page.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for heading in lines_of_prose(text).filter_map(|line| line.strip_prefix('#')) {
        let heading = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        let is_kept = |letter: &char| letter.is_alphanumeric() || "-_".contains(*letter);
        anchors.insert(heading.chars().filter(is_kept).collect());
    }
    anchors
}

#[test]
fn links_lead_somewhere() {
    let (pages, mut findings, mut found) = (pages(), Vec::new(), 0);
    for (page, text) in &pages {
        for target in targets(text) {
            found += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let folder = Path::new(page).parent().unwrap();
            let file =
                if path.is_empty() { root().join(page) } else { root().join(folder).join(path) };
            let is_there = file.exists()
                && (anchor.is_empty()
                    || fs::read_to_string(&file).is_ok_and(|text| anchors(&text).contains(anchor)));
            if !is_there {
                findings.push(format!("{page}: {target}"));
            }
        }
    }
    assert!(found > 100, "the rule must look at something");
    hold("links that lead nowhere", &findings, &[]);
}

#[test]
fn the_table_of_contents_is_complete() {
    let pages = pages();
    let (_, summary) = pages.iter().find(|(page, _)| page == "docs/SUMMARY.md").unwrap();
    let listed: BTreeSet<String> =
        targets(summary).into_iter().map(|page| format!("docs/{page}")).collect();
    let book = pages.iter().map(|(page, _)| page).filter(|page| page.starts_with("docs/"));
    let missing = book.filter(|page| !page.ends_with("SUMMARY.md") && !listed.contains(*page));
    let findings: Vec<String> = missing.map(|page| format!("{page}: not in SUMMARY.md")).collect();
    hold("pages that the table of contents lacks", &findings, &[]);
    let index = fs::read_to_string(root().join("docs/llms.txt")).unwrap();
    let listed_there: BTreeSet<String> =
        targets(&index).into_iter().map(|page| format!("docs/{page}")).collect();
    assert_eq!(listed_there, listed, "docs/llms.txt lists the pages of docs/SUMMARY.md");
}

#[test]
fn pages_say_whom_they_are_for_and_what_is_next() {
    let mut findings = Vec::new();
    for (page, text) in pages() {
        if !page.starts_with("docs/") || page.ends_with("SUMMARY.md") {
            continue;
        }
        let first = text.lines().skip(1).find(|line| !line.is_empty()).unwrap_or_default();
        if !text.starts_with("# ") || !first.starts_with("For ") {
            findings.push(format!("{page}: begins with {first:?}, not with whom it is for"));
        }
        let (_, last) = text.rsplit_once("\n## ").unwrap_or_default();
        if !last.starts_with("Next\n") || targets(last).is_empty() {
            findings.push(format!("{page}: does not end with where to go next"));
        }
    }
    hold("pages without a beginning or an end", &findings, &[]);
}
