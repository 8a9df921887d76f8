//! Applies the objects of a diff.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::api_errors;
use super::applier::{Applier, ApplyOutcome, ResolvedDiff, with_preset_label};
use super::dry_run::LiveState;
use super::rollback::AppliedChange;
use crate::api_client::{ApplyMode, RequestError, RestMapping};
use crate::{Finding, Manifest, ObjectWrite};
use kueue_lab_api::constants::RESOURCE_IN_USE_FINALIZER;

/// How long to wait for the deletion of an object that is replaced or terminating.
const DELETION_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval between two checks for the deletion.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

impl Applier {
    /// Applies the objects and records each change in `changes`.
    pub(super) async fn apply_objects(
        &mut self,
        resolved: &ResolvedDiff<'_>,
        changes: &mut Vec<AppliedChange>,
        outcome: &mut ApplyOutcome,
    ) -> Result<(), Vec<Finding>> {
        for &index in &resolved.diff.apply {
            let (manifest, kind) = (&resolved.manifests[index], &resolved.kinds[index].kind);
            let live_state = resolved
                .live_states
                .get(&index)
                .copied()
                .unwrap_or(LiveState::Absent);
            let managed = live_state != LiveState::Unmanaged;
            let previous = self
                .applied_objects
                .get(&manifest.key)
                .filter(|v| !v.is_null())
                .cloned();
            let replace = resolved.recreate.contains(&index);
            if replace || live_state == LiveState::Terminating {
                self.delete_and_wait(manifest, kind, replace).await?;
            }
            let object = resolved.objects.get(&index).unwrap_or(&manifest.object);
            let object = with_preset_label(object, resolved.preset, managed);
            let mode = ApplyMode {
                dry_run: false,
                force: managed || self.options.force_conflicts,
            };
            match self.remote.apply(kind, &manifest.key, &object, mode).await {
                Ok(response) => {
                    let write = ObjectWrite::applied(&manifest.key, &response.object);
                    self.writes.push(write);
                    outcome.applied += 1;
                    outcome.recreated += usize::from(replace);
                    changes.push(AppliedChange {
                        index,
                        managed,
                        previous,
                        created: live_state == LiveState::Absent,
                    });
                }
                Err(error) => {
                    if replace {
                        changes.push(AppliedChange {
                            index,
                            managed,
                            previous,
                            created: false,
                        });
                    }
                    return Err(match error.status() {
                        Some(status) => api_errors::findings(manifest, status),
                        None => vec![manifest.error("", error.to_string())],
                    });
                }
            }
        }
        Ok(())
    }

    /// Waits until the object is deleted; deletes it first if `delete` is set.
    async fn delete_and_wait(
        &self,
        manifest: &Manifest,
        kind: &RestMapping,
        delete: bool,
    ) -> Result<(), Vec<Finding>> {
        let failed = |e: RequestError| vec![manifest.error("metadata.name", e.to_string())];
        if delete {
            self.remote
                .delete(kind, &manifest.key)
                .await
                .map_err(failed)?;
        }
        let started = Instant::now();
        loop {
            let Some(object) = self.remote.get(kind, &manifest.key).await.map_err(failed)? else {
                return Ok(());
            };
            if started.elapsed() > DELETION_TIMEOUT {
                let message = "an object of this name is still being deleted";
                let finding = manifest.error("metadata.name", message);
                return Err(vec![finding.remedy(describe_finalizers(&object))]);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// The remedy for an object that ClusterQueues or flavors reference.
const NO_REFERENCE: &str = "are deleted or do not name it any more";

/// The reason that an object is not deleted yet, and the remedy.
fn describe_finalizers(object: &Value) -> String {
    let finalizers = object["metadata"]["finalizers"].as_array();
    match finalizers.map(Vec::as_slice) {
        Some([first, ..]) if first == RESOURCE_IN_USE_FINALIZER => {
            let (users, done) = match object["kind"].as_str() {
                Some("ResourceFlavor" | "AdmissionCheck") => ("ClusterQueues", NO_REFERENCE),
                Some("Topology") => ("ResourceFlavors", NO_REFERENCE),
                _ => ("Workloads", "are finished or deleted"),
            };
            format!("{users} still use it; the preset is applied again when they {done}")
        }
        Some([first, ..]) => format!("it has the finalizer {first}"),
        _ => "the preset is applied again when it is deleted".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_in_use_names_the_kind_that_uses_it() {
        for (kind, users) in [
            ("ClusterQueue", "Workloads still use it"),
            ("ResourceFlavor", "ClusterQueues still use it"),
            ("AdmissionCheck", "ClusterQueues still use it"),
            ("Topology", "ResourceFlavors still use it"),
        ] {
            let metadata = json!({"finalizers": [RESOURCE_IN_USE_FINALIZER]});
            let remedy = describe_finalizers(&json!({"kind": kind, "metadata": metadata}));
            assert!(remedy.starts_with(users), "{kind}: {remedy}");
        }
    }
}
