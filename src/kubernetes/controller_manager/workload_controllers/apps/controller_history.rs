//! The controller history of a StatefulSet or DaemonSet: ControllerRevisions of its templates, as
//! `kubectl rollout history` and `undo` read them.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use kube::ResourceExt;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::workload_controllers::SharedInformers;
use crate::workload_controllers::controller_ref_manager::NamespacedObject;
use kueue_lab_codec::Codec;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use kueue_lab_controller_runtime::{Api, Context, Informer, ObjectKey, controller_reference};
use kueue_lab_controller_utils::pods::CONTROLLER_UID_INDEX;
use kueue_lab_controller_utils::template_hash;

/// The label with the hash of a revision.
const HASH: &str = "controller.kubernetes.io/hash";

/// Manages the revisions of sets. Clones share them.
#[derive(Clone)]
pub(super) struct ControllerHistory {
    client: kube::Client,
    revisions: Informer<ControllerRevision>,
}

impl ControllerHistory {
    pub(super) fn new(context: &Context, shared: &SharedInformers) -> Self {
        Self {
            client: context.client.clone(),
            revisions: shared.revisions.clone(),
        }
    }

    pub(super) async fn synced(&self) {
        self.revisions.wait_for_cache_sync().await;
    }

    fn of<K: NamespacedObject>(&self, set: &K) -> Vec<Arc<ControllerRevision>> {
        let mut all = self
            .revisions
            .by_index(CONTROLLER_UID_INDEX, &set.uid().unwrap_or_default());
        all.sort_by_key(|r| (r.revision, r.name_any()));
        all
    }

    /// The revision of that name, if the set owns it.
    pub(super) fn find<K: NamespacedObject>(
        &self,
        set: &K,
        name: &str,
    ) -> Option<Arc<ControllerRevision>> {
        let key = ObjectKey::new(set.namespace().unwrap_or_default(), name);
        let found = self.revisions.get(&key)?;
        let all = self.of(set);
        all.iter().any(|r| r.uid() == found.uid()).then_some(found)
    }

    /// The revision of the current template: a new one, or an equal older one with a new revision
    /// number.
    pub(super) async fn sync_revision<K: NamespacedObject>(
        &self,
        set: &K,
        of: &PodTemplateSpec,
        selector: &LabelSelector,
        collisions: Option<i32>,
    ) -> Result<Arc<ControllerRevision>, kube::Error> {
        let namespace = set.namespace().unwrap_or_default();
        let api: Api<ControllerRevision> = Api::namespaced(self.client.clone(), &namespace);
        let data = revision_patch(of);
        let all = self.of(set);
        let next = all.last().map_or(0, |r| r.revision).saturating_add(1);
        let same = |r: &&Arc<ControllerRevision>| r.data.as_ref().is_some_and(|d| d.0 == data);
        if let Some(known) = all.iter().rev().find(same) {
            if known.revision.saturating_add(1) == next {
                return Ok(known.clone());
            }
            let patch = Patch::Merge(json!({"revision": next}));
            let name = known.name_any();
            let written = api.patch(&name, &PatchParams::default(), &patch).await?;
            return Ok(self.observed(written));
        }
        let hash = template_hash::compute_hash(&data, collisions);
        let mut labels = selector.match_labels.clone().unwrap_or_default();
        labels.insert(HASH.to_string(), hash.clone());
        let revision = ControllerRevision {
            metadata: ObjectMeta {
                name: Some(format!("{}-{hash}", set.name_any())),
                namespace: set.namespace(),
                labels: Some(labels),
                owner_references: Some(vec![controller_reference(set)]),
                ..ObjectMeta::default()
            },
            data: Some(RawExtension(data)),
            revision: next,
        };
        let created = match api.create(&PostParams::default(), &revision).await {
            Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => {
                api.get(&revision.name_any()).await?
            }
            created => created?,
        };
        Ok(self.observed(created))
    }

    fn observed(&self, revision: ControllerRevision) -> Arc<ControllerRevision> {
        let revision = Arc::new(revision);
        self.revisions.observe_write(revision.clone());
        revision
    }

    /// The template of a revision.
    pub(super) fn template(revision: &ControllerRevision) -> Option<PodTemplateSpec> {
        let data = &revision.data.as_ref()?.0;
        let template = data.get("spec")?.get("template")?;
        PodTemplateSpec::from_value(template).ok()
    }

    /// Deletes the oldest revisions beyond `limit` that no pod uses.
    pub(super) async fn truncate_history<K: NamespacedObject>(
        &self,
        set: &K,
        limit: Option<i32>,
        live: &[String],
    ) -> Result<(), kube::Error> {
        let limit = usize::try_from(limit.unwrap_or(10)).unwrap_or(0);
        let mut idle = self.of(set);
        idle.retain(|r| !live.contains(&r.name_any()));
        let surplus = idle.len().saturating_sub(limit);
        let namespace = set.namespace().unwrap_or_default();
        let api: Api<ControllerRevision> = Api::namespaced(self.client.clone(), &namespace);
        for revision in idle.iter().take(surplus) {
            match api
                .delete(&revision.name_any(), &DeleteParams::default())
                .await
            {
                Err(error) if !is_not_found(&error) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The data of a revision: a patch that restores the set's template.
fn revision_patch(template: &PodTemplateSpec) -> Value {
    let mut template = template.to_value().unwrap_or_default();
    template["$patch"] = "replace".into();
    json!({"spec": {"template": template}})
}
