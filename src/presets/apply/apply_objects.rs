//! The two passes over the objects: trying everything out without effect, then doing it.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::rollback::AppliedChange;
use super::{
    Applier, ApplyError, ApplyOutcome, ResolvedPlan, api_errors, namespace_contents,
    with_preset_label,
};
use crate::api_client::{ApplyMode, RequestError, RestMapping};
use crate::{Finding, Manifest, ObjectKey, Plan, inventory};
use kueue_lab_api::v1beta2::API_VERSION;

/// How long an object that is replaced or still on its way out may take to go.
const DELETION_TIMEOUT: Duration = Duration::from_secs(5);
/// What keeps an object that Workloads use.
const RESOURCE_IN_USE_FINALIZER: &str = "kueue.x-k8s.io/resource-in-use";
/// Between two looks at it.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What stands in the cluster under an object's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiveState {
    /// Nothing.
    Absent,
    /// An object the lab made from a preset.
    Managed,
    /// An object somebody else made.
    Unmanaged,
    /// An object on its way out.
    Terminating,
}

impl Applier {
    /// Tries every change on the API server without effect.
    pub(super) async fn dry_run(
        &self,
        work: &mut ResolvedPlan<'_>,
        outcome: &mut ApplyOutcome,
    ) -> Result<(), ApplyError> {
        let mut findings = self.missing_namespaces(work).await?;
        for &index in &work.plan.apply {
            let (manifest, kind) = (&work.manifests[index], &work.kinds[index].kind);
            let standing = match self.remote.get(kind, &manifest.key).await {
                Ok(None) => LiveState::Absent,
                Ok(Some(o)) if !o["metadata"]["deletionTimestamp"].is_null() => {
                    LiveState::Terminating
                }
                Ok(Some(o)) if inventory::is_managed(&o) => LiveState::Managed,
                Ok(Some(_)) => LiveState::Unmanaged,
                Err(e) if e.is_not_found() => LiveState::Absent,
                Err(e) => return Err(e.into()),
            };
            work.live_states.insert(index, standing);
            if depends_on_preset_objects(work, index) || standing == LiveState::Terminating {
                continue;
            }
            let mode = ApplyMode {
                dry_run: true,
                force: standing != LiveState::Unmanaged,
            };
            let object = with_preset_label(
                &manifest.object,
                work.preset,
                standing != LiveState::Unmanaged,
            );
            match self.remote.apply(kind, &manifest.key, &object, mode).await {
                Ok(reply) => {
                    let warnings = reply
                        .warnings
                        .iter()
                        .map(|w| api_errors::warning(manifest, w));
                    outcome.warnings.extend(warnings);
                }
                Err(RequestError::Api(status)) if api_errors::is_immutable(&status) => {
                    match standing {
                        LiveState::Managed => {
                            let field = api_errors::first_field(&status);
                            let message =
                                format!("{field} cannot be changed on an existing object");
                            let warning = manifest.warning(&field, message);
                            let remedy = "the object is deleted and made anew";
                            outcome.warnings.push(warning.remedy(remedy));
                            work.recreate.insert(index);
                        }
                        _ => findings.extend(api_errors::findings(manifest, &status)),
                    }
                }
                Err(RequestError::Api(status)) => {
                    findings.extend(api_errors::findings(manifest, &status));
                }
                Err(e) => return Err(e.into()),
            }
        }
        match findings.is_empty() {
            true => Ok(()),
            false => Err(ApplyError::Rejected(findings)),
        }
    }

    /// Looks which namespaces are there; those that neither the cluster nor the preset has are
    /// errors.
    async fn missing_namespaces(
        &self,
        work: &mut ResolvedPlan<'_>,
    ) -> Result<Vec<Finding>, RequestError> {
        let mut findings = Vec::new();
        for &index in &work.plan.apply {
            let manifest = &work.manifests[index];
            let Some(namespace) = manifest.key.namespace.as_deref() else {
                continue;
            };
            let there = match work.namespaces.get(namespace) {
                Some(there) => *there,
                None => self.has_namespace(namespace).await?,
            };
            work.namespaces.insert(namespace.to_owned(), there);
            if !there && !creates_namespace(work, namespace) {
                let message = format!("there is no namespace {namespace:?}");
                let finding = manifest.error("metadata.namespace", message);
                findings.push(finding.remedy("add a Namespace object to the preset"));
            }
        }
        Ok(findings)
    }

    async fn has_namespace(&self, name: &str) -> Result<bool, RequestError> {
        let (kind, key) = namespace(name);
        Ok(self.remote.get(&kind, &key).await?.is_some())
    }

    /// Makes the changes, noting each in `applied`.
    pub(super) async fn apply_objects(
        &self,
        work: &ResolvedPlan<'_>,
        done: &mut Vec<AppliedChange>,
        outcome: &mut ApplyOutcome,
    ) -> Result<(), Vec<Finding>> {
        for &index in &work.plan.apply {
            let (manifest, kind) = (&work.manifests[index], &work.kinds[index].kind);
            let standing = work
                .live_states
                .get(&index)
                .copied()
                .unwrap_or(LiveState::Absent);
            let ours = standing != LiveState::Unmanaged;
            let before = self
                .applied_objects
                .get(&manifest.key)
                .filter(|v| !v.is_null())
                .cloned();
            let replace = work.recreate.contains(&index);
            if replace || standing == LiveState::Terminating {
                self.delete_and_wait(manifest, kind, replace).await?;
            }
            let object = with_preset_label(&manifest.object, work.preset, ours);
            let mode = ApplyMode {
                dry_run: false,
                force: ours,
            };
            match self.remote.apply(kind, &manifest.key, &object, mode).await {
                Ok(_) => {
                    outcome.applied += 1;
                    outcome.recreated += usize::from(replace);
                    done.push(AppliedChange {
                        index,
                        managed: ours,
                        previous: before,
                        created: standing == LiveState::Absent,
                    });
                }
                Err(error) => {
                    if replace {
                        done.push(AppliedChange {
                            index,
                            managed: ours,
                            previous: before,
                            created: false,
                        });
                    }
                    return Err(match error {
                        RequestError::Api(status) => api_errors::findings(manifest, &status),
                        error => vec![manifest.error("", error.to_string())],
                    });
                }
            }
        }
        Ok(())
    }

    /// Waits until the name is free, deleting what stands there first where asked to.
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
        let begun = Instant::now();
        loop {
            let Some(object) = self.remote.get(kind, &manifest.key).await.map_err(failed)? else {
                return Ok(());
            };
            if begun.elapsed() > DELETION_TIMEOUT {
                let message = "an object of this name is still being deleted";
                let finding = manifest.error("metadata.name", message);
                return Err(vec![finding.remedy(describe_finalizers(&object))]);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Takes away what left the files. What cannot go stays remembered and is tried again with the
    /// next change.
    pub(super) async fn prune(&mut self, plan: &Plan, outcome: &mut ApplyOutcome) {
        for key in &plan.prune {
            match self.delete_managed(key).await {
                Ok(true) => {
                    outcome.pruned += 1;
                    self.remove_from_inventory(key);
                }
                Ok(false) => self.remove_from_inventory(key),
                Err(reason) => {
                    let start = kueue_lab_yaml::Position::START;
                    let message = format!("cannot be taken away: {reason}");
                    outcome
                        .warnings
                        .push(Finding::warning("presets", start, message).about(key));
                }
            }
        }
    }

    /// Takes Kueue's own finalizer off an object that is being deleted.
    pub(super) async fn remove_resource_in_use_finalizer(
        &mut self,
        key: &ObjectKey,
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
        let ours = inventory::is_managed(&object) && !metadata["deletionTimestamp"].is_null();
        let finalizers = metadata["finalizers"].as_array().cloned();
        let mut finalizers = finalizers.unwrap_or_default();
        let before = finalizers.len();
        finalizers.retain(|f| f != RESOURCE_IN_USE_FINALIZER);
        if !ours || finalizers.len() == before {
            return Ok(());
        }
        let change = serde_json::json!({"metadata": {
            "resourceVersion": metadata["resourceVersion"], "finalizers": finalizers,
        }});
        self.remote.merge_patch(&kind, key, &change).await
    }

    fn remove_from_inventory(&mut self, key: &ObjectKey) {
        self.applied_objects.remove(key);
        self.versions.remove(key);
    }

    /// Deletes an object that the lab made; whether there was one.
    async fn delete_managed(&mut self, key: &ObjectKey) -> Result<bool, String> {
        let version = self.versions.get(key).cloned().unwrap_or_default();
        let kind = self.kinds.find(&self.remote, &version, &key.kind).await;
        let Some(kind) = kind.map_err(|e| e.to_string())? else {
            return Ok(false);
        };
        let stands = self
            .remote
            .get(&kind, key)
            .await
            .map_err(|e| e.to_string())?;
        match stands {
            Some(object) if inventory::is_managed(&object) => {}
            // Gone, or no longer ours.
            _ => return Ok(false),
        }
        if key.group.is_empty() && key.kind == "Namespace" {
            let held = namespace_contents::first_unmanaged_objects(&self.remote, &key.name).await;
            if let Some(held) = held.map_err(|e| e.to_string())? {
                return Err(format!("it still holds {held}"));
            }
        }
        self.remote
            .delete(&kind, key)
            .await
            .map_err(|e| e.to_string())?;
        Ok(true)
    }
}

/// Whether an object can only be tried once another of the same preset is there: its namespace or
/// the definition of its kind.
fn depends_on_preset_objects(work: &ResolvedPlan<'_>, index: usize) -> bool {
    let namespace = work.manifests[index].key.namespace.as_deref();
    let no_namespace = namespace.is_some_and(|n| work.namespaces.get(n) == Some(&false));
    no_namespace || !work.kinds[index].served
}

fn creates_namespace(work: &ResolvedPlan<'_>, name: &str) -> bool {
    let wanted = namespace(name).1;
    work.manifests.iter().any(|m| m.key == wanted)
}

fn namespace(name: &str) -> (RestMapping, ObjectKey) {
    let kind = RestMapping {
        api_version: "v1".into(),
        plural: "namespaces".into(),
        namespaced: false,
    };
    let key = ObjectKey {
        group: String::new(),
        kind: "Namespace".into(),
        namespace: None,
        name: name.into(),
    };
    (kind, key)
}

/// What keeps an object from going, and what to do about it.
fn describe_finalizers(object: &Value) -> String {
    let finalizers = object["metadata"]["finalizers"].as_array();
    match finalizers.map(Vec::as_slice) {
        Some([first, ..]) if first == RESOURCE_IN_USE_FINALIZER => {
            "workloads still use it; wait for them or delete them, then save again".into()
        }
        Some([first, ..]) => format!("the finalizer {first} holds it"),
        _ => "save again when it is gone".into(),
    }
}
