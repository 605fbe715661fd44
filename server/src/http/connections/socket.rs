//! The socket below everything else, TLS included. It notes what the kernel takes.

use std::io::{self, ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::state::ConnectionState;

pub struct Socket {
    tcp: TcpStream,
    state: Arc<ConnectionState>,
}

impl Socket {
    pub fn new(tcp: TcpStream, state: Arc<ConnectionState>) -> Self {
        Self { tcp, state }
    }

    /// The first byte that arrives, which stays to be read. None if the client sends nothing.
    pub async fn peek(&self) -> io::Result<Option<u8>> {
        let mut first = [0];
        let count = self.tcp.peek(&mut first).await?;
        Ok((count > 0).then_some(first[0]))
    }

    /// Whether the client has closed the connection, and everything was read that it sent.
    pub fn is_closed(&self) -> bool {
        match SockRef::from(&self.tcp).peek(&mut [MaybeUninit::uninit()]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    fn note(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => self.state.blocked.wrote(bytes),
            Poll::Pending => self.state.blocked.kernel_is_full(),
            Poll::Ready(Err(_)) => {}
        }
        written
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write(cx, buffer);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.tcp).poll_write_vectored(cx, buffers);
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// A socket has no buffer of its own in this process.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.state.blocked.is_blocked() {
            // The kernel would keep what the client does not take for minutes. A reset frees it.
            // Fails only after the client has closed the connection.
            drop(self.tcp.set_zero_linger());
        }
    }
}
