//! A client that reads its credentials again when the cluster does not take them any more: tokens in
//! kubeconfigs and those of exec plugins expire, and a lab runs for days.
//!
//! Only the user is read again. A context that means another cluster by now is not followed there.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::{Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tower::{BoxError, service_fn};

use super::OneContext;

/// Credentials that are refused are read again this often; an exec plugin may ask a person.
const PAUSE: Duration = Duration::from_secs(2);

struct Renewing {
    context: OneContext,
    current: ArcSwap<Client>,
    /// When the credentials were last read; held while they are.
    read: Mutex<Option<Instant>>,
}

/// A client that calls through `first` until its credentials are refused, and then through one with
/// those that are in the context's file by then.
pub(super) fn client(context: OneContext, first: Client) -> Client {
    let namespace = first.default_namespace().to_owned();
    let renewing = Arc::new(Renewing {
        context,
        current: ArcSwap::from_pointee(first),
        read: Mutex::default(),
    });
    let service = service_fn(move |request| {
        let renewing = renewing.clone();
        async move { renewing.call(request).await }
    });
    Client::new(service, namespace)
}

impl Renewing {
    async fn call(&self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await?;
        let again = || Request::from_parts(head.clone(), Body::from(body.clone()));
        let used = self.current.load_full();
        let answer = used.send(again()).await?;
        if answer.status() != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        match self.renewed(&used).await {
            Some(client) => Ok(client.send(again()).await?),
            None => Ok(answer),
        }
    }

    /// A client with other credentials than those of `used`, if there are any.
    async fn renewed(&self, used: &Arc<Client>) -> Option<Arc<Client>> {
        let mut read = self.read.lock().await;
        let current = self.current.load_full();
        if !Arc::ptr_eq(&current, used) {
            // Somebody was quicker.
            return Some(current);
        }
        if read.is_some_and(|at| at.elapsed() < PAUSE) {
            return None;
        }
        *read = Some(Instant::now());
        let client = Arc::new(self.context.again()?.client().await.ok()?);
        tracing::info!("the cluster refused the credentials; they were read again");
        self.current.store(client.clone());
        Some(client)
    }
}
