//! The network between an API server and its clients, which can be cut.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// Forwards connections as long as it is whole.
pub struct TcpProxy {
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
    /// A wire to a server.
    pub async fn forward_to(server: SocketAddr) -> Self {
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

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Tears all connections down and accepts new ones only to drop them.
    pub fn drop_connections(&self) {
        self.forwarding.send_replace(false);
    }

    /// Lets connections through again.
    pub fn resume(&self) {
        self.forwarding.send_replace(true);
    }

    /// Tears all connections down and stops listening: new ones are refused, as when the server's
    /// process is gone.
    pub async fn stop_listening(&self) {
        self.drop_connections();
        let listener = {
            let mut listener = self.listener.lock();
            listener.abort();
            std::mem::replace(&mut *listener, tokio::spawn(async {}))
        };
        // The port is closed when the task is gone.
        let _ = listener.await;
    }

    /// Listens again at the same address.
    pub async fn listen_again(&self) {
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
