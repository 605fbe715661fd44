//! Places where keys and passwords must not be found: logs, events, the database and its backup,
//! the list of processes, core files, and freed memory.
//!
//! licd overwrites its own copies of a key. The buffers of hyper, which reads requests and writes
//! answers, are not licd's: a key may stay in one until the next use of that memory, and so may the
//! text of the one answer that shows a new key. So no test looks through a whole process's memory.

mod canary;
mod lookups;

use common::{ApiKey, Mode};

use crate::harness::TestDatabase;
use crate::nodes::process::{Process, command_after, first_key};

/// The kernel writes no core file, even where the shell would let it. The operator can allow one.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_leaves_no_core() {
    let database = TestDatabase::ready().await;
    let serve = command_after("ulimit -S -c $(ulimit -H -c)", &["serve"]);
    let licd =
        Process::launch_command(serve, &database.url, &[("LICD_BOOTSTRAP_KEY", &first_key())]);
    let licd = licd.wait();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", licd.id())).unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[4], "0", "{line}");
    assert!(licd.stop().success());
}

/// The memory of a key is overwritten before it is reused.
#[test]
fn a_dropped_key_is_wiped() {
    use std::os::unix::fs::FileExt;
    let memory = std::fs::File::open("/proc/self/mem").unwrap();
    let at = |place: u64| {
        let mut bytes = [0; 46];
        memory.read_exact_at(&mut bytes, place).unwrap();
        bytes
    };
    for _ in 0..100 {
        let generated = ApiKey::generate(Mode::Live);
        let parsed: ApiKey = generated.expose().parse().unwrap();
        let cloned = parsed.clone();
        let (text, keys) = (generated.expose().to_owned(), [generated, parsed, cloned]);
        let places = keys.each_ref().map(|key| key.expose().as_ptr().addr() as u64);
        assert!(places.iter().all(|&place| at(place) == text.as_bytes()));
        drop(keys);
        for place in places {
            let left = at(place);
            // The allocator writes into the first bytes of what is free.
            assert!(!text.as_bytes().windows(8).any(|part| left.windows(8).any(|it| it == part)));
        }
    }
}
