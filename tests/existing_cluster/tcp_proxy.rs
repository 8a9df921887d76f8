//! [`TcpProxy`]: a proxy between an API server and its clients that can interrupt connections.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Forwards connections to a server.
pub(crate) struct TcpProxy {
    address: SocketAddr,
    server: SocketAddr,
    forwarding: watch::Sender<bool>,
    listener: parking_lot::Mutex<JoinHandle<()>>,
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.listener.get_mut().abort();
    }
}

impl TcpProxy {
    /// Starts a proxy to a server.
    pub(crate) async fn forward_to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (whole, state) = watch::channel(true);
        let listener = tokio::spawn(forward_all(listener, server, state));
        Self {
            address,
            server,
            forwarding: whole,
            listener: parking_lot::Mutex::new(listener),
        }
    }

    /// The address for clients.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes all connections, and new ones after they are accepted.
    pub(crate) fn drop_connections(&self) {
        self.forwarding.send_replace(false);
    }

    /// Forwards connections again.
    pub(crate) fn resume(&self) {
        self.forwarding.send_replace(true);
    }

    /// Closes all connections and stops listening, so that new connections are refused, as after the exit
    /// of the server's process.
    pub(crate) async fn stop_listening(&self) {
        self.drop_connections();
        let listener = {
            let mut listener = self.listener.lock();
            listener.abort();
            std::mem::replace(&mut *listener, tokio::spawn(async {}))
        };
        // The port is closed when the task has ended.
        let _ = listener.await;
    }

    /// Listens again at the same address.
    pub(crate) async fn listen_again(&self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.resume();
        let forwarding = tokio::spawn(forward_all(
            listener,
            self.server,
            self.forwarding.subscribe(),
        ));
        *self.listener.lock() = forwarding;
    }
}

async fn forward_all(listener: TcpListener, server: SocketAddr, whole: watch::Receiver<bool>) {
    while let Ok((client, _)) = listener.accept().await {
        tokio::spawn(forward(client, server, whole.clone()));
    }
}

async fn forward(mut client: TcpStream, server: SocketAddr, mut whole: watch::Receiver<bool>) {
    if !*whole.borrow() {
        return;
    }
    let Ok(mut server) = TcpStream::connect(server).await else {
        return;
    };
    tokio::select! {
        _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
        _ = whole.wait_for(|whole| !whole) => {}
    }
}
