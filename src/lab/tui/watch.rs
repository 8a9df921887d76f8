//! Watches of the cluster: one task for each kind converts objects to rows and sends watch updates.
//!
//! The tasks send to a bounded channel, so they wait for a slow UI; the watch cache of the API server
//! buffers events meanwhile.

use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use kube::runtime::watcher::{self, Config, Event};
use kube::{Client, Resource};
use kueue_lab_codec::Codec;
use kueue_lab_controller_runtime::api_errors::watch_error_status;
use kueue_lab_controller_runtime::{Api, ObjectKey, WatchError, watcher as watch};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;

use super::model::devices::{ResourceClaimRow, ResourceSliceRow};
use super::model::event::EventRow;
use super::model::managed_job::ManagedJobRow;
use super::model::meta::object_key;
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
    w.cluster_scoped(Kind::ManagedJob, ManagedJobRow::of, WatchUpdate::ManagedJob);
    w.cluster_scoped(
        Kind::ResourceSlice,
        ResourceSliceRow::of,
        WatchUpdate::ResourceSlice,
    );
    w.namespaced(
        Kind::ResourceClaim,
        ResourceClaimRow::of,
        WatchUpdate::ResourceClaim,
    );
    w.tasks
}

/// A kind of object that can be watched.
trait WatchableObject: Resource<DynamicType = ()> + Codec + Send + 'static {}

impl<K> WatchableObject for K where K: Resource<DynamicType = ()> + Codec + Send + 'static {}

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
        let api = Api::all(self.client.clone());
        self.spawn(api, RowMapper { kind, row, update });
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
                let api = Api::namespaced(self.client.clone(), namespace);
                self.spawn(api, RowMapper { kind, row, update });
            }
        }
    }

    fn spawn<K: WatchableObject, R: Send + 'static>(
        &mut self,
        api: Api<K>,
        mapper: RowMapper<K, R>,
    ) {
        let out = self.out.clone();
        self.tasks
            .spawn(async move { run_watch(api, &mapper, &out).await });
    }
}

/// Converts changes of a kind to watch updates.
struct RowMapper<K, R> {
    kind: Kind,
    row: fn(&K) -> R,
    update: fn(Delta<R>) -> WatchUpdate,
}

/// Watches one kind until the receiver is dropped.
async fn run_watch<K: WatchableObject, R>(
    api: Api<K>,
    mapper: &RowMapper<K, R>,
    out: &Sender<Msg>,
) {
    let kind = mapper.kind;
    let config = Config::default().page_size(PAGE_SIZE);
    let mut stream = std::pin::pin!(watch(api, config));
    let mut listed: Vec<R> = Vec::new();
    let mut synced = false;
    while let Some(event) = stream.next().await {
        let row = |object: K| (mapper.row)(&object);
        let changed = |delta| (Msg::WatchUpdate((mapper.update)(delta)), Some(true));
        let (msg, now_synced) = match event {
            Ok(Event::Init) => {
                listed.clear();
                continue;
            }
            Ok(Event::InitApply(object)) => {
                listed.push(row(object));
                continue;
            }
            Ok(Event::InitDone) => changed(Delta::Replaced(std::mem::take(&mut listed))),
            Ok(Event::Apply(object)) => changed(Delta::Updated(Box::new(row(object)))),
            Ok(Event::Delete(object)) => changed(Delta::Deleted(object_key(object.meta()))),
            Err(WatchError::InvalidObject {
                key,
                deleted,
                error,
            }) => {
                let key = ObjectKey::new(sanitize(&key.namespace), sanitize(&key.name));
                match deleted {
                    true => changed(Delta::Deleted(key)),
                    false => {
                        let text = sanitize(&error.to_string());
                        (Msg::InvalidObject(kind, key, text), None)
                    }
                }
            }
            Err(WatchError::Request(error)) => {
                let status = WatchStatus::Failing(watch_failure(&error));
                let update = WatchUpdate::Status(kind, status);
                (Msg::WatchUpdate(update), Some(false))
            }
        };
        let was_synced = synced;
        synced = now_synced.unwrap_or(was_synced);
        if out.send(msg).await.is_err() {
            return;
        }
        if synced && !was_synced {
            let status = WatchUpdate::Status(kind, WatchStatus::Synced);
            if out.send(Msg::WatchUpdate(status)).await.is_err() {
                return;
            }
        }
    }
}

/// Classifies an error of a watch.
fn watch_failure(error: &watcher::Error) -> WatchFailure {
    match watch_error_status(error) {
        Some(s) if s.code == 404 => WatchFailure::NotInstalled,
        Some(s) if s.code == 403 || s.code == 401 => WatchFailure::Forbidden(sanitize(&s.message)),
        Some(s) => WatchFailure::Other(sanitize(&s.message)),
        None => WatchFailure::Other(sanitize(&error.to_string())),
    }
}
