//! Builds the owner graph from metadata watches of every kind; as upstream's graph_builder.go.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use futures::StreamExt;
use kube::core::{DynamicObject, PartialObjectMeta};
use kube::runtime::watcher::Event;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::graph::{Graph, GraphNode};
use crate::discovery::{DiscoveredKind, DiscoveredKinds, GroupKind};
use kueue_lab_controller_runtime::{Api, Context, WorkQueue, shared_watcher};

/// How many UIDs of absent owners are cached.
const ABSENT_OWNER_CACHE_SIZE: usize = 500;

pub(super) struct GarbageCollector {
    pub(super) context: Context,
    pub(super) kinds: DiscoveredKinds,
    pub(super) graph: Mutex<Graph>,
    /// UIDs of owners that are known not to exist. UIDs are never reused.
    pub(super) absent_owner_cache: Mutex<HashSet<String>>,
    pub(super) queue: WorkQueue<String>,
}

impl GarbageCollector {
    /// Starts and stops monitors as kinds are added and removed.
    pub(super) async fn sync_monitors(self: Arc<Self>) {
        let mut kinds = self.kinds.clone();
        let mut followed: BTreeMap<GroupKind, (DiscoveredKind, CancellationToken)> =
            BTreeMap::new();
        let mut current = kinds.discovered().await;
        loop {
            followed.retain(|key, (kind, stop)| {
                let stays = current.get(key) == Some(kind);
                if !stays {
                    stop.cancel();
                    self.remove_kind(key);
                }
                stays
            });
            for (key, kind) in current.iter().filter(|(_, kind)| is_monitored(kind)) {
                if !followed.contains_key(key) {
                    let stop = self.context.tasks.token().child_token();
                    followed.insert(key.clone(), (kind.clone(), stop.clone()));
                    self.start_monitor(key.clone(), kind.clone(), stop);
                }
            }
            current = kinds.changed().await;
        }
    }

    fn start_monitor(
        self: &Arc<Self>,
        key: GroupKind,
        kind: DiscoveredKind,
        stop: CancellationToken,
    ) {
        let collector = self.clone();
        self.context.tasks.spawn("garbage-collector", async move {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = collector.run_monitor(key, &kind) => {}
            }
        });
    }

    async fn run_monitor(&self, key: GroupKind, kind: &DiscoveredKind) {
        type Meta = PartialObjectMeta<DynamicObject>;
        let api: Api<Meta> = Api::all_with(self.context.client.clone(), &kind.resource);
        let events = shared_watcher(api, self.context.watch_config());
        let mut events = std::pin::pin!(events);
        let mut listed: BTreeSet<String> = BTreeSet::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(object)) => {
                    listed.extend(object.metadata.uid.clone());
                    self.put(&key, &object);
                }
                Ok(Event::InitDone) => {
                    let known = self.graph.lock().of_kind(&key);
                    known.difference(&listed).for_each(|uid| self.remove(uid));
                }
                Ok(Event::Apply(object)) => self.put(&key, &object),
                Ok(Event::Delete(object)) => {
                    object.metadata.uid.iter().for_each(|uid| self.remove(uid));
                }
                Err(error) => tracing::debug!(?key, %error, "a watch was interrupted"),
            }
        }
    }

    fn put(&self, key: &GroupKind, object: &PartialObjectMeta<DynamicObject>) {
        if let Some(uid) = &object.metadata.uid {
            let node = GraphNode::of(key.clone(), &object.metadata);
            let to_process = self.graph.lock().put(uid, node);
            to_process.into_iter().for_each(|uid| self.queue.add(uid));
        }
    }

    fn remove(&self, uid: &str) {
        let to_process = self.graph.lock().remove(uid);
        if !to_process.is_empty() {
            self.add_absent_owner(uid);
        }
        to_process.into_iter().for_each(|uid| self.queue.add(uid));
    }

    pub(super) fn add_absent_owner(&self, uid: &str) {
        let mut absent = self.absent_owner_cache.lock();
        if absent.len() >= ABSENT_OWNER_CACHE_SIZE {
            absent.clear();
        }
        absent.insert(uid.to_string());
    }

    fn remove_kind(&self, key: &GroupKind) {
        let known = self.graph.lock().of_kind(key);
        known.iter().for_each(|uid| self.remove(uid));
    }
}

fn is_monitored(kind: &DiscoveredKind) -> bool {
    let resource = &kind.resource;
    !matches!(
        (resource.group.as_str(), resource.plural.as_str()),
        ("" | "events.k8s.io", "events") | ("coordination.k8s.io", "leases")
    )
}
