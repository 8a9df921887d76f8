//! What happens to one object: nothing, its deletion, or a change of its references.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Api;
use kube::api::{
    DeleteParams, DynamicObject, Patch, PatchParams, Preconditions, PropagationPolicy,
};
use kube::core::PartialObjectMeta;
use serde_json::{Value, json};

use super::Collector;
use super::graph::{self, FOREGROUND, Node, ORPHAN};
use kueue_lab_runtime::Outcome;
use kueue_lab_runtime::refusals::{is_conflict, is_not_found};

/// How the owners of an object stand.
#[derive(Default)]
struct Owners {
    /// They exist.
    solid: usize,
    /// They do not exist, or wait for this very object to go: their UIDs.
    lost: Vec<String>,
    /// Whether any of them waits for its dependents to go.
    waiting: bool,
}

impl Collector {
    /// Looks at the object of that UID.
    pub(super) async fn look(&self, uid: &str) -> Result<Outcome, kube::Error> {
        let Some(node) = self.graph.lock().get(uid).cloned() else {
            return Ok(Outcome::Done);
        };
        let done = if node.awaits_dependents() {
            self.go_after_dependents(uid, &node).await
        } else if node.frees_dependents() {
            self.free_dependents(uid, &node).await
        } else if node.deleting || node.owners.is_empty() {
            Ok(())
        } else {
            self.collect(uid, &node).await
        };
        match done {
            Ok(()) => Ok(Outcome::Done),
            Err(error) if is_not_found(&error) => Ok(Outcome::Done),
            // The watch will soon bring what it was changed to.
            Err(error) if is_conflict(&error) => Ok(Outcome::Retry),
            Err(error) => Err(error),
        }
    }

    /// Deletes an object without owners, and takes owners that are gone from one that has others.
    async fn collect(&self, uid: &str, node: &Node) -> Result<(), kube::Error> {
        let owners = self.ask_owners(node).await?;
        if owners.lost.is_empty() && !owners.waiting {
            return Ok(());
        }
        if owners.solid > 0 {
            return self.drop_owners(uid, node, &owners.lost).await;
        }
        let dependents = self.graph.lock().dependents(uid);
        let policy = if owners.waiting && !dependents.is_empty() {
            let circular = {
                let graph = self.graph.lock();
                let mut known = dependents.iter().filter_map(|d| graph.get(d));
                known.any(Node::awaits_dependents)
            };
            if circular {
                self.unblock_owners(uid, node).await?;
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

    async fn ask_owners(&self, node: &Node) -> Result<Owners, kube::Error> {
        let mut owners = Owners::default();
        for reference in &node.owners {
            match self.ask_owner(node, reference).await? {
                Standing::Solid => owners.solid += 1,
                Standing::Absent => owners.lost.push(reference.uid.clone()),
                Standing::AwaitsDependents => {
                    owners.waiting = true;
                    owners.lost.push(reference.uid.clone());
                }
            }
        }
        Ok(owners)
    }

    async fn ask_owner(
        &self,
        node: &Node,
        reference: &OwnerReference,
    ) -> Result<Standing, kube::Error> {
        if self.absent.lock().contains(&reference.uid) {
            return Ok(Standing::Absent);
        }
        let known = {
            let graph = self.graph.lock();
            let owner = graph.get(&reference.uid);
            owner
                .filter(|owner| graph::is_meant(node, reference, owner))
                .map(Node::awaits_dependents)
        };
        match known {
            Some(true) => return Ok(Standing::AwaitsDependents),
            Some(false) => return Ok(Standing::Solid),
            None => {}
        }
        // The watch of its kind may lag behind: ask the server.
        let group = graph::group_of(&reference.api_version);
        let Some(kind) = self.kinds.find(group, &reference.kind) else {
            // A kind nobody knows: it may be defined yet, so its objects stay.
            return Ok(Standing::Solid);
        };
        if kind.namespaced && node.namespace.is_empty() {
            return Ok(Standing::Solid);
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
                self.note_absent(&reference.uid);
                Ok(Standing::Absent)
            }
            Some(owner) => {
                let key = (kind.resource.group.clone(), kind.resource.kind.clone());
                let awaits = Node::of(key, &owner.metadata).awaits_dependents();
                Ok(if awaits {
                    Standing::AwaitsDependents
                } else {
                    Standing::Solid
                })
            }
        }
    }

    /// Lets an owner go once no dependent keeps it, and sees to those that do.
    async fn go_after_dependents(&self, uid: &str, node: &Node) -> Result<(), kube::Error> {
        let blocking = self.graph.lock().blocking(uid);
        if blocking.is_empty() {
            return self.remove_finalizer(uid, node, FOREGROUND).await;
        }
        for dependent in blocking {
            let awaits = {
                let graph = self.graph.lock();
                graph.get(&dependent).is_some_and(Node::awaits_dependents)
            };
            if !awaits {
                self.queue.add(dependent);
            }
        }
        Ok(())
    }

    /// Takes the owner from all its dependents, then lets it go.
    async fn free_dependents(&self, uid: &str, node: &Node) -> Result<(), kube::Error> {
        let dependents = self.graph.lock().dependents(uid);
        for dependent in dependents {
            let Some(known) = self.graph.lock().get(&dependent).cloned() else {
                continue;
            };
            match self
                .drop_owners(&dependent, &known, &[uid.to_string()])
                .await
            {
                Err(error) if !is_not_found(&error) => return Err(error),
                _ => {}
            }
        }
        self.remove_finalizer(uid, node, ORPHAN).await
    }

    /// Takes owners from an object.
    async fn drop_owners(
        &self,
        uid: &str,
        node: &Node,
        lost: &[String],
    ) -> Result<(), kube::Error> {
        let left: Vec<_> = node
            .owners
            .iter()
            .filter(|o| !lost.contains(&o.uid))
            .collect();
        let owners = if left.is_empty() {
            Value::Null
        } else {
            json!(left)
        };
        self.patch(uid, node, json!({"ownerReferences": owners}))
            .await
    }

    /// Lets the owners of an object go before it, which ends a circle of objects that wait for
    /// each other.
    async fn unblock_owners(&self, uid: &str, node: &Node) -> Result<(), kube::Error> {
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
        node: &Node,
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
        let current = Node {
            resource_version: meta.resource_version.unwrap_or_default(),
            ..node.clone()
        };
        self.patch(uid, &current, json!({"finalizers": finalizers}))
            .await
    }

    /// Changes the metadata of an object, if it is still the version that was seen.
    async fn patch(&self, uid: &str, node: &Node, mut meta: Value) -> Result<(), kube::Error> {
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

    /// The way to objects of a node's kind; `None` if the kind is gone.
    fn api(&self, node: &Node) -> Option<Api<DynamicObject>> {
        let kind = self.kinds.find(&node.kind.0, &node.kind.1)?;
        let client = self.context.client.clone();
        Some(if kind.namespaced {
            Api::namespaced_with(client, &node.namespace, &kind.resource)
        } else {
            Api::all_with(client, &kind.resource)
        })
    }
}

/// How an owner stands.
enum Standing {
    Solid,
    Absent,
    AwaitsDependents,
}
