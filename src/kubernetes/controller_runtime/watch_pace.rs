//! [`paced`]: a client that opens no watch at once after one that ended early.
//!
//! The state machine of kube opens a watch that has ended without an error again at once. An API server, or a
//! proxy before it, that accepts watches and ends them would be asked without a pause.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::watch_backoff::WatchBackoff;

/// A watch that lasts as long has not ended early.
const STABLE: Duration = Duration::from_secs(10);

/// The watches of one informer.
#[derive(Default)]
struct WatchPace {
    accepted: Option<Instant>,
    /// Whether the watch before ended early: the first one that does is opened again at once.
    is_repeated: bool,
    backoff: WatchBackoff,
}

impl WatchPace {
    /// The delay of the next watch.
    fn delay(&mut self, now: Instant) -> Duration {
        let early = self
            .accepted
            .is_some_and(|accepted| now - accepted < STABLE);
        let was_early = std::mem::replace(&mut self.is_repeated, early);
        if !early {
            self.backoff = WatchBackoff::default();
        }
        match early && was_early {
            true => self.backoff.next().unwrap_or_default(),
            false => Duration::ZERO,
        }
    }
}

/// The requests of `client`, with delays between watches that end early.
pub(super) fn paced(client: Client) -> Client {
    let pace = Arc::new(Mutex::new(WatchPace::default()));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (client, pace) = (client.clone(), pace.clone());
        async move {
            let is_watch = request
                .uri()
                .query()
                .is_some_and(|q| q.contains("watch=true"));
            if !is_watch {
                return client.send(request).await;
            }
            let delay = pace.lock().delay(Instant::now());
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let response = client.send(request).await?;
            if response.status().is_success() {
                pace.lock().accepted = Some(Instant::now());
            }
            Ok(response)
        }
    });
    Client::new(service, "default")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watches_that_end_early_are_opened_later_and_later() {
        let mut pace = WatchPace::default();
        let mut now = Instant::now();
        let mut next = |lasted: u64| {
            now += Duration::from_secs(lasted);
            let delay = pace.delay(now);
            now += delay;
            pace.accepted = Some(now);
            delay.as_millis()
        };
        assert_eq!([0; 5].map(&mut next), [0, 0, 800, 1600, 3200]);
        assert_eq!([0, 10, 0, 0, 60].map(&mut next), [5000, 0, 0, 800, 0]);
    }
}
