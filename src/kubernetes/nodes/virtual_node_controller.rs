//! Reconciles the lab's Node objects with the node pools: creates, updates, recovers and deletes
//! them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::desired_nodes::{DesiredNodes, PoolNode};
use super::node_lease::{self, Heartbeats};
use super::node_patches::{metadata_patch, status_patch};
use super::not_ready_taint::NotReadyTaintWarning;
use super::resource_slices::ResourceSlices;
use super::virtual_node::{self, KubeletAddress, has_stopped_kubelet, is_managed};
use super::{ClusterType, NodePool, NodePools};
use kueue_lab_controller_runtime::{
    Api, Change, Context, Informer, ObjectKey, ReconcileResult, WorkQueue,
};

/// How many nodes are written concurrently.
const WORKERS: usize = 8;

/// Reconciles the lab's nodes. Clones share everything.
#[derive(Clone)]
pub struct VirtualNodeController {
    shared: Arc<Shared>,
}

struct Shared {
    context: Context,
    nodes: Informer<Node>,
    queue: WorkQueue<String>,
    desired: Mutex<DesiredNodes>,
    cluster_type: ClusterType,
    heartbeats: Heartbeats,
    /// The devices of the nodes, on an embedded cluster.
    slices: Option<ResourceSlices>,
    /// On a cluster with controllers of its own.
    not_ready_taint: Option<NotReadyTaintWarning>,
    changed: Notify,
    /// The deleted nodes.
    deleted: watch::Sender<Arc<BTreeSet<String>>>,
}

impl VirtualNodeController {
    /// Starts the controller; there are no nodes until [`apply`](Self::apply), and no Leases until
    /// [`start_heartbeats`](Self::start_heartbeats).
    /// With `sparse_heartbeats` the nodes renew their Leases once an hour.
    pub fn start(
        context: &Context,
        nodes: Informer<Node>,
        cluster_type: ClusterType,
        sparse_heartbeats: bool,
    ) -> Self {
        let queue = WorkQueue::new(context);
        let is_embedded = cluster_type == ClusterType::Embedded;
        let controller = Self {
            shared: Arc::new(Shared {
                context: context.clone(),
                nodes: nodes.clone(),
                slices: is_embedded.then(|| ResourceSlices::start(context, &queue)),
                not_ready_taint: (!is_embedded).then(NotReadyTaintWarning::default),
                queue,
                desired: Mutex::default(),
                cluster_type,
                heartbeats: match sparse_heartbeats {
                    true => Heartbeats::Sparse,
                    false => Heartbeats::Regular,
                },
                changed: Notify::new(),
                deleted: watch::Sender::default(),
            }),
        };
        let observer = Arc::downgrade(&controller.shared);
        nodes.add_event_handler(move |change| {
            if let Some(shared) = observer.upgrade() {
                shared.observe(change);
            }
        });
        let worker = controller.clone();
        controller
            .shared
            .queue
            .run(context, "nodes", WORKERS, move |name| {
                let worker = worker.clone();
                async move { worker.reconcile(&name).await }
            });
        controller
    }

    /// Starts the renewal of the nodes' Leases.
    pub fn start_heartbeats(&self) {
        let heartbeat = self.clone();
        let tasks = &self.shared.context.tasks;
        tasks.spawn("heartbeats", async move { heartbeat.renew_leases().await });
    }

    /// Applies node pools: nodes are created, also those that another client deleted, updated and deleted.
    /// Returns when that is done or has failed once.
    pub async fn apply(&self, pools: NodePools) {
        self.shared.desired.lock().deleted.clear();
        self.resize(pools).await;
    }

    /// Applies node pools; deleted nodes stay deleted.
    async fn resize(&self, pools: NodePools) {
        self.shared.nodes.wait_for_cache_sync().await;
        let names = {
            let mut wanted = self.shared.desired.lock();
            wanted.replace(pools, self.shared.cluster_type);
            let mut names: BTreeSet<String> = wanted.nodes.keys().cloned().collect();
            let nodes = self.shared.nodes.list();
            names.extend(nodes.iter().filter(|n| is_managed(n)).map(|n| n.name_any()));
            names
        };
        self.shared.publish_deleted();
        use futures::StreamExt;
        futures::stream::iter(&names)
            .for_each_concurrent(WORKERS, |name| async move {
                match self.reconcile(name).await {
                    Ok(ReconcileResult::RequeueAfter(time)) => {
                        self.shared.queue.add_after(name.clone(), time);
                    }
                    Ok(_) => {}
                    Err(error) => {
                        tracing::debug!(node = name, %error, "will be retried");
                        self.shared.queue.add_rate_limited(name.clone());
                    }
                }
            })
            .await;
        self.shared.changed.notify_one();
    }

    /// The nodes of the pools that another client deleted.
    pub fn deleted_nodes(&self) -> watch::Receiver<Arc<BTreeSet<String>>> {
        self.shared.deleted.subscribe()
    }

    /// The pools and their current sizes.
    pub fn sizes(&self) -> Vec<(NodePool, u32)> {
        let wanted = self.shared.desired.lock();
        let size = |pool: &NodePool| (pool.clone(), wanted.size(pool));
        wanted.pools.pools.iter().map(size).collect()
    }

    /// Scales up a pool, within its maximum. The nodes exist after the pool's delay; deleted nodes of the pool
    /// are created again.
    pub async fn scale_up(&self, pool: &str, count: u32) {
        let now = self.shared.context.clock.now();
        let pools = {
            let mut wanted = self.shared.desired.lock();
            let pools = wanted.pools.as_ref().clone();
            if let Some(pool) = pools.pools.iter().find(|p| p.name == pool) {
                wanted.scale_up(pool, count, now);
            }
            pools
        };
        self.resize(pools).await;
    }

    /// Removes the last node of a pool that was scaled up to `count` nodes.
    pub async fn scale_down(&self, pool: &str, count: u32) {
        let pools = {
            let mut wanted = self.shared.desired.lock();
            match wanted.scaled_up.get_mut(pool) {
                Some(size) if *size == count => *size -= 1,
                _ => return,
            }
            wanted.pools.as_ref().clone()
        };
        self.resize(pools).await;
    }

    /// Pauses writes, or resumes them.
    pub fn set_paused(&self, paused: bool) {
        let names: Vec<String> = {
            let mut wanted = self.shared.desired.lock();
            if std::mem::replace(&mut wanted.paused, paused) == paused || paused {
                return;
            }
            wanted.nodes.keys().cloned().collect()
        };
        let managed = self.shared.nodes.list();
        let managed = managed.iter().filter(|n| is_managed(n));
        for name in names.into_iter().chain(managed.map(|n| n.name_any())) {
            self.shared.queue.add(name);
        }
        self.shared.changed.notify_one();
    }

    /// Whether writes are paused.
    pub fn is_paused(&self) -> bool {
        self.shared.desired.lock().paused
    }

    /// Sets the kubelet address in the status of nodes from their next reconciliation.
    pub fn set_kubelet(&self, address: KubeletAddress) {
        self.shared.desired.lock().kubelet = Some(address);
    }

    /// The applied pools.
    pub fn pools(&self) -> Arc<NodePools> {
        self.shared.desired.lock().pools.clone()
    }

    /// Whether no kubelet runs on this node: its power failed, or its kubelet is stopped.
    pub fn has_failed(&self, name: &str) -> bool {
        self.shared.desired.lock().has_failed(name)
    }

    /// Stops a node's heartbeats, as a power failure would, or resumes them. False for a node that
    /// is not the lab's.
    pub fn set_failed(&self, name: &str, failed: bool) -> bool {
        let mut wanted = self.shared.desired.lock();
        if !wanted.nodes.contains_key(name) {
            return false;
        }
        if failed {
            wanted.failed.insert(name.to_string());
        } else {
            wanted.failed.remove(name);
        }
        drop(wanted);
        self.shared.queue.add(name.to_string());
        self.shared.changed.notify_one();
        true
    }

    async fn reconcile(&self, name: &str) -> kube::Result<ReconcileResult> {
        let (pool_node, failed, deleted, known, kubelet) = {
            let wanted = self.shared.desired.lock();
            if wanted.paused {
                return Ok(ReconcileResult::Done);
            }
            let failed = wanted.has_failed(name);
            let deleted = wanted.deleted.contains(name);
            let (known, kubelet) = (wanted.applied, wanted.kubelet.clone());
            let pool_node = wanted.nodes.get(name).cloned();
            (pool_node, failed, deleted, known, kubelet)
        };
        // Another client created a node of this name again: its kubelet runs as before. On a cluster with nodes
        // of its own, it can be another machine.
        let is_embedded = self.shared.cluster_type == ClusterType::Embedded;
        let is_own = |node: &Node| is_managed(node) || deleted && is_embedded;
        let api: Api<Node> = Api::all(self.shared.context.client.clone());
        let existing = self.shared.nodes.get(&ObjectKey::cluster(name));
        match (pool_node, existing) {
            (None, Some(node)) if known && is_managed(&node) => {
                let uid = node.uid().unwrap_or_default();
                self.shared.desired.lock().removed.insert(uid);
                remove(&api, &node).await?;
            }
            (Some(_), None) if deleted => {}
            (Some(pool_node), None) => {
                let now = self.shared.context.clock.now();
                if let Some(due) = self.shared.desired.lock().provisioned_at.get(name)
                    && *due > now
                {
                    let remaining = Duration::try_from(due.duration_since(now));
                    return Ok(ReconcileResult::RequeueAfter(remaining.unwrap_or_default()));
                }
                let (index, number) = (pool_node.index, pool_node.number);
                let cluster_type = self.shared.cluster_type;
                let node = virtual_node::node(
                    &pool_node.pool,
                    index,
                    number,
                    now,
                    cluster_type,
                    kubelet.as_ref(),
                );
                match api.create(&PostParams::default(), &node).await {
                    Ok(node) => self.shared.nodes.observe_write(Arc::new(node)),
                    Err(kube::Error::Api(status)) if status.code == 409 => {
                        return Ok(ReconcileResult::RequeueAfter(Duration::from_secs(1)));
                    }
                    Err(error) => return Err(error),
                }
                self.shared.changed.notify_one();
            }
            (Some(pool_node), Some(node)) if is_own(&node) && !failed => {
                self.update_node(&api, &pool_node, &node, kubelet.as_ref())
                    .await?;
                let now = self.shared.context.clock.now();
                let warning = self.shared.not_ready_taint.as_ref();
                if let Some(delay) = warning.and_then(|warning| warning.check(&node, now)) {
                    return Ok(ReconcileResult::RequeueAfter(delay));
                }
            }
            (Some(_), Some(node)) if !is_own(&node) => {
                tracing::warn!(
                    node = name,
                    "a node of this name exists and is not the lab's; it is not changed"
                );
            }
            _ => {}
        }
        Ok(ReconcileResult::Done)
    }

    /// Updates a node to its pool.
    async fn update_node(
        &self,
        api: &Api<Node>,
        pool_node: &PoolNode,
        node: &Node,
        kubelet: Option<&KubeletAddress>,
    ) -> kube::Result<()> {
        let name = node.name_any();
        let params = PatchParams::default();
        let now = self.shared.context.clock.now();
        let cluster_type = self.shared.cluster_type;
        let registered = || {
            let (index, number) = (pool_node.index, pool_node.number);
            virtual_node::node(&pool_node.pool, index, number, now, cluster_type, kubelet)
        };
        if let Some(patch) = metadata_patch(pool_node, node, registered) {
            let patched = api.patch(&name, &params, &Patch::Merge(&patch)).await?;
            self.shared.nodes.observe_write(Arc::new(patched));
        }
        // Only the embedded cluster gets addresses.
        let reached = (cluster_type == ClusterType::Remote)
            .then(|| KubeletAddress::hostname_and_port(kubelet, &name));
        if let Some(patch) = status_patch(pool_node, node, now, reached, registered) {
            if patch["status"].get("conditions").is_some() {
                // The Lease before the Ready condition, so that the node is not marked Unknown.
                let context = &self.shared.context;
                let alone = [Arc::new(node.clone())];
                let heartbeats = self.shared.heartbeats;
                node_lease::renew(&context.client, &context.clock, &alone, heartbeats).await;
            }
            let patched = api
                .patch_status(&name, &params, &Patch::Strategic(&patch))
                .await?;
            self.shared.nodes.observe_write(Arc::new(patched));
        }
        if let Some(slices) = &self.shared.slices {
            slices.publish(node, &pool_node.pool.devices).await?;
        }
        Ok(())
    }

    /// Renews Leases periodically; waits while there are none.
    async fn renew_leases(&self) {
        let shared = &self.shared;
        let (client, clock) = (&shared.context.client, &shared.context.clock);
        let is_sparse = shared.heartbeats == Heartbeats::Sparse;
        let (mut start, mut next) = (None, clock.now());
        let mut without_heartbeat: BTreeSet<String> = BTreeSet::new();
        let mut renewed = match is_sparse {
            true => node_lease::recently_renewed(client, clock).await,
            false => BTreeSet::new(),
        };
        loop {
            let changed = shared.changed.notified();
            let (alive, failed) = self.alive_and_failed();
            if alive.is_empty() && (failed.is_empty() || !is_sparse) {
                changed.await;
                next = clock.now();
                continue;
            }
            let now = clock.now();
            let nodes = alive.len() + failed.len();
            let start = *start.get_or_insert(now);
            if is_sparse {
                for node in failed
                    .iter()
                    .filter(|n| !without_heartbeat.contains(&n.name_any()))
                {
                    node_lease::write_last_regular(client, clock, node, (start, nodes)).await;
                }
                let failed: BTreeSet<String> = failed.iter().map(|n| n.name_any()).collect();
                if without_heartbeat.iter().any(|name| !failed.contains(name)) {
                    next = next.min(node_lease::next_regular(start, nodes, clock));
                }
                without_heartbeat = failed;
            }
            if next <= now {
                let renewed = std::mem::take(&mut renewed);
                let due = alive
                    .iter()
                    .filter(|node| !renewed.contains(&node.name_any()));
                let due: Vec<Arc<Node>> = due.cloned().collect();
                node_lease::renew(client, clock, &due, shared.heartbeats).await;
                let interval = shared.heartbeats.interval(alive.len(), clock);
                next = clock.now().saturating_add(interval).unwrap_or(now);
            }
            match is_sparse {
                true => tokio::select! {
                    () = clock.sleep_until(next) => {}
                    () = changed => {}
                },
                false => clock.sleep_until(next).await,
            }
        }
    }

    /// The nodes of the pools that exist: those with heartbeats, and those that have failed.
    fn alive_and_failed(&self) -> (Vec<Arc<Node>>, Vec<Arc<Node>>) {
        let wanted = self.shared.desired.lock();
        let names = wanted.nodes.keys().filter(|_| !wanted.paused);
        names
            .filter_map(|name| self.shared.nodes.get(&ObjectKey::cluster(name.as_str())))
            .partition(|node| !wanted.has_failed(&node.name_any()))
    }
}

impl Shared {
    /// Follows the nodes that other clients delete, create again, or whose kubelet they stop.
    fn observe(&self, change: &Change<Node>) {
        let node = change.object();
        let name = node.name_any();
        let (is_awaited, changed) = {
            let mut desired = self.desired.lock();
            let changed = match change {
                Change::Deleted(_) if is_managed(node) => {
                    desired.record_deletion(&name, &node.uid().unwrap_or_default())
                }
                Change::Deleted(_) => false,
                Change::Added(_) | Change::Updated { .. } => {
                    let changed = match has_stopped_kubelet(node) {
                        true => desired.stopped.insert(name.clone()),
                        false => desired.stopped.remove(&name),
                    };
                    if changed {
                        self.changed.notify_one();
                    }
                    is_managed(node) && desired.deleted.remove(&name)
                }
            };
            (desired.deleted.contains(&name), changed)
        };
        if changed {
            self.publish_deleted();
        }
        if is_managed(node) || is_awaited {
            self.queue.add(name);
        }
    }

    fn publish_deleted(&self) {
        let deleted = self.desired.lock().deleted.clone();
        self.deleted.send_if_modified(|last| {
            let is_new = **last != deleted;
            *last = Arc::new(deleted);
            is_new
        });
    }
}

async fn remove(api: &Api<Node>, node: &Node) -> kube::Result<()> {
    if node.metadata.deletion_timestamp.is_some() {
        return Ok(());
    }
    let params = DeleteParams {
        preconditions: Some(Preconditions {
            uid: node.uid(),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    match api.delete(&node.name_any(), &params).await {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        other => other.map(drop),
    }
}
