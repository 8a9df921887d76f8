//! Logs connectivity changes of an API server: once when it stops answering and once when it
//! answers again, instead of every failed request in between.

use std::sync::Arc;

use http::Request;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{BoxError, service_fn};

use super::kubeconfig_context::error_chain;

/// The connectivity, by the last request.
#[derive(Clone, Copy, Default)]
enum Connectivity {
    /// No request has been answered yet; the caller reports that error.
    #[default]
    NeverConnected,
    /// The last request was answered.
    Connected,
    /// Requests fail, since this time.
    Disconnected(Instant),
}

/// A change that is logged.
#[derive(Debug, PartialEq, Eq)]
enum ConnectivityChange {
    Lost,
    /// After this many seconds.
    Restored(u64),
}

impl Connectivity {
    fn observe(&mut self, answered: bool) -> Option<ConnectivityChange> {
        let (next, news) = match (*self, answered) {
            (Self::NeverConnected, true) => (Self::Connected, None),
            (Self::Connected, false) => (
                Self::Disconnected(Instant::now()),
                Some(ConnectivityChange::Lost),
            ),
            (Self::Disconnected(since), true) => (
                Self::Connected,
                Some(ConnectivityChange::Restored(since.elapsed().as_secs())),
            ),
            (same, _) => (same, None),
        };
        *self = next;
        news
    }
}

/// A client that calls through `client` and logs whether `server` answers.
pub(super) fn with_connectivity_log(server: String, client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let whose = Arc::new(server);
    let contact = Arc::new(Mutex::new(Connectivity::default()));
    let service = service_fn(move |request: Request<Body>| {
        let (client, whose, contact) = (client.clone(), whose.clone(), contact.clone());
        async move {
            let answer = client.send(request).await;
            let news = contact.lock().observe(answer.is_ok());
            match news {
                Some(ConnectivityChange::Lost) => {
                    let why = answer
                        .as_ref()
                        .err()
                        .map(|e| error_chain(e))
                        .unwrap_or_default();
                    tracing::warn!("{whose} does not answer: {why}; retrying");
                }
                Some(ConnectivityChange::Restored(after)) => {
                    tracing::info!("{whose} answers again, after {after} s")
                }
                None => {}
            }
            answer.map_err(BoxError::from)
        }
    });
    Client::new(service, namespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_connectivity_changes_are_reported() {
        let mut contact = Connectivity::default();
        assert_eq!(contact.observe(false), None);
        assert_eq!(contact.observe(true), None);
        assert_eq!(contact.observe(false), Some(ConnectivityChange::Lost));
        assert_eq!(contact.observe(false), None);
        tokio::time::advance(std::time::Duration::from_secs(12)).await;
        assert_eq!(
            contact.observe(true),
            Some(ConnectivityChange::Restored(12))
        );
        assert_eq!(contact.observe(true), None);
    }
}
