//! [`WorkerNetwork`]: the connection from the manager to a worker cluster, which can be cut.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};
use http_body_util::{BodyStream, StreamBody};
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use tokio::sync::watch;

/// The connection to a worker cluster. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct WorkerNetwork {
    connected: Arc<watch::Sender<bool>>,
}

impl WorkerNetwork {
    /// A connection that is not cut.
    pub(crate) fn new() -> Self {
        Self {
            connected: Arc::new(watch::Sender::new(true)),
        }
    }

    /// Cuts the connection, which ends all watches, or restores it. Returns whether it changed.
    pub(crate) fn set_connected(&self, connected: bool) -> bool {
        self.connected.send_if_modified(|current| {
            let changed = *current != connected;
            *current = connected;
            changed
        })
    }

    /// The requests of `client` over this connection.
    pub(crate) fn client(&self, client: Client) -> Client {
        let connected = self.connected.subscribe();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            send(client.clone(), connected.clone(), request)
        });
        Client::new(service, "default")
    }
}

type Frames = BoxStream<'static, Result<Frame<Bytes>, tower::BoxError>>;

fn send(
    client: Client,
    mut connected: watch::Receiver<bool>,
    request: http::Request<Body>,
) -> BoxFuture<'static, Result<http::Response<StreamBody<Frames>>, tower::BoxError>> {
    async move {
        if !*connected.borrow_and_update() {
            let reason = "connect: no route to host";
            return Err(io::Error::new(io::ErrorKind::HostUnreachable, reason).into());
        }
        let response = client.send(request).await?;
        let cut = async move {
            // The sender ends with the lab.
            let _ = connected.wait_for(|connected| !connected).await;
        };
        Ok(response.map(|body| {
            let frames = BodyStream::new(body).map_err(tower::BoxError::from);
            StreamBody::new(frames.take_until(cut.boxed()).boxed())
        }))
    }
    .boxed()
}
