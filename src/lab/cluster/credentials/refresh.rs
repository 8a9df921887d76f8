//! A client that renews its credentials before they expire and when the cluster rejects them:
//! tokens of kubeconfigs and credential plugins expire, and a lab runs for days.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tower::{BoxError, service_fn};

use crate::ClusterError;

/// Minimum interval between two reads of the credentials; a plugin may have to call a server.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(2);
/// Credentials that expire this soon are renewed while still valid.
const REFRESH_BEFORE_EXPIRY: SignedDuration = SignedDuration::from_secs(60);

/// A client, and when its credentials expire.
pub(crate) struct AuthenticatedClient {
    /// The client.
    pub(crate) client: Client,
    /// When they expire, if known.
    pub(crate) expires: Option<Timestamp>,
}

/// Creates a client with the current credentials.
type Reload =
    Box<dyn Fn() -> BoxFuture<'static, Result<AuthenticatedClient, ClusterError>> + Send + Sync>;

struct CredentialRefresher {
    reload: Reload,
    current: ArcSwap<AuthenticatedClient>,
    /// When the credentials were last read; locked during a read.
    last_refresh: Mutex<Option<Instant>>,
}

/// A client that calls through `first` until its credentials expire or are rejected, and then
/// through one that `reload` creates.
pub(crate) fn refreshing_client<F>(first: AuthenticatedClient, again: F) -> Client
where
    F: Fn() -> BoxFuture<'static, Result<AuthenticatedClient, ClusterError>>
        + Send
        + Sync
        + 'static,
{
    let namespace = first.client.default_namespace().to_owned();
    let renewing = Arc::new(CredentialRefresher {
        reload: Box::new(again),
        current: ArcSwap::from_pointee(first),
        last_refresh: Mutex::default(),
    });
    let service = service_fn(move |request| {
        let renewing = renewing.clone();
        async move { renewing.call(request).await }
    });
    Client::new(service, namespace)
}

impl CredentialRefresher {
    async fn call(self: Arc<Self>, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await?;
        let again = || Request::from_parts(head.clone(), Body::from(body.clone()));
        let used = self.valid_client(Timestamp::now()).await;
        let answer = used.client.send(again()).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        match self
            .refresh(&used, "the cluster rejected the credentials")
            .await
        {
            Some(access) => Ok(access.client.send(again()).await?),
            None => Ok(answer),
        }
    }

    /// Credentials that are valid at `now`, as far as that is known.
    async fn valid_client(self: &Arc<Self>, now: Timestamp) -> Arc<AuthenticatedClient> {
        let current = self.current.load_full();
        let Some(left) = current.expires.map(|end| end.duration_since(now)) else {
            return current;
        };
        let why = "the credentials expired";
        if left <= SignedDuration::ZERO {
            return self.refresh(&current, why).await.unwrap_or(current);
        }
        if left < REFRESH_BEFORE_EXPIRY && self.last_refresh.try_lock().is_ok() {
            // Renewed in the background: requests do not wait for it.
            let (renewing, used) = (self.clone(), current.clone());
            tokio::spawn(async move {
                renewing.refresh(&used, "the credentials expire soon").await;
            });
        }
        current
    }

    /// A client with credentials other than those of `used`, if there are any.
    async fn refresh(
        &self,
        used: &Arc<AuthenticatedClient>,
        why: &str,
    ) -> Option<Arc<AuthenticatedClient>> {
        let mut read = self.last_refresh.lock().await;
        let current = self.current.load_full();
        if !Arc::ptr_eq(&current, used) {
            // Another request has refreshed them.
            return Some(current);
        }
        if read.is_some_and(|at| at.elapsed() < MIN_REFRESH_INTERVAL) {
            return None;
        }
        let outcome = (self.reload)().await;
        // A slow plugin is subject to the same interval.
        *read = Some(Instant::now());
        match outcome {
            Ok(access) => {
                tracing::info!("{why}; refreshed");
                let access = Arc::new(access);
                self.current.store(access.clone());
                Some(access)
            }
            Err(error) => {
                tracing::warn!("{why}; they could not be refreshed: {error}");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt;

    use super::*;

    /// A cluster that answers with the number of the credentials and rejects those before `good`.
    fn numbered(number: usize, good: Arc<AtomicUsize>) -> Client {
        let service = service_fn(move |_: Request<Body>| {
            let refused = number < good.load(Ordering::SeqCst);
            let mut answer = Response::new(Body::from(number.to_string().into_bytes()));
            if refused {
                *answer.status_mut() = StatusCode::UNAUTHORIZED;
            }
            async move { Ok::<_, BoxError>(answer) }
        });
        Client::new(service, "default")
    }

    /// A client whose n-th credentials are valid for `lasting` from when they are read.
    fn tested(good: &Arc<AtomicUsize>, lasting: Option<i64>) -> (Client, Arc<AtomicUsize>) {
        let reads = Arc::new(AtomicUsize::new(0));
        let (good, counted) = (good.clone(), reads.clone());
        let make = move |number| AuthenticatedClient {
            client: numbered(number, good.clone()),
            expires: lasting.map(|s| Timestamp::now() + SignedDuration::from_secs(s)),
        };
        let first = make(0);
        let again = move || {
            let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
            let access = make(number);
            async move { Ok(access) }.boxed()
        };
        (refreshing_client(first, again), reads)
    }

    async fn asked(client: &Client) -> (u16, String) {
        let answer = client.send(Request::new(Body::empty())).await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.into_body().collect_bytes().await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn rejected_credentials_are_refreshed_once_per_interval() {
        let good = Arc::new(AtomicUsize::new(0));
        let (client, reads) = tested(&good, None);
        assert_eq!(asked(&client).await, (200, "0".into()));
        good.store(1, Ordering::SeqCst);
        assert_eq!(asked(&client).await, (200, "1".into()));
        good.store(2, Ordering::SeqCst);
        assert_eq!(asked(&client).await.0, 401);
        assert_eq!(reads.load(Ordering::SeqCst), 1);
        tokio::time::advance(MIN_REFRESH_INTERVAL).await;
        assert_eq!(asked(&client).await, (200, "2".into()));
    }

    #[tokio::test(start_paused = true)]
    async fn expired_credentials_are_not_used() {
        let good = Arc::new(AtomicUsize::new(0));
        let (client, reads) = tested(&good, Some(0));
        assert_eq!(asked(&client).await, (200, "1".into()));
        assert_eq!(reads.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn expiring_credentials_are_refreshed_in_the_background() {
        let good = Arc::new(AtomicUsize::new(0));
        let (client, reads) = tested(&good, Some(30));
        assert_eq!(asked(&client).await, (200, "0".into()));
        while reads.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(asked(&client).await, (200, "1".into()));
    }
}
