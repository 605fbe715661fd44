//! `licctl webhooks listen`: events reach a program on the machine of a key's owner, lost events
//! are reported, and nothing is set up on the server.

use std::io::{BufRead, BufReader, Read};
use std::process::Child;

use tokio::net::TcpListener;

use super::receiver::Receiver;
use crate::harness::{App, TestDatabase};
use crate::journey::{RunOutput, Shell};
use crate::nodes::process::{Process, first_key};

/// Listens, and ends with the test.
struct Listening {
    licctl: Child,
}

impl Listening {
    fn start(shell: &Shell, address: &str, rest: &str) -> Self {
        let line = format!("webhooks listen --no-headers --forward-to {address} {rest}");
        let words: Vec<&str> = line.split_whitespace().collect();
        Self { licctl: shell.command(&words).spawn().unwrap() }
    }

    /// Returns the output for this many events: the response and the sequence of each.
    fn printed(&mut self, number: usize) -> Vec<(i64, i64)> {
        let lines = BufReader::new(self.licctl.stdout.as_mut().unwrap()).lines();
        let last_two = |line: String| {
            let mut words = line.split_whitespace().rev().map(|word| word.parse().unwrap());
            let (sequence, answer) = (words.next().unwrap(), words.next().unwrap());
            (answer, sequence)
        };
        lines.take(number).map(|line| last_two(line.unwrap())).collect()
    }

    /// Kills it, and returns what it said.
    fn end(mut self) -> String {
        self.licctl.kill().unwrap();
        self.licctl.wait().unwrap();
        let mut said = String::new();
        self.licctl.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

/// The secret, which is said first.
fn secret(said: &str) -> &str {
    let begin = said.find("whsec_").unwrap();
    said[begin..].split(['.', '\n']).next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_gets_each_event_as_a_webhook_would() {
    let app = App::start().await;
    let shell = Shell::at(&app);
    for name in ["one", "two", "three"] {
        app.product(name).await;
    }
    app.post("/api/v1/admin/users", serde_json::json!({ "externalId": "ada" })).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/hook", listener.local_addr().unwrap());
    let mut listening = Listening::start(&shell, &address, "--after 0 --type product.*");
    // The program is not up yet.
    drop(listener.accept().await.unwrap());
    let receiver = Receiver::on(listener);
    receiver.answer(|event| if event["data"]["object"]["name"] == "two" { 500 } else { 200 });
    let printed = listening.printed(3);
    let said = listening.end();
    let answers = printed.iter().map(|(answer, _)| *answer);
    assert_eq!(
        answers.collect::<Vec<_>>(),
        [200, 500, 200],
        "whatever it answers, the next one follows"
    );
    assert!(said.contains("Waiting."), "{said}");

    let received = receiver.received();
    let names: Vec<_> = received.iter().map(|it| &it.event["data"]["object"]["name"]).collect();
    assert_eq!(names, ["one", "two", "three"]);
    let feed = app.get("/api/v1/admin/events?type=product.created").await.list().to_vec();
    for ((received, listed), printed) in received.iter().zip(&feed).zip(&printed) {
        assert!(received.is_signed_with(secret(&said)), "{said}");
        let mut sent = received.event.clone();
        let members = sent.as_object_mut().unwrap();
        assert_eq!(members.remove("timestamp").unwrap(), listed["time"]);
        assert_eq!(members.remove("mode").unwrap(), "live");
        assert!(members.remove("tenantId").unwrap().as_str().unwrap().starts_with("ten_"));
        assert_eq!(&sent, listed);
        assert_eq!(listed["sequence"], printed.1);
    }

    // It goes on where it ended, with the same secret.
    let last = printed[2].1;
    let mut again = Listening::start(&shell, &receiver.url, &format!("--after {last}"));
    let printed = again.printed(1);
    let said_again = again.end();
    assert_eq!(printed, [(200, last + 1)]);
    assert_eq!(secret(&said_again), secret(&said));
    assert!(app.get(super::WEBHOOKS).await.list().is_empty());
}

/// A server whose database was restored has fewer events than were sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_restored_database_is_said() {
    let app = App::start().await;
    app.product("one").await;
    let line = "licctl webhooks listen --forward-to http://127.0.0.1:9/ --after 99";
    let ran: RunOutput = Shell::at(&app).run(line);
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    assert!(ran.stderr.contains("the database was restored"), "{}", ran.stderr);
}

/// A server that crashes and comes back loses nothing of what is listened to.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_restarts_is_waited_for() {
    let (database, key) = (TestDatabase::ready().await, first_key());
    let licd = Process::start(&database.url, &key);
    let (caller, address) = (licd.caller(&key), licd.base.replace("http://", ""));
    let (shell, receiver) = (Shell::at(&caller), Receiver::start().await);
    let rest = "--after 0 --type product.*";
    let mut listening = Listening::start(&shell, &receiver.url, rest);
    caller.product("one").await;
    listening.printed(1);
    drop(licd);
    let settings = [("LICD_BOOTSTRAP_KEY", &*key), ("LICD_LISTEN", &*address)];
    let licd = Process::launch_with(&database.url, &settings).wait();
    caller.product("two").await;
    listening.printed(1);
    let said = listening.end();
    let received = receiver.received();
    let names: Vec<_> = received.iter().map(|it| &it.event["data"]["object"]["name"]).collect();
    assert_eq!(names, ["one", "two"], "{said}");
    assert!(licd.stop().success());
}

/// Events name users, so they leave the machine only encrypted, and only if that is meant.
#[tokio::test(flavor = "multi_thread")]
async fn events_do_not_leave_the_machine_by_mistake() {
    let app = App::start().await;
    let shell = Shell::at(&app);
    for args in [
        "webhooks listen --forward-to http://192.0.2.1/licd",
        "webhooks listen --forward-to https://hooks.example/licd",
        "webhooks listen --forward-to http://hooks.example/licd --anywhere",
    ] {
        let words: Vec<&str> = args.split_whitespace().collect();
        let ran = shell.command(&words).output().unwrap();
        let told = String::from_utf8(ran.stderr).unwrap();
        assert_eq!(ran.status.code(), Some(2), "{args}: {told}");
        assert!(told.contains("is not on this machine"), "{args}: {told}");
    }
}
