//! Watches of a worker cluster: changes of Workloads and jobs that this manager created enqueue the
//! local Workloads.

use std::error::Error;
use std::pin::Pin;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{BoxStream, FuturesUnordered, Peekable};
use kube::Client;
use kube::api::WatchEvent;
use kube::core::DynamicObject;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_controller_runtime::{Context, ObjectKey};

use super::context::{MultiKueueContext, UPDATES_BATCH_PERIOD};
use crate::jobs::multikueue::Adapter;

/// The kind whose changes are watched.
#[derive(Clone, Copy)]
pub(super) enum WatchedKind<'a> {
    /// Workloads.
    Workload,
    /// Jobs of an adapter.
    Job(&'a Adapter),
}

impl WatchedKind<'_> {
    /// The URL path of all namespaces.
    fn url_path(self) -> String {
        match self {
            Self::Workload => "/apis/kueue.x-k8s.io/v1beta2/workloads".to_owned(),
            Self::Job(adapter) => adapter.url_path(),
        }
    }

    fn api_version(self) -> String {
        match self {
            Self::Workload => kueue_lab_api::v1beta2::API_VERSION.to_owned(),
            Self::Job(adapter) => adapter.gvk.api_version(),
        }
    }
}

/// The events of a watch.
pub(super) type RemoteEvents =
    Peekable<BoxStream<'static, kube::Result<WatchEvent<DynamicObject>>>>;

/// The end of a watch.
pub(super) struct WatchEnd {
    /// The error; `None` if the server has ended it, as servers do after a while.
    pub(super) error: Option<String>,
}

/// Why a watch of a worker cluster is not opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum EstablishWatchError {
    /// The request is not valid.
    #[error(transparent)]
    Request(#[from] http::Error),
    /// The cluster does not respond in time.
    #[error("watch establishment timed out")]
    Timeout,
    /// The cluster does not serve this API version.
    #[error(
        "failed to get API group resources: unable to retrieve the complete list of server APIs: {0}: the server could not find the requested resource"
    )]
    NotServed(String),
    /// The request fails.
    #[error("{}", error_text(.0))]
    Failed(#[source] kube::Error),
}

/// Opens a watch of the objects that the manager `origin` created.
///
/// # Errors
/// The cluster does not respond within `timeout`, or does not serve the kind.
pub(super) async fn establish_watch(
    client: &Client,
    kind: WatchedKind<'_>,
    origin: &str,
    (ctx, timeout): (&Context, Duration),
) -> Result<RemoteEvents, EstablishWatchError> {
    let url = format!(
        "{}?watch=true&allowWatchBookmarks=true&labelSelector=kueue.x-k8s.io/multikueue-origin%3D{origin}",
        kind.url_path()
    );
    let request = http::Request::get(url).body(Vec::new())?;
    let opened = tokio::select! {
        opened = client.request_events::<DynamicObject>(request) => opened,
        () = ctx.clock.sleep(timeout) => return Err(EstablishWatchError::Timeout),
    };
    match opened {
        Ok(events) => Ok(events.boxed().peekable()),
        Err(error) if is_not_found(&error) => {
            Err(EstablishWatchError::NotServed(kind.api_version()))
        }
        Err(error) => Err(EstablishWatchError::Failed(error)),
    }
}

/// The message of the API server, or the error with its causes.
fn error_text(error: &kube::Error) -> String {
    let first: &dyn Error = match error {
        kube::Error::Api(status) => return status.message.clone(),
        kube::Error::Service(error) => error.as_ref(),
        error => error,
    };
    let mut text = first.to_string();
    let mut cause = first.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}

/// Enqueues the Workloads of changed objects, until the watch ends.
pub(super) async fn consume_watch(
    mk: &MultiKueueContext,
    kind: WatchedKind<'_>,
    mut events: RemoteEvents,
) -> WatchEnd {
    while let Some(event) = events.next().await {
        let object = match event {
            Ok(WatchEvent::Added(o) | WatchEvent::Modified(o) | WatchEvent::Deleted(o)) => o,
            Ok(WatchEvent::Bookmark(_)) => continue,
            Ok(WatchEvent::Error(status)) => return WatchEnd::failed(status.message.clone()),
            Err(error) => return WatchEnd::failed(error_text(&error)),
        };
        let keys = match kind {
            WatchedKind::Workload => vec![ObjectKey::new(
                object.metadata.namespace.unwrap_or_default(),
                object.metadata.name.unwrap_or_default(),
            )],
            WatchedKind::Job(adapter) => adapter.workload_keys(&object, &mk.shared),
        };
        for key in keys {
            if mk.shared.informers.workloads.get(&key).is_some() {
                mk.workload_events.add_after(key, UPDATES_BATCH_PERIOD);
            }
        }
    }
    WatchEnd { error: None }
}

impl WatchEnd {
    fn failed(error: String) -> Self {
        Self { error: Some(error) }
    }

    /// The reason of a connection that is lost.
    pub(super) fn message(&self) -> String {
        match &self.error {
            Some(error) => format!("watch failed: {error}"),
            None => "watch ended repeatedly".to_owned(),
        }
    }
}

/// Waits until one of the watches ends before its first event. Without watches, or while all of them last, it
/// does not return.
pub(super) async fn first_end<'a>(watches: impl Iterator<Item = &'a mut RemoteEvents>) -> WatchEnd {
    let ends = watches.map(|events| async {
        match Pin::new(events).peek().await {
            None => WatchEnd { error: None },
            Some(Err(error)) => WatchEnd::failed(error_text(error)),
            Some(Ok(WatchEvent::Error(status))) => WatchEnd::failed(status.message.clone()),
            Some(Ok(_)) => std::future::pending().await,
        }
    });
    let mut ends: FuturesUnordered<_> = ends.collect();
    match ends.next().await {
        Some(end) => end,
        None => std::future::pending().await,
    }
}
