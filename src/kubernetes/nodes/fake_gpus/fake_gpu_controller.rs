//! Applies fake extended resources, labels and taints to real nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Client, ResourceExt};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::last_applied::{ANNOTATION, LastApplied};
use super::restore::restore_node;
use crate::RealNodes;
use kueue_lab_controller_runtime::{Api, Context, Informer, ObjectKey, ReconcileResult, WorkQueue};
use kueue_lab_quantity::Quantity;

/// Field manager of labels and annotations on real nodes.
const FIELD_MANAGER: &str = "kueue-lab-nodes";
/// How many nodes are written concurrently.
const WORKERS: usize = 4;

/// Applies fake resources to real nodes. Clones share everything.
#[derive(Clone)]
pub struct FakeGpuController {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    nodes: Informer<Node>,
    queue: WorkQueue<String>,
    desired: Mutex<Option<Vec<RealNodes>>>,
    /// Whether writes are paused.
    paused: AtomicBool,
    /// The last logged conflicts, by node.
    reported_conflicts: Mutex<BTreeMap<String, Vec<String>>>,
}

impl FakeGpuController {
    /// Starts the controller; no node is changed until [`apply`](Self::apply).
    pub fn start(context: &Context, nodes: Informer<Node>) -> Self {
        let controller = Self {
            shared: Arc::new(Shared {
                client: context.client.clone(),
                nodes: nodes.clone(),
                queue: WorkQueue::new(context),
                desired: Mutex::default(),
                paused: AtomicBool::new(false),
                reported_conflicts: Mutex::default(),
            }),
        };
        let queue = controller.shared.queue.clone();
        nodes.add_event_handler(move |change| queue.add(change.object().name_any()));
        let worker = controller.clone();
        controller
            .shared
            .queue
            .run(context, "real-nodes", WORKERS, move |name| {
                let worker = worker.clone();
                async move { worker.reconcile(&name).await }
            });
        controller
    }

    /// Sets the desired fake resources; returns when every node was reconciled once.
    pub async fn apply(&self, wanted: Vec<RealNodes>) {
        self.shared.nodes.wait_for_cache_sync().await;
        *self.shared.desired.lock() = Some(wanted);
        for node in self.shared.nodes.list() {
            if let Err(error) = self.reconcile(&node.name_any()).await {
                tracing::debug!(node = node.name_any(), %error, "will be retried");
                self.shared.queue.add_rate_limited(node.name_any());
            }
        }
    }

    /// Pauses writes, or resumes them.
    pub fn set_paused(&self, paused: bool) {
        if self.shared.paused.swap(paused, Ordering::SeqCst) && !paused {
            for node in self.shared.nodes.list() {
                self.shared.queue.add(node.name_any());
            }
        }
    }

    async fn reconcile(&self, name: &str) -> kube::Result<ReconcileResult> {
        if self.shared.paused.load(Ordering::SeqCst) {
            return Ok(ReconcileResult::Done);
        }
        let Some(node) = self.shared.nodes.get(&ObjectKey::cluster(name)) else {
            return Ok(ReconcileResult::Done);
        };
        let wanted = {
            let wanted = self.shared.desired.lock();
            let Some(all) = wanted.as_ref() else {
                return Ok(ReconcileResult::Done);
            };
            all.iter().find(|w| w.selects(&node)).cloned()
        };
        let api: Api<Node> = Api::all(self.shared.client.clone());
        match (wanted, LastApplied::of(&node)) {
            (None, None) => {}
            (None, Some(last_applied)) => restore_node(&api, &node, &last_applied).await?,
            (Some(wanted), last_applied) => {
                let last_applied = last_applied.unwrap_or_default();
                let (granted, kept) = last_applied.resolve_conflicts(&node, &wanted);
                self.report_conflicts(&node, &wanted, kept);
                apply_fake_resources(&api, &node, &wanted, &last_applied, &granted).await?;
            }
        }
        Ok(ReconcileResult::Done)
    }

    /// Logs once which fields of a node are left unchanged.
    fn report_conflicts(&self, node: &Node, wanted: &RealNodes, kept: Vec<String>) {
        let mut reported = self.shared.reported_conflicts.lock();
        let before = reported.insert(node.name_any(), kept.clone());
        if !kept.is_empty() && before.as_ref() != Some(&kept) {
            let (node, name, kept) = (node.name_any(), &wanted.name, kept.join(", and "));
            tracing::warn!("realNodes {name}: node {node} has conflicts: {kept}");
        }
    }
}

async fn apply_fake_resources(
    api: &Api<Node>,
    node: &Node,
    wanted: &RealNodes,
    last_applied: &LastApplied,
    granted: &LastApplied,
) -> kube::Result<()> {
    // The annotation first, so that all that is written next can be reverted after a crash.
    let during = last_applied.union(granted);
    write_metadata(api, node, &during, &wanted.labels, granted).await?;
    write_taints(api, node, last_applied, granted, wanted).await?;
    write_resources(api, node, last_applied, granted, &wanted.resources).await?;
    if during != *granted {
        let written = api.get(&node.name_any()).await?;
        write_metadata(api, &written, granted, &wanted.labels, granted).await?;
    }
    Ok(())
}

pub(super) async fn apply_metadata(
    api: &Api<Node>,
    node: &Node,
    mut metadata: Value,
) -> kube::Result<()> {
    let name = node.name_any();
    metadata["name"] = name.as_str().into();
    let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata});
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let applied = api.patch(&name, &params, &Patch::Apply(&object)).await;
    applied.map(drop)
}

/// Applies the annotation and the granted labels, if they differ.
async fn write_metadata(
    api: &Api<Node>,
    node: &Node,
    last_applied: &LastApplied,
    labels: &BTreeMap<String, String>,
    granted: &LastApplied,
) -> kube::Result<()> {
    let labels: BTreeMap<&String, &String> = labels
        .iter()
        .filter(|(key, _)| granted.labels.contains(*key))
        .collect();
    let right = |(key, value): (&&String, &&String)| node.labels().get(*key) == Some(*value);
    let text = last_applied.text();
    let same = node.annotations().get(ANNOTATION) == Some(&text);
    if same && labels.iter().all(right) {
        return Ok(());
    }
    let metadata = json!({"labels": labels, "annotations": {ANNOTATION: text}});
    apply_metadata(api, node, metadata).await
}

/// Taints are one atomic list, so they are read, changed and written.
pub(super) async fn write_taints(
    api: &Api<Node>,
    node: &Node,
    last_applied: &LastApplied,
    granted: &LastApplied,
    wanted: &RealNodes,
) -> kube::Result<()> {
    let taints = last_applied.merge_taints(node, granted, &wanted.taints);
    let existing = node.spec.as_ref().and_then(|s| s.taints.clone());
    if taints == existing.unwrap_or_default() {
        return Ok(());
    }
    // The annotation may just have been written: use the newest version if its taints are
    // unchanged.
    let newest = api.get(&node.name_any()).await?;
    let taints = last_applied.merge_taints(&newest, granted, &wanted.taints);
    let patch = json!({
        "metadata": {"resourceVersion": newest.resource_version()},
        "spec": {"taints": taints},
    });
    write(api, node, &patch, false).await
}

pub(super) async fn write_resources(
    api: &Api<Node>,
    node: &Node,
    last_applied: &LastApplied,
    granted: &LastApplied,
    wanted: &BTreeMap<String, Quantity>,
) -> kube::Result<()> {
    let status = node.status.clone().unwrap_or_default();
    let mut patch = Map::new();
    for (field, existing) in [
        ("capacity", status.capacity.unwrap_or_default()),
        ("allocatable", status.allocatable.unwrap_or_default()),
    ] {
        let mut changes = Map::new();
        for name in last_applied.resources.difference(&granted.resources) {
            if existing.contains_key(name) {
                changes.insert(name.clone(), Value::Null);
            }
        }
        let granted_resources = wanted
            .iter()
            .filter(|(name, _)| granted.resources.contains(*name));
        for (name, amount) in granted_resources {
            let same = existing.get(name).and_then(|a| Quantity::parse(&a.0).ok());
            if same != Some(*amount) {
                changes.insert(name.clone(), json!(amount.to_string()));
            }
        }
        if !changes.is_empty() {
            patch.insert(field.into(), changes.into());
        }
    }
    match patch.is_empty() {
        true => Ok(()),
        false => write(api, node, &json!({"status": patch}), true).await,
    }
}

async fn write(api: &Api<Node>, node: &Node, patch: &Value, status: bool) -> kube::Result<()> {
    let name = node.name_any();
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let patch = Patch::Merge(patch);
    let written = match status {
        true => api.patch_status(&name, &params, &patch).await,
        false => api.patch(&name, &params, &patch).await,
    };
    written.map(drop)
}
