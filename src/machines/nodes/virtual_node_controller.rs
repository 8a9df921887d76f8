//! Reconciles the lab's Node objects with the node pools: creates, updates, recovers and deletes
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeAddress};
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::node_lease::{self, Heartbeats};
use super::resource_slices::ResourceSlices;
use super::virtual_node::{self, FROM_POOL_ANNOTATION, KubeletAddress, is_managed};
use super::{ClusterType, NodePool, NodePools};
use kueue_lab_runtime::{Api, Context, Informer, ObjectKey, ReconcileResult, WorkQueue};

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
    changed: Notify,
}

#[derive(Default)]
struct DesiredNodes {
    pools: Arc<NodePools>,
    nodes: BTreeMap<String, PoolNode>,
    failed: BTreeSet<String>,
    /// Sizes of pools that were scaled up beyond the file's count.
    scaled_up: BTreeMap<String, u32>,
    /// When the nodes of a scale-up exist, by name.
    provisioned_at: BTreeMap<String, Timestamp>,
    /// Whether pools were applied; before that no node is deleted.
    applied: bool,
    /// Whether writes are paused.
    paused: bool,
    /// Address of the kubelets, if they are served.
    kubelet: Option<KubeletAddress>,
    next_number: u32,
}

/// The pool and index of a node name.
#[derive(Clone)]
struct PoolNode {
    pool: Arc<NodePool>,
    index: u32,
    number: u32,
}

impl VirtualNodeController {
    /// Starts the controller; there are no nodes until [`apply`](Self::apply).
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
                queue,
                desired: Mutex::default(),
                cluster_type,
                heartbeats: match sparse_heartbeats {
                    true => Heartbeats::Sparse,
                    false => Heartbeats::Regular,
                },
                changed: Notify::new(),
            }),
        };
        let queue = controller.shared.queue.clone();
        nodes.add_event_handler(move |change| {
            if is_managed(change.object()) {
                queue.add(change.object().name_any());
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
        let heartbeat = controller.clone();
        context
            .tasks
            .spawn("heartbeats", async move { heartbeat.renew_leases().await });
        controller
    }

    /// Applies node pools: nodes are created, updated and deleted. Returns when that is done or has
    /// failed once.
    pub async fn apply(&self, pools: NodePools) {
        self.shared.nodes.wait_for_cache_sync().await;
        let names = {
            let mut wanted = self.shared.desired.lock();
            wanted.replace(pools, self.shared.cluster_type);
            let mut names: BTreeSet<String> = wanted.nodes.keys().cloned().collect();
            let nodes = self.shared.nodes.list();
            names.extend(nodes.iter().filter(|n| is_managed(n)).map(|n| n.name_any()));
            names
        };
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

    /// The pools and their current sizes.
    pub fn sizes(&self) -> Vec<(NodePool, u32)> {
        let wanted = self.shared.desired.lock();
        let size = |pool: &NodePool| (pool.clone(), wanted.size(pool));
        wanted.pools.pools.iter().map(size).collect()
    }

    /// Scales up a pool, within its maximum. The nodes exist after the pool's delay.
    pub(crate) async fn scale_up(&self, pool: &str, count: u32) {
        let now = self.shared.context.clock.now();
        let pools = {
            let mut wanted = self.shared.desired.lock();
            let pools = wanted.pools.as_ref().clone();
            if let Some(pool) = pools.pools.iter().find(|p| p.name == pool) {
                wanted.scale_up(pool, count, now);
            }
            pools
        };
        self.apply(pools).await;
    }

    /// Removes the last node of a pool that was scaled up to `count` nodes.
    pub(crate) async fn scale_down(&self, pool: &str, count: u32) {
        let pools = {
            let mut wanted = self.shared.desired.lock();
            match wanted.scaled_up.get_mut(pool) {
                Some(size) if *size == count => *size -= 1,
                _ => return,
            }
            wanted.pools.as_ref().clone()
        };
        self.apply(pools).await;
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
    pub(crate) fn is_paused(&self) -> bool {
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

    /// Whether a power failure of this node is simulated.
    pub fn has_failed(&self, name: &str) -> bool {
        self.shared.desired.lock().failed.contains(name)
    }

    /// Stops a node's heartbeats, as a power failure would, or resumes them. False for a node that
    /// is not the lab's.
    pub(crate) fn set_failed(&self, name: &str, failed: bool) -> bool {
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
        let (pool_node, failed, known, kubelet) = {
            let wanted = self.shared.desired.lock();
            if wanted.paused {
                return Ok(ReconcileResult::Done);
            }
            let failed = wanted.failed.contains(name);
            let pool_node = wanted.nodes.get(name).cloned();
            (pool_node, failed, wanted.applied, wanted.kubelet.clone())
        };
        let api: Api<Node> = Api::all(self.shared.context.client.clone());
        let existing = self.shared.nodes.get(&ObjectKey::cluster(name));
        match (pool_node, existing) {
            (None, Some(node)) if known && is_managed(&node) => remove(&api, &node).await?,
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
            (Some(pool_node), Some(node)) if is_managed(&node) && !failed => {
                self.update_node(&api, &pool_node, &node, kubelet.as_ref())
                    .await?;
            }
            (Some(_), Some(node)) if !is_managed(&node) => {
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
        if let Some(patch) = metadata_patch(pool_node, node) {
            let patched = api.patch(&name, &params, &Patch::Merge(&patch)).await?;
            self.shared.nodes.observe_write(Arc::new(patched));
        }
        let now = self.shared.context.clock.now();
        // Only the embedded cluster gets addresses.
        let reached = (self.shared.cluster_type == ClusterType::Remote)
            .then(|| KubeletAddress::hostname_and_port(kubelet, &name));
        if let Some(patch) = status_patch(pool_node, node, now, reached) {
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
        let mut silent: BTreeSet<String> = BTreeSet::new();
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
                for node in failed.iter().filter(|n| !silent.contains(&n.name_any())) {
                    node_lease::write_last_regular(client, clock, node, (start, nodes)).await;
                }
                let failed: BTreeSet<String> = failed.iter().map(|n| n.name_any()).collect();
                if silent.iter().any(|name| !failed.contains(name)) {
                    next = next.min(node_lease::next_regular(start, nodes, clock));
                }
                silent = failed;
            }
            if next <= now {
                node_lease::renew(client, clock, &alive, shared.heartbeats).await;
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
            .partition(|node| !wanted.failed.contains(&node.name_any()))
    }
}

impl DesiredNodes {
    /// The size of a pool: the file's count, or more after a scale-up.
    fn size(&self, pool: &NodePool) -> u32 {
        let grown = self.scaled_up.get(&pool.name).copied().unwrap_or(0);
        let bound = pool.autoscale.map_or(pool.count, |a| a.max);
        grown.min(bound).max(pool.count)
    }

    fn scale_up(&mut self, pool: &NodePool, count: u32, now: Timestamp) {
        let size = self.size(pool);
        if count <= size {
            return;
        }
        self.scaled_up.insert(pool.name.clone(), count);
        let delay = pool.autoscale.map_or(Duration::ZERO, |a| a.delay);
        for index in size..self.size(pool) {
            let name = pool.node_name(index);
            self.provisioned_at.insert(name, now + delay);
        }
    }

    fn replace(&mut self, pools: NodePools, cluster_type: ClusterType) {
        let mut nodes = BTreeMap::new();
        for pool in &pools.pools {
            let shared = Arc::new(cluster_type.adjust_pool(pool));
            for index in 0..self.size(pool) {
                let name = pool.node_name(index);
                // A node keeps its number and its addresses until it is deleted.
                let number = match self.nodes.get(&name) {
                    Some(pool_node) => pool_node.number,
                    None => {
                        self.next_number += 1;
                        self.next_number - 1
                    }
                };
                let pool_node = PoolNode {
                    pool: shared.clone(),
                    index,
                    number,
                };
                nodes.insert(name, pool_node);
            }
        }
        self.failed.retain(|name| nodes.contains_key(name));
        self.provisioned_at
            .retain(|name, _| nodes.contains_key(name));
        self.nodes = nodes;
        self.pools = Arc::new(pools);
        self.applied = true;
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

/// The patch of labels and taints; those not set by the pool stay.
fn metadata_patch(pool_node: &PoolNode, node: &Node) -> Option<Value> {
    let owned = virtual_node::from_pool_annotation(&pool_node.pool, pool_node.index);
    let before = node
        .annotations()
        .get(FROM_POOL_ANNOTATION)
        .map(String::as_str)
        .unwrap_or_default();
    let (old_labels, old_taints) = before.split_once(';').unwrap_or_default();
    let labels = virtual_node::labels(&pool_node.pool, pool_node.index);
    let mut changes = serde_json::Map::new();
    for (key, value) in &labels {
        if node.labels().get(key) != Some(value) {
            changes.insert(key.clone(), value.clone().into());
        }
    }
    for key in old_labels.split(',').filter(|k| !k.is_empty()) {
        if !labels.contains_key(key) && node.labels().contains_key(key) {
            changes.insert(key.to_string(), Value::Null);
        }
    }
    let taints = node.spec.as_ref().and_then(|s| s.taints.clone());
    let taints = taints.unwrap_or_default();
    let old: BTreeSet<&str> = old_taints.split(',').collect();
    let mut new = pool_node.pool.taints.clone();
    for taint in &taints {
        let id = format!("{}:{}", taint.key, taint.effect);
        let wanted = pool_node.pool.taints.iter();
        let mut same = wanted.filter(|t| t.key == taint.key && t.effect == taint.effect);
        if !old.contains(id.as_str()) && same.next().is_none() {
            new.push(taint.clone());
        }
    }
    let same_taints = new.len() == taints.len() && new.iter().all(|t| taints.contains(t));
    if changes.is_empty() && same_taints && before == owned {
        return None;
    }
    let mut patch =
        json!({"metadata": {"labels": changes, "annotations": {FROM_POOL_ANNOTATION: owned}}});
    if !same_taints {
        patch["spec"] = json!({"taints": new});
        // Optimistic lock: taints of others must not be lost.
        patch["metadata"]["resourceVersion"] = json!(node.resource_version());
    }
    Some(patch)
}

/// The patch of the status: capacity, kubelet address, and the conditions of a node that is not
/// Ready.
fn status_patch(
    pool_node: &PoolNode,
    node: &Node,
    now: Timestamp,
    reached: Option<(String, i32)>,
) -> Option<Value> {
    let status = node.status.clone().unwrap_or_default();
    let capacity = virtual_node::capacity(&pool_node.pool);
    let ready = status
        .conditions
        .iter()
        .flatten()
        .any(|c| c.type_ == "Ready" && c.status == "True");
    let mut patch = serde_json::Map::new();
    let images = &pool_node.pool.images;
    if status.images.as_ref().unwrap_or(&Vec::new()) != images {
        // Not merged by the names of images.
        patch.insert("images".into(), json!(images));
    }
    let read = crate::resources::ResourceAmounts::of;
    let old = [status.capacity, status.allocatable].map(Option::unwrap_or_default);
    if old.iter().any(|old| read(old) != read(&capacity)) {
        let mut amounts = json!(capacity);
        for gone in old.iter().flat_map(|o| o.keys()) {
            if !capacity.contains_key(gone) {
                amounts[gone.as_str()] = Value::Null;
            }
        }
        patch.insert("capacity".into(), amounts.clone());
        patch.insert("allocatable".into(), amounts);
    }
    if let Some((host, port)) = reached {
        let is_right = |a: &NodeAddress| a.type_ == "Hostname" && a.address == host;
        if !status.addresses.iter().flatten().any(is_right) {
            let address = json!([{"type": "Hostname", "address": host}]);
            patch.insert("addresses".into(), address);
        }
        let endpoint = status.daemon_endpoints.and_then(|e| e.kubelet_endpoint);
        if endpoint.map(|e| e.port) != Some(port) {
            let endpoint = json!({"kubeletEndpoint": {"Port": port}});
            patch.insert("daemonEndpoints".into(), endpoint);
        }
    }
    if !ready {
        patch.insert(
            "conditions".into(),
            json!(virtual_node::conditions(now, now)),
        );
    }
    (!patch.is_empty()).then(|| json!({"status": patch}))
}
