//! Processes one object: deletes it, changes its owner references, or leaves it; as upstream's
//! garbagecollector.go.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{
    DeleteParams, DynamicObject, Patch, PatchParams, Preconditions, PropagationPolicy,
};
use kube::core::PartialObjectMeta;
use kueue_lab_controller_runtime::Api;
use serde_json::{Value, json};

use super::GarbageCollector;
use super::graph::{self, FOREGROUND, GraphNode, ORPHAN};
use kueue_lab_controller_runtime::ReconcileResult;
use kueue_lab_controller_runtime::api_errors::{is_conflict, is_not_found};

/// The owner references of an object, classified.
#[derive(Default)]
struct ClassifiedReferences {
    /// How many owners exist.
    solid: usize,
    /// UIDs of owners that do not exist or wait for the deletion of this object.
    dangling: Vec<String>,
    /// Whether any of them waits for the deletion of its dependents.
    waiting: bool,
}

impl GarbageCollector {
    /// Processes the object of that UID.
    pub(super) async fn process_item(&self, uid: &str) -> Result<ReconcileResult, kube::Error> {
        let Some(node) = self.graph.lock().get(uid).cloned() else {
            return Ok(ReconcileResult::Done);
        };
        let done = if node.is_deleting_dependents() {
            self.process_deleting_dependents_item(uid, &node).await
        } else if node.is_orphaning_dependents() {
            self.orphan_dependents(uid, &node).await
        } else if node.deleting || node.owners.is_empty() {
            Ok(())
        } else {
            self.attempt_to_delete_item(uid, &node).await
        };
        match done {
            Ok(()) => Ok(ReconcileResult::Done),
            Err(error) if is_not_found(&error) => Ok(ReconcileResult::Done),
            // The watch will deliver the newer version.
            Err(error) if is_conflict(&error) => Ok(ReconcileResult::Requeue),
            Err(error) => Err(error),
        }
    }

    /// Deletes an object without solid owners, and removes dangling owner references from one that
    /// has others.
    async fn attempt_to_delete_item(&self, uid: &str, node: &GraphNode) -> Result<(), kube::Error> {
        let owners = self.classify_references(node).await?;
        if owners.dangling.is_empty() && !owners.waiting {
            return Ok(());
        }
        if owners.solid > 0 {
            return self
                .delete_owner_references(uid, node, &owners.dangling)
                .await;
        }
        let dependents = self.graph.lock().dependents(uid);
        let policy = if owners.waiting && !dependents.is_empty() {
            let circular = {
                let graph = self.graph.lock();
                let mut known = dependents.iter().filter_map(|d| graph.get(d));
                known.any(GraphNode::is_deleting_dependents)
            };
            if circular {
                self.unblock_owner_references(uid, node).await?;
            }
            PropagationPolicy::Foreground
        } else if node.orphan {
            PropagationPolicy::Orphan
        } else if node.foreground {
            PropagationPolicy::Foreground
        } else {
            PropagationPolicy::Background
        };
        let params = DeleteParams {
            propagation_policy: Some(policy),
            preconditions: Some(Preconditions {
                uid: Some(uid.to_string()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match self.api(node) {
            Some(api) => api.delete(&node.name, &params).await.map(|_| ()),
            None => Ok(()),
        }
    }

    async fn classify_references(
        &self,
        node: &GraphNode,
    ) -> Result<ClassifiedReferences, kube::Error> {
        let mut owners = ClassifiedReferences::default();
        for reference in &node.owners {
            match self.classify_reference(node, reference).await? {
                OwnerState::Solid => owners.solid += 1,
                OwnerState::Dangling => owners.dangling.push(reference.uid.clone()),
                OwnerState::WaitingForDependentsDeletion => {
                    owners.waiting = true;
                    owners.dangling.push(reference.uid.clone());
                }
            }
        }
        Ok(owners)
    }

    async fn classify_reference(
        &self,
        node: &GraphNode,
        reference: &OwnerReference,
    ) -> Result<OwnerState, kube::Error> {
        if self.absent_owner_cache.lock().contains(&reference.uid) {
            return Ok(OwnerState::Dangling);
        }
        let known = {
            let graph = self.graph.lock();
            let owner = graph.get(&reference.uid);
            owner
                .filter(|owner| graph::owner_reference_matches(node, reference, owner))
                .map(GraphNode::is_deleting_dependents)
        };
        match known {
            Some(true) => return Ok(OwnerState::WaitingForDependentsDeletion),
            Some(false) => return Ok(OwnerState::Solid),
            None => {}
        }
        // The watch of its kind may lag behind: ask the server.
        let group = graph::group_of(&reference.api_version);
        let Some(kind) = self.kinds.find(group, &reference.kind) else {
            // An unknown kind: it may be defined later, so its dependents stay.
            return Ok(OwnerState::Solid);
        };
        if kind.namespaced && node.namespace.is_empty() {
            return Ok(OwnerState::Solid);
        }
        let client = self.context.client.clone();
        let api: Api<PartialObjectMeta<DynamicObject>> = if kind.namespaced {
            Api::namespaced_with(client, &node.namespace, &kind.resource)
        } else {
            Api::all_with(client, &kind.resource)
        };
        let owner = api.get_metadata_opt(&reference.name).await?;
        match owner.filter(|o| o.metadata.uid.as_ref() == Some(&reference.uid)) {
            None => {
                self.add_absent_owner(&reference.uid);
                Ok(OwnerState::Dangling)
            }
            Some(owner) => {
                let key = (kind.resource.group.clone(), kind.resource.kind.clone());
                let deleting_dependents =
                    GraphNode::of(key, &owner.metadata).is_deleting_dependents();
                Ok(if deleting_dependents {
                    OwnerState::WaitingForDependentsDeletion
                } else {
                    OwnerState::Solid
                })
            }
        }
    }

    /// Removes the finalizer of an owner that no dependent blocks; otherwise enqueues the blocking
    /// dependents.
    async fn process_deleting_dependents_item(
        &self,
        uid: &str,
        node: &GraphNode,
    ) -> Result<(), kube::Error> {
        let blocking = self.graph.lock().blocking_dependents(uid);
        if blocking.is_empty() {
            return self.remove_finalizer(uid, node, FOREGROUND).await;
        }
        for dependent in blocking {
            let deleting_dependents = {
                let graph = self.graph.lock();
                graph
                    .get(&dependent)
                    .is_some_and(GraphNode::is_deleting_dependents)
            };
            if !deleting_dependents {
                self.queue.add(dependent);
            }
        }
        Ok(())
    }

    /// Removes the owner reference from all dependents, then the finalizer of the owner.
    async fn orphan_dependents(&self, uid: &str, node: &GraphNode) -> Result<(), kube::Error> {
        let dependents = self.graph.lock().dependents(uid);
        for dependent in dependents {
            let Some(known) = self.graph.lock().get(&dependent).cloned() else {
                continue;
            };
            match self
                .delete_owner_references(&dependent, &known, &[uid.to_string()])
                .await
            {
                Err(error) if !is_not_found(&error) => return Err(error),
                _ => {}
            }
        }
        self.remove_finalizer(uid, node, ORPHAN).await
    }

    /// Removes owner references from an object.
    async fn delete_owner_references(
        &self,
        uid: &str,
        node: &GraphNode,
        uids: &[String],
    ) -> Result<(), kube::Error> {
        let left: Vec<_> = node
            .owners
            .iter()
            .filter(|o| !uids.contains(&o.uid))
            .collect();
        let owners = if left.is_empty() {
            Value::Null
        } else {
            json!(left)
        };
        self.patch(uid, node, json!({"ownerReferences": owners}))
            .await
    }

    /// Sets `blockOwnerDeletion: false` on the owner references of an object, which resolves cycles
    /// of objects that wait for each other.
    async fn unblock_owner_references(
        &self,
        uid: &str,
        node: &GraphNode,
    ) -> Result<(), kube::Error> {
        let mut owners = node.owners.clone();
        for owner in &mut owners {
            owner.block_owner_deletion = Some(false);
        }
        self.patch(uid, node, json!({"ownerReferences": owners}))
            .await
    }

    async fn remove_finalizer(
        &self,
        uid: &str,
        node: &GraphNode,
        finalizer: &str,
    ) -> Result<(), kube::Error> {
        let Some(api) = self.api(node) else {
            return Ok(());
        };
        let Some(latest) = api.get_metadata_opt(&node.name).await? else {
            return Ok(());
        };
        let meta = latest.metadata;
        let mut finalizers = meta.finalizers.clone().unwrap_or_default();
        finalizers.retain(|f| f != finalizer);
        let finalizers = if finalizers.is_empty() {
            Value::Null
        } else {
            json!(finalizers)
        };
        let current = GraphNode {
            resource_version: meta.resource_version.unwrap_or_default(),
            ..node.clone()
        };
        self.patch(uid, &current, json!({"finalizers": finalizers}))
            .await
    }

    /// Patches the metadata of an object, if its resourceVersion is unchanged.
    async fn patch(&self, uid: &str, node: &GraphNode, mut meta: Value) -> Result<(), kube::Error> {
        let Some(api) = self.api(node) else {
            return Ok(());
        };
        meta["uid"] = json!(uid);
        meta["resourceVersion"] = json!(node.resource_version);
        let patch = Patch::Merge(json!({"metadata": meta}));
        let params = PatchParams::default();
        api.patch_metadata(&node.name, &params, &patch)
            .await
            .map(|_| ())
    }

    /// The API for objects of a node's kind; `None` if the kind no longer exists.
    fn api(&self, node: &GraphNode) -> Option<Api<DynamicObject>> {
        let kind = self.kinds.find(&node.kind.0, &node.kind.1)?;
        let client = self.context.client.clone();
        Some(if kind.namespaced {
            Api::namespaced_with(client, &node.namespace, &kind.resource)
        } else {
            Api::all_with(client, &kind.resource)
        })
    }
}

/// The state of an owner.
enum OwnerState {
    Solid,
    Dangling,
    WaitingForDependentsDeletion,
}
