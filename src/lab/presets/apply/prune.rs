//! Deletes the objects that were removed from the files.

use super::applier::{Applier, ApplyOutcome};
use crate::api_client::RequestError;
use crate::namespace_contents;
use crate::preset_label::is_managed;
use crate::{ApplyDiff, Finding, ObjectWrite, ResourceKey};
use kueue_lab_api::constants::RESOURCE_IN_USE_FINALIZER;
use kueue_lab_api::v1beta2::API_VERSION;

/// Why an object is not deleted.
#[derive(Debug, thiserror::Error)]
enum PruneError {
    /// A request failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The namespace has objects of others.
    #[error("it still holds {0}")]
    NotEmpty(String),
}

impl Applier {
    /// Deletes the objects that were removed from the files. An object that cannot be deleted stays in
    /// the inventory and is retried with the next change.
    pub(super) async fn prune(&mut self, diff: &ApplyDiff, outcome: &mut ApplyOutcome) {
        for key in &diff.prune {
            match self.delete_managed(key).await {
                Ok(true) => {
                    outcome.pruned += 1;
                    self.remove_from_inventory(key);
                }
                Ok(false) => self.remove_from_inventory(key),
                Err(reason) => {
                    let start = kueue_lab_yaml::Position::START;
                    let message = format!("cannot be deleted: {reason}");
                    outcome
                        .warnings
                        .push(Finding::warning("presets", start, message).about(key));
                }
            }
        }
    }

    /// Removes Kueue's `resource-in-use` finalizer from a managed object that is being deleted.
    pub(super) async fn remove_resource_in_use_finalizer(
        &mut self,
        key: &ResourceKey,
        version: Option<&String>,
    ) -> Result<(), RequestError> {
        let version = version.map_or(API_VERSION, String::as_str);
        let Some(kind) = self.kinds.find(&self.remote, version, &key.kind).await? else {
            return Ok(());
        };
        let Some(object) = self.remote.get(&kind, key).await? else {
            return Ok(());
        };
        let metadata = &object["metadata"];
        let removable = is_managed(&object) && !metadata["deletionTimestamp"].is_null();
        let finalizers = metadata["finalizers"].as_array().cloned();
        let mut finalizers = finalizers.unwrap_or_default();
        let before = finalizers.len();
        finalizers.retain(|f| f != RESOURCE_IN_USE_FINALIZER);
        if !removable || finalizers.len() == before {
            return Ok(());
        }
        let change = serde_json::json!({"metadata": {
            "resourceVersion": metadata["resourceVersion"], "finalizers": finalizers,
        }});
        self.remote.merge_patch(&kind, key, &change).await
    }

    fn remove_from_inventory(&mut self, key: &ResourceKey) {
        self.applied_objects.remove(key);
        self.versions.remove(key);
    }

    /// Deletes a managed object; returns whether it existed.
    async fn delete_managed(&mut self, key: &ResourceKey) -> Result<bool, PruneError> {
        let version = self.versions.get(key).cloned().unwrap_or_default();
        let kind = self.kinds.find(&self.remote, &version, &key.kind).await;
        let Some(kind) = kind? else {
            return Ok(false);
        };
        let live = self.remote.get(&kind, key).await?;
        // Deleted, or no longer managed.
        let Some(live) = live.filter(is_managed) else {
            return Ok(false);
        };
        if key.group.is_empty() && key.kind == "Namespace" {
            let contents =
                namespace_contents::first_unmanaged_objects(&self.remote, &key.name).await;
            if let Some(contents) = contents? {
                return Err(PruneError::NotEmpty(contents));
            }
        }
        self.remote.delete(&kind, key).await?;
        self.writes.push(ObjectWrite::deleted(key, &live));
        Ok(true)
    }
}
