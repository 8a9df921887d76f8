//! Rate limiting of API requests by `clientConnection` of Kueue's configuration, with client-go's
//! token bucket. Watches are not limited.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use tokio::time::Instant;
use tower::{BoxError, service_fn};

use kueue_lab_api::config::ClientConnection;

/// A token bucket of `qps` tokens per second and `burst` capacity.
struct TokenBucket {
    /// The interval between tokens.
    interval: Duration,
    /// The time by which a request may be sent before its token.
    slack: Duration,
    /// The time of the next token.
    next: Mutex<Instant>,
}

impl TokenBucket {
    fn new(qps: f32, burst: i32, now: Instant) -> Option<Self> {
        // As client-go: a negative rate disables the limit.
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

    /// Takes the next token; returns the delay until it.
    fn reserve(&self, now: Instant) -> Duration {
        let mut next = self.next.lock();
        let token_time = (*next).max(now);
        *next = token_time + self.interval;
        token_time
            .saturating_duration_since(now)
            .saturating_sub(self.slack)
    }
}

/// The client with a rate limit.
pub(super) fn rate_limited(client: Client, connection: Option<&ClientConnection>) -> Client {
    let Some(connection) = connection else {
        return client;
    };
    let (qps, burst) = (connection.qps, connection.burst);
    let (Some(qps), Some(burst)) = (qps, burst) else {
        return client;
    };
    let Some(bucket) = TokenBucket::new(qps, burst, Instant::now()) else {
        return client;
    };
    let (bucket, namespace) = (Arc::new(bucket), client.default_namespace().to_owned());
    let service = service_fn(move |request: Request<Body>| {
        let (client, bucket) = (client.clone(), bucket.clone());
        async move {
            if !is_watch(&request) {
                let wait = bucket.reserve(Instant::now());
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
        let bucket = TokenBucket::new(10.0, 3, start).unwrap();
        let delays: Vec<_> = (0..5).map(|_| bucket.reserve(start).as_millis()).collect();
        assert_eq!(delays, [0, 0, 0, 100, 200]);
        // After an idle period the bucket is full again, but not more than full.
        let later = start + Duration::from_secs(60);
        let delays: Vec<_> = (0..4).map(|_| bucket.reserve(later).as_millis()).collect();
        assert_eq!(delays, [0, 0, 0, 100]);
        assert!(TokenBucket::new(-1.0, 3, start).is_none());
        assert!(TokenBucket::new(f32::NAN, 3, start).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn requests_are_limited_and_watches_are_not() {
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
        let start = Instant::now();
        for _ in 0..3 {
            call("http://c/api/v1/pods").await;
        }
        assert_eq!(start.elapsed().as_millis(), 1000);
        for _ in 0..10 {
            call("http://c/api/v1/pods?watch=true&resourceVersion=1").await;
        }
        assert_eq!(start.elapsed().as_millis(), 1000);
        assert_eq!(calls.load(Ordering::SeqCst), 13);
    }
}
