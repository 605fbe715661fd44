//! The lines of the log that tell of trouble stand in the guide for operators, with what to do.

use super::{documentation, sources};

/// The guide says what every warning and every error in the log means.
#[test]
fn the_guide_explains_every_warning() {
    let guide = documentation("docs/operate/");
    let (mut found, mut missing) = (0, Vec::new());
    for source in sources().iter().filter(|source| source.path.starts_with("server/src/")) {
        for call in ["tracing::warn!(", "tracing::error!("] {
            for part in source.text.split(call).skip(1) {
                let message = message(part);
                assert!(message.len() > 5, "{}: {part}", source.path);
                found += 1;
                if !guide.contains(&message) {
                    missing.push(format!("{}: {message}", source.path));
                }
            }
        }
    }
    assert!(found > 25, "the rule must look at something");
    assert!(missing.is_empty(), "log lines that the guide does not explain: {missing:#?}");
}

/// The message of a log line, up to its first parameter: the first text among the arguments that no
/// field has.
fn message(arguments: &str) -> String {
    let mut texts = arguments.split('"');
    let mut before = texts.next().unwrap();
    let mut text = texts.next().unwrap_or_default();
    while before.trim_end().ends_with(['=', '(', '.']) && !before.trim().is_empty() {
        before = texts.next().unwrap();
        text = texts.next().unwrap_or_default();
    }
    // A backslash at the end of a line joins it with the next.
    let mut joined = String::new();
    for line in text.lines() {
        match line.trim_start().strip_suffix('\\') {
            Some(line) => joined += line,
            None => joined += line.trim_start(),
        }
    }
    joined.split('{').next().unwrap().trim_end().to_owned()
}
