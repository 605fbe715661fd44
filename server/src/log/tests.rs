//! Tests of the lines that are written, with disks and inputs of all kinds.

use super::*;

/// Takes as many bytes as there is room for, and then fails, as a full disk does.
struct Disk {
    room: usize,
    text: Vec<u8>,
}

impl Write for &mut Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.room);
        if taken == 0 {
            return Err(ErrorKind::StorageFull.into());
        }
        self.room -= taken;
        self.text.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write(output: &mut Output<&mut Disk>, lines: &[&str]) {
    lines.iter().for_each(|line| output.write_all(line.as_bytes()).unwrap());
    output.flush().unwrap();
}

#[test]
fn after_a_full_disk_a_line_begins_afresh_and_the_lost_are_counted() {
    let mut disk = Disk { room: 6, text: Vec::new() };
    let mut output = Output::new(&mut disk, LogFormat::Text);
    write(&mut output, &["one\n", "two\n", "three\n"]);
    write(&mut output, &["four\n"]);
    output.stderr.room = 1000;
    write(&mut output, &["five\n", "six\n"]);
    write(&mut output, &["seven\n"]);
    let text = String::from_utf8(disk.text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!([&lines[..4], &lines[5..]].concat(), ["one", "tw", "five", "six", "seven"]);
    assert!(lines[4].ends_with("WARN licd::log: 3 log lines were lost"), "{text}");
}

#[test]
fn a_long_line_is_cut_and_stays_well_formed() {
    let long = format!("{{\"message\":\"{}é\"}}\n", "\\\"".repeat(100_000));
    for format in [LogFormat::Text, LogFormat::Json] {
        let line = String::from_utf8(cut(long.as_bytes(), format)).unwrap();
        assert!(line.len() <= MAX_LINE && line.contains("of 200017 bytes was cut"), "{line}");
        assert_eq!(line.find('\n'), Some(line.len() - 1));
        if format == LogFormat::Json {
            let read: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert!(read["line"].as_str().unwrap().starts_with("{\"message\":"));
        }
    }
}

#[test]
fn only_levels_stand_alone_in_a_filter() {
    for good in ["info", "WARN", "off", "info,sqlx=warn", "debug, licd::db=trace", "[span]=info"] {
        assert!(good.parse::<LogFilter>().is_ok(), "{good}");
    }
    for bad in ["verbose", "", "info,", "info,verbose", "licd=verbose", "inf", "6"] {
        assert!(bad.parse::<LogFilter>().is_err(), "{bad}");
    }
}

proptest::proptest! {
    /// Each accepted directive works: the log would leave out a directive that it cannot read.
    #[test]
    fn any_text_is_a_filter_or_an_error(
        text in "\\PC*|((info|warn|off|TRACE|licd|sqlx)?[=,\\[\\]{}a-z0-9: ]{0,6}){0,5}",
    ) {
        if let Ok(filter) = text.parse::<LogFilter>() {
            proptest::prop_assert!(EnvFilter::try_new(&filter.0).is_ok());
            proptest::prop_assert!(filter.0.parse::<LogFilter>().is_ok());
        }
    }
}
