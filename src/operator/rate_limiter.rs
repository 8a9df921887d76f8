//! How often the controller calls the API server at most: `clientConnection` of Kueue's
//! configuration, by the rules of client-go's token bucket. Watches wait for nobody.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{BoxError, service_fn};

use kueue_lab_api::config::ClientConnection;

/// So many calls a second, and so many at once after a rest.
struct TokenBucket {
    /// From one call to the next.
    interval: Duration,
    /// How much earlier than its turn a call may come.
    slack: Duration,
    /// The turn of the next call.
    next: Mutex<Instant>,
}

impl TokenBucket {
    fn new(qps: f32, burst: i32, now: Instant) -> Option<Self> {
        // As client-go has it: a rate below zero is none at all.
        let qps = f64::from(qps);
        if !qps.is_finite() || qps <= 0.0 {
            return None;
        }
        let interval = Duration::try_from_secs_f64(1.0 / qps).ok()?;
        let burst = u32::try_from(burst.max(1)).unwrap_or(1);
        Some(Self {
            interval,
            slack: interval.checked_mul(burst - 1)?,
            next: Mutex::new(now),
        })
    }

    /// Takes the next turn, and says how long to wait for it.
    fn reserve(&self, now: Instant) -> Duration {
        let mut next = self.next.lock();
        let turn = (*next).max(now);
        *next = turn + self.interval;
        turn.saturating_duration_since(now)
            .saturating_sub(self.slack)
    }
}

/// The same client, which calls no more often than a configuration says.
pub(super) fn rate_limited(client: Client, connection: Option<&ClientConnection>) -> Client {
    let Some(connection) = connection else {
        return client;
    };
    let (qps, burst) = (connection.qps, connection.burst);
    let (Some(qps), Some(burst)) = (qps, burst) else {
        return client;
    };
    let Some(pace) = TokenBucket::new(qps, burst, Instant::now()) else {
        return client;
    };
    let (pace, namespace) = (Arc::new(pace), client.default_namespace().to_owned());
    let service = service_fn(move |request: Request<Body>| {
        let (client, pace) = (client.clone(), pace.clone());
        async move {
            if !is_watch(&request) {
                let wait = pace.reserve(Instant::now());
                if !wait.is_zero() {
                    tokio::time::sleep(wait).await;
                }
            }
            client.send(request).await.map_err(BoxError::from)
        }
    });
    Client::new(service, namespace)
}

fn is_watch(request: &Request<Body>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    let mut pairs = query.split('&');
    pairs.any(|pair| matches!(pair, "watch=true" | "watch=1" | "watch"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::Response;

    use super::*;

    #[test]
    fn requests_above_the_burst_are_limited_to_qps() {
        let start = Instant::now();
        let pace = TokenBucket::new(10.0, 3, start).unwrap();
        let waits: Vec<_> = (0..5).map(|_| pace.reserve(start).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100, 200]);
        // After a rest there is a whole burst again, and no more than that.
        let later = start + Duration::from_secs(60);
        let waits: Vec<_> = (0..4).map(|_| pace.reserve(later).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 100]);
        assert!(TokenBucket::new(-1.0, 3, start).is_none());
        assert!(TokenBucket::new(f32::NAN, 3, start).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn calls_wait_and_watches_do_not() {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = calls.clone();
        let inner = service_fn(move |_: Request<Body>| {
            counted.fetch_add(1, Ordering::SeqCst);
            async { Ok::<_, BoxError>(Response::new(Body::empty())) }
        });
        let connection = ClientConnection {
            qps: Some(2.0),
            burst: Some(1),
        };
        let client = rate_limited(Client::new(inner, "default"), Some(&connection));
        let call = |uri: &str| {
            let request = Request::get(uri).body(Body::empty()).unwrap();
            let client = client.clone();
            async move { client.send(request).await.unwrap() }
        };
        let begun = Instant::now();
        for _ in 0..3 {
            call("http://c/api/v1/pods").await;
        }
        assert_eq!(begun.elapsed().as_millis(), 1000);
        for _ in 0..10 {
            call("http://c/api/v1/pods?watch=true&resourceVersion=1").await;
        }
        assert_eq!(begun.elapsed().as_millis(), 1000);
        assert_eq!(calls.load(Ordering::SeqCst), 13);
    }
}
