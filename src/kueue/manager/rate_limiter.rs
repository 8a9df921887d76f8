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
use kueue_lab_controller_runtime::TokenBucket;

/// A token bucket that requests share.
struct SharedBucket {
    bucket: TokenBucket,
    /// The time when it is full.
    full_at: Mutex<Instant>,
}

impl SharedBucket {
    fn new(bucket: TokenBucket, now: Instant) -> Self {
        Self {
            bucket,
            full_at: Mutex::new(now),
        }
    }

    /// Takes the next token; returns the delay until it.
    fn reserve(&self, now: Instant) -> Duration {
        let mut full_at = self.full_at.lock();
        *full_at = (*full_at).max(now) + self.bucket.time_of(1);
        self.bucket.wait(full_at.saturating_duration_since(now))
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
    let Some(bucket) = TokenBucket::of_configuration(qps, burst) else {
        return client;
    };
    let bucket = Arc::new(SharedBucket::new(bucket, Instant::now()));
    let namespace = client.default_namespace().to_owned();
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
        let bucket = TokenBucket::of_configuration(10.0, 3).unwrap();
        let bucket = SharedBucket::new(bucket, start);
        let delays: Vec<_> = (0..5).map(|_| bucket.reserve(start).as_millis()).collect();
        assert_eq!(delays, [0, 0, 0, 100, 200]);
        // After an idle period the bucket is full again, but not more than full.
        let later = start + Duration::from_secs(60);
        let delays: Vec<_> = (0..4).map(|_| bucket.reserve(later).as_millis()).collect();
        assert_eq!(delays, [0, 0, 0, 100]);
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
