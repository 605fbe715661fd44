//! Runs the `console` blocks of the README and of the book. The pages on modelling and on leases run
//! one after the other against one licd, as a reader meets them, and any other page against an empty
//! one. A block that names a file behind its language is saved for the commands that follow.
//!
//! An id on a page stands for the id that licd returns in its place, and times differ in each run.
//! With `LICD_TEST_PAGES=write` the pages get the output of the commands. Code in other languages
//! than the shell runs in `tests/clients/snippets`.

use std::collections::BTreeMap;
use std::{env, fs};

use crate::harness::App;
use crate::journey::Shell;
use crate::tidy::root;

/// Ids of a page, each with the one of this run.
#[derive(Default)]
struct Ids(BTreeMap<String, String>);

impl Ids {
    /// New ids of the page stand for those that were printed in their places.
    fn learn(&mut self, expected: &str, printed: &str) {
        for (ours, theirs) in ids(expected).zip(ids(printed)) {
            if !self.0.values().any(|known| known == theirs) {
                self.0.entry(ours.to_owned()).or_insert_with(|| theirs.to_owned());
            }
        }
    }

    fn of_this_run(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (ours, theirs)| text.replace(ours, theirs))
    }

    fn of_the_page(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (ours, theirs)| text.replace(theirs, ours))
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let inside = |letter: char| letter.is_ascii_alphanumeric() || "_-:.".contains(letter);
    text.split(move |letter| !inside(letter)).map(|word| word.trim_end_matches([':', '.']))
}

fn ids(text: &str) -> impl Iterator<Item = &str> {
    words(text).filter(|word| word.len() == 30 && word.as_bytes()[3] == b'_')
}

/// Without times and beginnings of keys, which differ in every run but keep their length.
fn stable(text: &str) -> String {
    let differs = |word: &&str| {
        word.starts_with("sk_live_")
            || word.len() == 29 && word.split('-').all(|group| group.len() == 5)
            || word.len() == 24 && word.contains('T') && word.ends_with('Z')
    };
    let hidden = |text: String, word: &str| text.replace(word, &"-".repeat(word.len()));
    without_blanks(&words(text).filter(differs).fold(text.to_owned(), hidden))
}

/// Without blanks at the ends of lines.
fn without_blanks(text: &str) -> String {
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// Runs a page, and returns it with what its commands print.
fn run(page: &str, text: &str, shell: &Shell) -> String {
    let (mut written, mut known) = (String::new(), Ids::default());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        written += &format!("{line}\n");
        let Some(kind) = line.strip_prefix("```") else { continue };
        let block: String = lines
            .by_ref()
            .take_while(|line| *line != "```")
            .map(|line| format!("{line}\n"))
            .collect();
        if let Some((_, name)) = kind.split_once(' ') {
            shell.write(name, &block);
        }
        written += &match kind {
            "console" => run_block(page, &block, shell, &mut known),
            _ => block,
        };
        written += "```\n";
    }
    assert!(written.contains("\n$ licctl "), "{page} shows no command");
    written
}

/// Runs the commands of a block, and returns each with what it prints.
fn run_block(page: &str, block: &str, shell: &Shell, known: &mut Ids) -> String {
    assert!(block.starts_with("$ "), "{page}: a block begins without a command:\n{block}");
    let mut written = String::new();
    for step in format!("\n{}", block.trim_end()).split("\n$ ").skip(1) {
        let (command, expected) = step.split_once('\n').unwrap_or((step, ""));
        let ran = shell.run(&known.of_this_run(command));
        let printed = ran.stdout + &ran.stderr;
        known.learn(expected, &printed);
        let is_same = stable(&known.of_this_run(expected)) == stable(&printed);
        assert!(
            is_same || is_rewritten(),
            "{page}: $ {command}\nexpected:\n{expected}\nprinted:\n{printed}"
        );
        let shown = if is_same { expected.to_owned() } else { known.of_the_page(&printed) };
        written += &format!("$ {command}\n{}", without_blanks(&shown));
    }
    written
}

fn is_rewritten() -> bool {
    env::var("LICD_TEST_PAGES").is_ok_and(|mode| mode == "write")
}

/// Runs a page as it stands, or writes what its commands print.
fn check(page: &str, shell: &Shell) {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let written = run(page, &text, shell);
    if is_rewritten() {
        fs::write(root().join(page), written).unwrap();
    } else {
        assert_eq!(written, text, "{page} is read in full");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_readme_and_the_reference_run_as_they_stand() {
    for page in ["README.md", "docs/reference/licctl.md", "docs/reference/licd.md"] {
        let app = App::start().await;
        check(page, &Shell::at(&app));
    }
}

/// After the commands of the first page that create something.
#[tokio::test(flavor = "multi_thread")]
async fn the_pages_on_modelling_run_one_after_the_other() {
    let app = App::start().await;
    let shell = Shell::at(&app);
    let first = fs::read_to_string(root().join("docs/start/quick-start.md")).unwrap();
    let creates = |line: &&str| line.starts_with("$ ") && line.contains("licctl ");
    for line in first.lines().filter(creates) {
        assert_eq!(shell.run(&line[2..]).code, 0, "{line}");
    }
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let links = summary.split("(model/").skip(1).map(|rest| rest.split(')').next().unwrap());
    assert_eq!(links.clone().count(), 8);
    links.for_each(|page| check(&format!("docs/model/{page}"), &shell));
    for page in ["offline", "testing", "shop"] {
        check(&format!("docs/integrate/{page}.md"), &shell);
    }
}
