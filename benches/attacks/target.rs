//! The lab under attack, as an attacker sees it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::connection::{Attacker, data};

/// How long an attack without an end lasts.
pub(crate) const DURATION: Duration = Duration::from_secs(10);
/// Requests of one connection at the same time.
const STREAMS: usize = 50;

/// The address of a lab, and the token of a service account with all rights.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
}

/// A request with a body.
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) media_type: &'static str,
    pub(crate) body: Bytes,
}

impl Request {
    /// A request without a body.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self {
            method: "GET",
            path: path.into(),
            media_type: "application/json",
            body: Bytes::new(),
        }
    }

    /// The creation of an object in a collection.
    pub(crate) fn create(collection: &str, object: &Value) -> Self {
        Self {
            method: "POST",
            path: collection.to_owned(),
            media_type: "application/json",
            body: object.to_string().into(),
        }
    }

    /// A patch of a media type, such as `json-patch+json`.
    pub(crate) fn patch(path: &str, media_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self {
            method: "PATCH",
            path: path.to_owned(),
            media_type,
            body: body.into(),
        }
    }
}

impl Target {
    /// A TLS connection without an application protocol.
    pub(crate) async fn connect_tls(&self) -> std::io::Result<TlsStream<TcpStream>> {
        let stream = TcpStream::connect(self.address).await?;
        kueue_lab_http::connect_tls_insecure(stream, "127.0.0.1").await
    }

    /// Sends requests, `parallel` of them at a time; returns how many had each status, 0 for none. A new connection
    /// replaces one that the server closed.
    async fn send_with(
        &self,
        token: Option<&str>,
        parallel: usize,
        requests: impl Iterator<Item = Request>,
    ) -> std::collections::BTreeMap<u16, usize> {
        let mut connection = Attacker::connect(self.address).await;
        let mut statuses = std::collections::BTreeMap::new();
        let mut open = futures::stream::FuturesUnordered::new();
        let mut count =
            |status: Option<u16>| *statuses.entry(status.unwrap_or(0)).or_insert(0) += 1;
        for (index, request) in requests.enumerate() {
            if index % 1000 == 999 {
                connection = Attacker::connect(self.address).await;
            }
            let (sender, response) =
                connection.request_of(request.method, &request.path, token, request.media_type);
            let _ = sender.unbounded_send(data(request.body));
            open.push(async move {
                let response = response.await.ok()?;
                let status = response.status().as_u16();
                // Read to the end.
                let _ = http_body_util::BodyExt::collect(response.into_body()).await;
                Some(status)
            });
            if open.len() >= parallel {
                let status = open.next().await.flatten();
                if status.is_none() {
                    connection = Attacker::connect(self.address).await;
                }
                count(status);
            }
        }
        while let Some(status) = open.next().await {
            count(status);
        }
        statuses
    }

    /// Sends requests of the service account at a high rate and prints how many had each status.
    pub(crate) async fn send(&self, requests: impl Iterator<Item = Request>) {
        let statuses = self.send_with(Some(&self.token), STREAMS, requests);
        println!("statuses {:?}", statuses.await);
    }

    /// As [`send`](Self::send), a number of them at a time.
    pub(crate) async fn send_parallel(
        &self,
        parallel: usize,
        requests: impl Iterator<Item = Request>,
    ) {
        let statuses = self.send_with(Some(&self.token), parallel, requests);
        println!("statuses {:?}", statuses.await);
    }

    /// As [`send`](Self::send) with another token, or without one.
    pub(crate) async fn send_as(
        &self,
        token: Option<&str>,
        requests: impl Iterator<Item = Request>,
    ) {
        let statuses = self.send_with(token, STREAMS, requests);
        println!("statuses {:?}", statuses.await);
    }

    /// Sends the same request, `parallel` at a time, for [`DURATION`].
    pub(crate) async fn repeat(&self, parallel: usize, request: impl Fn(usize) -> Request) {
        let end = Instant::now() + DURATION;
        let requests = (0..).map(request).take_while(|_| Instant::now() < end);
        self.send_parallel(parallel, requests).await;
    }
}
