//! Watches of the cluster: one task for each kind converts objects to rows and sends watch updates.
//!
//! The tasks send to a bounded channel, so they wait for a slow UI; the watch cache of the API server
//! buffers events meanwhile.

use std::fmt::Debug;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use kube::core::error_boundary::InvalidObject;
use kube::core::{DeserializeGuard, Status};
use kube::runtime::utils::Backoff;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_kind};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;

use super::model::event::EventRow;
use super::model::meta::namespaced_name;
use super::model::node::NodeRow;
use super::model::pod::PodRow;
use super::model::queues::{
    ClusterQueueRow, CohortRow, LocalQueueRow, ResourceFlavorRow, WorkloadPriorityClassRow,
};
use super::model::watch_status::{WatchFailure, WatchStatus};
use super::model::workload::WorkloadRow;
use super::model::{Delta, Kind, WatchUpdate};
use super::msg::Msg;
use super::text::sanitize;

/// Objects in one page of a list.
const PAGE_SIZE: u32 = 500;

/// Starts the watches of all kinds; dropping the set stops them. With a namespace, namespaced kinds
/// are watched in that namespace only.
pub(crate) fn start_watches(
    client: &Client,
    namespace: Option<&str>,
    out: &Sender<Msg>,
) -> JoinSet<()> {
    let mut w = Watcher {
        client,
        namespace,
        out,
        tasks: JoinSet::new(),
    };
    w.cluster_scoped(
        Kind::ResourceFlavor,
        ResourceFlavorRow::of,
        WatchUpdate::Flavor,
    );
    w.cluster_scoped(
        Kind::WorkloadPriorityClass,
        WorkloadPriorityClassRow::of,
        WatchUpdate::PriorityClass,
    );
    w.cluster_scoped(Kind::Cohort, CohortRow::of, WatchUpdate::Cohort);
    w.cluster_scoped(
        Kind::ClusterQueue,
        ClusterQueueRow::of,
        WatchUpdate::ClusterQueue,
    );
    w.namespaced(Kind::LocalQueue, LocalQueueRow::of, WatchUpdate::LocalQueue);
    w.namespaced(Kind::Workload, WorkloadRow::of, WatchUpdate::Workload);
    w.cluster_scoped(Kind::Node, NodeRow::of, WatchUpdate::Node);
    w.namespaced(Kind::Pod, PodRow::of, WatchUpdate::Pod);
    w.namespaced(Kind::Event, EventRow::of, WatchUpdate::Event);
    w.tasks
}

/// A kind of object that can be watched.
trait WatchableObject:
    Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + 'static
{
}

impl<K> WatchableObject for K where
    K: Resource<DynamicType = ()> + DeserializeOwned + Clone + Debug + Send + 'static
{
}

/// The configuration of all watches.
struct Watcher<'a> {
    client: &'a Client,
    namespace: Option<&'a str>,
    out: &'a Sender<Msg>,
    tasks: JoinSet<()>,
}

impl Watcher<'_> {
    /// Watches a cluster-scoped kind, or all namespaces.
    fn cluster_scoped<K: WatchableObject, R: Send + 'static>(
        &mut self,
        kind: Kind,
        row: fn(&K) -> R,
        update: fn(Delta<R>) -> WatchUpdate,
    ) {
        let strict = Api::all(self.client.clone());
        let lenient = Api::all(self.client.clone());
        self.spawn(strict, lenient, RowMapper { kind, row, update });
    }

    /// Watches a namespaced kind in the configured namespace.
    fn namespaced<K, R>(
        &mut self,
        kind: Kind,
        row: fn(&K) -> R,
        update: fn(Delta<R>) -> WatchUpdate,
    ) where
        K: WatchableObject + Resource<Scope = NamespaceResourceScope>,
        R: Send + 'static,
    {
        match self.namespace {
            None => self.cluster_scoped(kind, row, update),
            Some(namespace) => {
                let strict = Api::namespaced(self.client.clone(), namespace);
                let lenient = Api::namespaced(self.client.clone(), namespace);
                self.spawn(strict, lenient, RowMapper { kind, row, update });
            }
        }
    }

    /// Watches with typed decoding, and after a decoding error with a decoder that skips invalid
    /// objects.
    #[allow(clippy::result_large_err, reason = "the error is kube's own, and rare")]
    fn spawn<K: WatchableObject, R: Send + 'static>(
        &mut self,
        strict: Api<K>,
        lenient: Api<DeserializeGuard<K>>,
        mapper: RowMapper<K, R>,
    ) {
        let out = self.out.clone();
        self.tasks.spawn(async move {
            let read = |object: K| Ok(object);
            if run_watch(strict, read, &mapper, &out, true).await == WatchEnd::InvalidObject {
                let read = |object: DeserializeGuard<K>| object.0;
                run_watch(lenient, read, &mapper, &out, false).await;
            }
        });
    }
}

/// Converts changes of a kind to watch updates.
struct RowMapper<K, R> {
    kind: Kind,
    row: fn(&K) -> R,
    update: fn(Delta<R>) -> WatchUpdate,
}

/// Why a watch ended.
#[derive(PartialEq, Eq)]
enum WatchEnd {
    /// The receiver was dropped.
    ReceiverClosed,
    /// An object cannot be decoded.
    InvalidObject,
}

/// Watches one kind until the receiver is dropped or an object cannot be decoded.
async fn run_watch<W: WatchableObject, K, R>(
    api: Api<W>,
    read: fn(W) -> Result<K, InvalidObject>,
    mapper: &RowMapper<K, R>,
    out: &Sender<Msg>,
    strict: bool,
) -> WatchEnd {
    let kind = mapper.kind;
    let config = watcher::Config::default().page_size(PAGE_SIZE);
    let mut stream = watch_kind(api, config)
        .backoff(WatchBackoff::default())
        .boxed();
    let mut listed: Vec<R> = Vec::new();
    let mut synced = false;
    while let Some(event) = stream.next().await {
        let mut messages = Vec::new();
        let row = |object: W, messages: &mut Vec<Msg>| match read(object) {
            Ok(object) => Some((mapper.row)(&object)),
            Err(invalid) => {
                let key = namespaced_name(&invalid.metadata);
                messages.push(Msg::InvalidObject(kind, key, sanitize(&invalid.error)));
                None
            }
        };
        let changed = |change| Msg::WatchUpdate((mapper.update)(change));
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(object)) => listed.extend(row(object, &mut messages)),
            Ok(Event::InitDone) => {
                messages.push(changed(Delta::Replaced(std::mem::take(&mut listed))));
            }
            Ok(Event::Apply(object)) => {
                let row = row(object, &mut messages);
                messages.extend(row.map(|row| changed(Delta::Updated(Box::new(row)))));
            }
            Ok(Event::Delete(object)) => {
                messages.push(changed(Delta::Deleted(namespaced_name(object.meta()))))
            }
            Err(error) if strict && is_decode_error(&error) => return WatchEnd::InvalidObject,
            Err(error) => {
                synced = false;
                let status = WatchStatus::Failing(watch_failure(&error));
                messages.push(Msg::WatchUpdate(WatchUpdate::Status(kind, status)));
            }
        }
        let has_rows = messages.iter().any(
            |msg| matches!(msg, Msg::WatchUpdate(update) if !matches!(update, WatchUpdate::Status(..))),
        );
        if has_rows && !synced {
            synced = true;
            messages.push(Msg::WatchUpdate(WatchUpdate::Status(
                kind,
                WatchStatus::Synced,
            )));
        }
        for msg in messages {
            if out.send(msg).await.is_err() {
                return WatchEnd::ReceiverClosed;
            }
        }
    }
    WatchEnd::ReceiverClosed
}

/// Whether the error is a decoding error of an object.
fn is_decode_error(error: &watcher::Error) -> bool {
    use watcher::Error::{InitialListFailed, WatchFailed, WatchStartFailed};
    matches!(
        error,
        InitialListFailed(kube::Error::SerdeError(_))
            | WatchStartFailed(kube::Error::SerdeError(_))
            | WatchFailed(kube::Error::SerdeError(_))
    )
}

/// Classifies an error of a watch.
fn watch_failure(error: &watcher::Error) -> WatchFailure {
    let status: Option<&Status> = match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => Some(status),
        watcher::Error::WatchError(status) => Some(status),
        _ => None,
    };
    match status {
        Some(s) if s.code == 404 => WatchFailure::NotInstalled,
        Some(s) if s.code == 403 || s.code == 401 => WatchFailure::Forbidden(sanitize(&s.message)),
        Some(s) => WatchFailure::Other(sanitize(&s.message)),
        None => WatchFailure::Other(sanitize(&error.to_string())),
    }
}

/// The backoff between retries; short, because the UI is interactive.
#[derive(Debug, Default)]
struct WatchBackoff {
    tries: u32,
}

impl Iterator for WatchBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let wait = Duration::from_millis(200) * 2u32.pow(self.tries.min(4));
        self.tries = self.tries.saturating_add(1);
        Some(wait)
    }
}

impl Backoff for WatchBackoff {
    fn reset(&mut self) {
        self.tries = 0;
    }
}
