//! Colours the labels of messages on stderr, as the command-line parser colours its own.

use anstyle::{AnsiColor, Style};

const LABELS: [(&str, Style); 2] = [
    ("error:", AnsiColor::Red.on_default().bold()),
    ("fix:", AnsiColor::Green.on_default().bold()),
];

/// The text with `error:` and `fix:` coloured where lines begin with them.
pub fn painted(text: &str) -> String {
    text.split_inclusive('\n').map(painted_line).collect()
}

fn painted_line(line: &str) -> String {
    for (label, style) in LABELS {
        if let Some(rest) = line.strip_prefix(label) {
            return format!("{style}{label}{style:#}{rest}");
        }
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_labels_at_the_beginning_of_a_line_are_coloured() {
        let text = painted("error: No fix: here.\nfix: this\nnote: that\n");
        assert_eq!(
            text,
            "\u{1b}[1m\u{1b}[31merror:\u{1b}[0m No fix: here.\n\
             \u{1b}[1m\u{1b}[32mfix:\u{1b}[0m this\nnote: that\n"
        );
    }
}
