//! A stream whose client sends more than its turn allows.

use std::future::poll_fn;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Wake, Waker};

use socket2::SockRef;
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::{TcpListener, TcpStream};

use super::*;

#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Relaxed);
    }
}

/// Reads until the stream has no more, and answers how much that was, and whether it wants to be
/// asked again at once.
fn read_turn(stream: &mut Stream) -> (usize, bool) {
    let flag = Arc::<Flag>::default();
    let waker = Waker::from(flag.clone());
    let mut cx = Context::from_waker(&waker);
    let (mut total, mut bytes) = (0, [0; 4096]);
    loop {
        let mut buffer = ReadBuf::new(&mut bytes);
        match Pin::new(&mut *stream).poll_read(&mut cx, &mut buffer) {
            Poll::Ready(read) => read.unwrap(),
            Poll::Pending => return (total, flag.0.load(Relaxed)),
        }
        total += buffer.filled().len();
    }
}

#[tokio::test]
async fn reading_gives_way_to_others() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (tcp, _) = listener.accept().await.unwrap();
    client.write_all(&[0; 40_000]).await.unwrap();
    let all_arrived = || match SockRef::from(&tcp).peek(&mut [MaybeUninit::uninit(); 40_000])? {
        40_000 => Ok(()),
        _ => Err(io::ErrorKind::WouldBlock.into()),
    };
    tcp.async_io(Interest::READABLE, all_arrived).await.unwrap();
    let state = Arc::new(ConnectionState::new());
    let mut stream = Stream::new(Transport::Plain(Socket::new(tcp, state.clone())), state);
    let mut turns = Vec::new();
    poll_fn(|_| {
        turns.extend((0..3).map(|_| read_turn(&mut stream)));
        Poll::Ready(())
    })
    .await;
    assert_eq!(turns, [(16_384, true), (16_384, true), (40_000 - 2 * 16_384, false)]);
}
