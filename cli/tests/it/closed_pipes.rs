//! Output without a reader is no failure, and the result of a write is still named.

use crate::support::{FakeServer, Home, LICENSE, Reply, answer, product};

#[test]
fn a_closed_pipe_is_no_failure() {
    let server = FakeServer::answering(|_| Reply::list(&vec![product("Acme Studio"); 5000]));
    let mut child = Home::with(&server).command(&["products", "list"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn what_was_created_is_named_if_nobody_reads_the_output() {
    for (flags, note) in [
        (&[][..], format!("note: Created license {LICENSE} of plan Pro annual.\n")),
        (&["-q"], format!("note: Created license {LICENSE} of plan Pro annual.\n")),
        (&["-o", "json"], String::new()),
    ] {
        let create = [&["licenses", "create", "--plan", "Pro annual"], flags].concat();
        // The pipe is closed before the license is there.
        let (closed, wait) = std::sync::mpsc::channel::<()>();
        let server = FakeServer::answering(move |request| {
            let _ = wait.recv();
            answer(request)
        });
        let mut child = Home::with(&server).command(&create).spawn().unwrap();
        drop((child.stdout.take(), closed));
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), note, "{flags:?}");
    }
}
