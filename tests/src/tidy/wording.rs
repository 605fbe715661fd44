//! Plain English in comments, messages and documents. Words that hide a subject, a number or a
//! condition are rejected, each with the reason and with what to write instead.

use super::{hold, pages, sources};

/// Rejected words and phrases, with the reason. Words of the standard library are not sentences.
const REJECTED: [(&[&str], &str); 12] = [
    (&["all the same"], "also means identical: write anyway"),
    (&["at once"], "also means simultaneously: write immediately, or at the same time"),
    (&["alone"], "also means unaccompanied: write only, or does not touch"),
    (&["beside"], "write next to, in addition to, or during"),
    (&["anew", "likewise", "in vain"], "archaic: write again, also, or what did not happen"),
    (&["lately"], "names no time: write in the last minute, or recently"),
    (&["meanwhile"], "write in the meantime, after a subject and a verb"),
    (&["so long", "so many", "so much", "so often"], "names no number: write it, or this many"),
    (
        &["whoever", "nobody", "somebody", "anybody", "everybody"],
        "hides the subject: write a user, no user, an operator, or the caller",
    ),
    (&["it is looked", "it is said", "it is told", "it is tried"], "hides who acts: name it"),
    (
        &["is told", "are told", "was told", "were told", "tells of", "tells who", "tells what"],
        "programs log, report and return",
    ),
    (
        &["is answered", "are answered", "was answered", "be answered", "in portions"],
        "not the usual terms: functions return, servers respond, and work is done in batches",
    ),
];

/// Rejected beginnings of doc comments, with the reason.
const REJECTED_STARTS: [(&[&str], &str); 2] = [
    (
        &["The same ", "That of ", "Those of ", "None: "],
        "refers to a line that editors do not show",
    ),
    (
        &["How ", "What ", "When ", "Where ", "Which ", "Who ", "Why "],
        "is a question: write a noun that can be searched for, or what the function returns",
    ),
];

/// The line in lower case, with single spaces instead of everything that is not a letter.
fn words(line: &str) -> String {
    let letters = line.to_lowercase().replace(|it: char| !it.is_alphabetic() && it != '_', " ");
    format!(" {} ", letters.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The comment of a line of code, or the texts in quotation marks that are sentences.
fn prose(line: &str) -> String {
    match line.trim_start().strip_prefix("//") {
        Some(comment) => comment.to_owned(),
        None => {
            let texts = line.split('"').skip(1).step_by(2);
            let sentences: Vec<&str> = texts.filter(|it| it.matches(' ').count() > 1).collect();
            sentences.join(" ")
        }
    }
}

fn findings_in(path: &str, line: &str) -> Vec<String> {
    let text = words(line);
    let has = |phrase: &&&str| text.contains(&format!(" {phrase} "));
    let found = |(phrases, why): &(&'static [&'static str], &str)| {
        let phrase = phrases.iter().find(has)?;
        Some(format!("{path}: \"{phrase}\" {why}: {}", line.trim()))
    };
    REJECTED.iter().filter_map(found).collect()
}

#[test]
fn sentences_are_plain() {
    let mut findings = Vec::new();
    let is_test = |path: &str| path.starts_with("tests/") || path.contains("/tests");
    for source in sources().into_iter().filter(|source| !source.path.ends_with("tidy/wording.rs")) {
        for line in source.text.lines() {
            // Texts of tests are data as often as sentences.
            if !is_test(&source.path) || line.trim_start().starts_with("//") {
                findings.extend(findings_in(&source.path, &prose(line)));
            }
            let line = line.trim_start();
            let comment =
                line.strip_prefix("/// ").or(line.strip_prefix("//! ")).unwrap_or_default();
            for (starts, why) in REJECTED_STARTS {
                if starts.iter().any(|start| comment.starts_with(start)) {
                    findings.push(format!("{}: {why}: {comment}", source.path));
                }
            }
        }
    }
    for (page, text) in pages() {
        findings.extend(text.lines().flat_map(|line| findings_in(&page, line)));
    }
    hold("sentences that readers must decode", &findings, &[]);
}

#[test]
fn rejected_words_are_found_only_in_prose() {
    for (line, count) in [
        ("    // Nobody waits for it.", 1),
        ("/// Frees them at once, all the same.", 2),
        (r#"    Error::Conflict("Nobody can claim with it")"#, 1),
        (r#"    let nobody = client("");"#, 0),
        (r#"    words.contains("nobody")"#, 0),
        ("    // standalone, besides", 0),
    ] {
        assert_eq!(findings_in("path", &prose(line)).len(), count, "{line}");
    }
}
