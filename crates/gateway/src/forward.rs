//! Copies TCP from addresses that stay to backends that come and go.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How long a backend may take to accept.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a client waits while no backend accepts: a roll-out or a fail-over is mostly shorter.
const RETRY_WINDOW: Duration = Duration::from_secs(5);
/// How long until backends that all refused are asked again, unless they change first.
const PAUSE: Duration = Duration::from_millis(100);
/// Bytes under way in each direction.
const BUFFER: usize = 32 * 1024;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// Forwards from a changing set of addresses. When it is dropped, it stops listening and ends every connection.
#[derive(Debug)]
pub struct Forwarder {
    posts: Mutex<HashMap<SocketAddr, Post>>,
    connections: CancellationToken,
    _end: DropGuard,
}

#[derive(Debug)]
struct Post {
    backends: watch::Sender<Vec<SocketAddr>>,
    _listening: DropGuard,
}

impl Default for Forwarder {
    fn default() -> Self {
        Self::new()
    }
}

impl Forwarder {
    /// Forwards nothing yet.
    pub fn new() -> Self {
        let connections = CancellationToken::new();
        Self { posts: Mutex::default(), _end: connections.clone().drop_guard(), connections }
    }

    /// Listens on an address, if it does not yet, and gives new connections to these backends. Connections that exist
    /// stay where they are. To be called within a tokio runtime.
    pub fn set(&self, listen: SocketAddr, backends: Vec<SocketAddr>) -> io::Result<()> {
        let mut posts = self.posts.lock();
        if let Some(post) = posts.get(&listen) {
            post.backends.send_replace(backends);
            return Ok(());
        }
        let listener = bind(listen)?;
        let (sender, receiver) = watch::channel(backends);
        let stop = CancellationToken::new();
        tokio::spawn(accept(listener, receiver, stop.clone(), self.connections.clone()));
        posts.insert(listen, Post { backends: sender, _listening: stop.drop_guard() });
        Ok(())
    }

    /// Stops listening on an address. Connections that exist go on to their end.
    pub fn remove(&self, listen: SocketAddr) {
        self.posts.lock().remove(&listen);
    }

    /// The addresses it listens on.
    pub fn listening(&self) -> Vec<SocketAddr> {
        self.posts.lock().keys().copied().collect()
    }
}

fn bind(listen: SocketAddr) -> io::Result<TcpListener> {
    let socket = if listen.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // An address that was given up a moment ago still has connections in their last state.
    socket.set_reuseaddr(true)?;
    socket.bind(listen)?;
    socket.listen(BACKLOG)
}

async fn accept(
    listener: TcpListener,
    backends: watch::Receiver<Vec<SocketAddr>>,
    stop: CancellationToken,
    connections: CancellationToken,
) {
    let turn = Arc::new(AtomicUsize::new(0));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            () = connections.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((client, _)) => {
                let carried = carry(client, backends.clone(), Arc::clone(&turn));
                let connections = connections.clone();
                tokio::spawn(async move { connections.run_until_cancelled(carried).await });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection to forward");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

async fn carry(mut client: TcpStream, backends: watch::Receiver<Vec<SocketAddr>>, turn: Arc<AtomicUsize>) {
    let Some(mut backend) = connect(backends, &turn).await else {
        tracing::debug!("no backend accepts a forwarded connection");
        // A reset, so that the client does not take it for a lawful end.
        let _ = client.set_zero_linger();
        return;
    };
    let _ = client.set_nodelay(true);
    if let Err(error) = copy_bidirectional_with_sizes(&mut client, &mut backend, BUFFER, BUFFER).await {
        tracing::debug!(%error, "a forwarded connection broke off");
    }
}

/// A connection to the first backend in turn that accepts.
async fn connect(mut backends: watch::Receiver<Vec<SocketAddr>>, turn: &AtomicUsize) -> Option<TcpStream> {
    let deadline = Instant::now() + RETRY_WINDOW;
    loop {
        let now = backends.borrow_and_update().clone();
        let first = turn.fetch_add(1, Ordering::Relaxed);
        for step in 0..now.len() {
            let address = now[first.wrapping_add(step) % now.len()];
            if let Ok(Ok(socket)) = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
                let _ = socket.set_nodelay(true);
                return Some(socket);
            }
        }
        if Instant::now() >= deadline {
            return None;
        }
        match tokio::time::timeout(PAUSE, backends.changed()).await {
            // Nobody listens here any more, so nobody will name a backend.
            Ok(Err(_)) if now.is_empty() => return None,
            Ok(Err(_)) => tokio::time::sleep(PAUSE).await,
            Ok(Ok(())) | Err(_) => {}
        }
    }
}
