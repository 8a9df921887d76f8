//! An upgraded connection: its limits, its end, and the task that serves it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// A connection without traffic is closed after this time (`streaming-connection-idle-timeout`).
const IDLE_TIMEOUT: Duration = Duration::from_secs(4 * 60 * 60);
/// The timeout for a client to create the streams of a session.
pub(crate) const STREAM_CREATION_TIMEOUT: Duration = Duration::from_secs(30);
/// The timeout for a client to close the connection at the end of a session.
pub(crate) const FINISH_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The number of sessions that are open at the same time.
#[derive(Debug)]
pub struct SessionLimits {
    total: usize,
    per_client: usize,
    open: Arc<Mutex<HashMap<String, usize>>>,
}

/// A session that counts until it is dropped.
#[derive(Debug)]
pub struct SessionPermit {
    client: String,
    open: Arc<Mutex<HashMap<String, usize>>>,
}

impl SessionLimits {
    /// Allows `total` sessions at the same time, and `per_client` of one client.
    pub fn new(total: usize, per_client: usize) -> Self {
        Self {
            total,
            per_client,
            open: Arc::default(),
        }
    }

    /// A permit for one session; `None` if there are too many.
    pub fn acquire(&self, client: &str) -> Option<SessionPermit> {
        let mut open = self.open.lock();
        let total: usize = open.values().sum();
        let of_client = open.get(client).copied().unwrap_or(0);
        if total >= self.total || of_client >= self.per_client {
            return None;
        }
        open.insert(client.to_owned(), of_client + 1);
        Some(SessionPermit {
            client: client.to_owned(),
            open: self.open.clone(),
        })
    }
}

impl Drop for SessionPermit {
    fn drop(&mut self) {
        let mut open = self.open.lock();
        if let Some(count) = open.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.client);
            }
        }
    }
}

/// An upgraded connection with the stop token and the permit of its server.
pub struct Session {
    upgrade: OnUpgrade,
    permit: SessionPermit,
    stop: CancellationToken,
}

impl Session {
    /// The session of a request; `None` if its connection cannot be upgraded. It ends when `stop`
    /// is cancelled.
    pub fn new(head: &Parts, permit: SessionPermit, stop: CancellationToken) -> Option<Self> {
        Some(Self {
            upgrade: head.extensions.get::<OnUpgrade>()?.clone(),
            permit,
            stop,
        })
    }

    /// Copies the data of the connection to another upgraded one and back, until both end.
    pub fn tunnel(self, other: OnUpgrade) {
        self.spawn(async move |mut connection| {
            let copied = match other.await {
                Ok(other) => {
                    let mut other = TokioIo::new(other);
                    let copied = tokio::io::copy_bidirectional(&mut connection, &mut other);
                    copied.await.map(drop).map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            };
            if let Err(error) = copied {
                tracing::debug!(%error, "proxied connection failed");
            }
        });
    }

    /// Serves the connection in a task, after the response 101 has been sent.
    pub(crate) fn spawn<F, S>(self, serve: F)
    where
        F: FnOnce(TokioIo<Upgraded>) -> S + Send + 'static,
        S: Future<Output = ()> + Send,
    {
        let Self {
            upgrade,
            permit,
            stop,
        } = self;
        tokio::spawn(async move {
            match upgrade.await {
                Ok(connection) => {
                    stop.run_until_cancelled(serve(TokioIo::new(connection)))
                        .await;
                }
                Err(error) => tracing::debug!(%error, "connection was not upgraded"),
            }
            drop(permit);
        });
    }
}

/// Completes when there is no activity for the idle timeout.
pub(crate) async fn idle(mut active: watch::Receiver<()>) {
    while let Ok(Ok(())) = tokio::time::timeout(IDLE_TIMEOUT, active.changed()).await {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_counted_per_client() {
        let limits = SessionLimits::new(3, 2);
        let first = limits.acquire("a").unwrap();
        let second = limits.acquire("a").unwrap();
        assert!(limits.acquire("a").is_none());
        let other = limits.acquire("b").unwrap();
        assert!(limits.acquire("c").is_none());
        drop(first);
        assert!(limits.acquire("a").is_some());
        drop((second, other));
        assert!(limits.open.lock().is_empty());
    }
}
