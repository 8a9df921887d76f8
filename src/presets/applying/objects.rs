//! The two passes over the objects: trying everything out without effect, then doing it.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::rollback::Done;
use super::{Applier, Failure, Outcome, Work, inhabitants, labelled, refusal};
use crate::remote::{ApplyMode, CallError, KindInfo};
use crate::{Finding, Manifest, ObjectKey, Plan, inventory};
use kueue_lab_api::v1beta2::API_VERSION;

/// How long an object that is replaced or still on its way out may take to go.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// What keeps an object that Workloads use.
const IN_USE: &str = "kueue.x-k8s.io/resource-in-use";
/// Between two looks at it.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What stands in the cluster under an object's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Nothing.
    Absent,
    /// An object the lab made from a preset.
    Ours,
    /// An object somebody else made.
    Foreign,
    /// An object on its way out.
    Leaving,
}

impl Applier {
    /// Tries every change on the API server without effect.
    pub(super) async fn try_out(
        &self,
        work: &mut Work<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Failure> {
        let mut findings = self.missing_namespaces(work).await?;
        for &index in &work.plan.apply {
            let (manifest, kind) = (&work.manifests[index], &work.kinds[index].kind);
            let standing = match self.remote.get(kind, &manifest.key).await {
                Ok(None) => Standing::Absent,
                Ok(Some(o)) if !o["metadata"]["deletionTimestamp"].is_null() => Standing::Leaving,
                Ok(Some(o)) if inventory::is_ours(&o) => Standing::Ours,
                Ok(Some(_)) => Standing::Foreign,
                Err(e) if e.is_not_found() => Standing::Absent,
                Err(e) => return Err(e.into()),
            };
            work.standing.insert(index, standing);
            if must_wait_for_others(work, index) || standing == Standing::Leaving {
                continue;
            }
            let mode = ApplyMode {
                dry_run: true,
                force: standing != Standing::Foreign,
            };
            let object = labelled(&manifest.object, work.preset, standing != Standing::Foreign);
            match self.remote.apply(kind, &manifest.key, &object, mode).await {
                Ok(reply) => {
                    let warnings = reply.warnings.iter().map(|w| refusal::warning(manifest, w));
                    outcome.warnings.extend(warnings);
                }
                Err(CallError::Api(status)) if refusal::is_immutable(&status) => match standing {
                    Standing::Ours => {
                        let field = refusal::first_field(&status);
                        let message = format!("{field} cannot be changed on an existing object");
                        let warning = manifest.warning(&field, message);
                        let remedy = "the object is deleted and made anew";
                        outcome.warnings.push(warning.remedy(remedy));
                        work.replace.insert(index);
                    }
                    _ => findings.extend(refusal::findings(manifest, &status)),
                },
                Err(CallError::Api(status)) => {
                    findings.extend(refusal::findings(manifest, &status));
                }
                Err(e) => return Err(e.into()),
            }
        }
        match findings.is_empty() {
            true => Ok(()),
            false => Err(Failure::Refused(findings)),
        }
    }

    /// Looks which namespaces are there; those that neither the cluster nor the preset has are
    /// errors.
    async fn missing_namespaces(&self, work: &mut Work<'_>) -> Result<Vec<Finding>, CallError> {
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
            if !there && !brings_namespace(work, namespace) {
                let message = format!("there is no namespace {namespace:?}");
                let finding = manifest.error("metadata.namespace", message);
                findings.push(finding.remedy("add a Namespace object to the preset"));
            }
        }
        Ok(findings)
    }

    async fn has_namespace(&self, name: &str) -> Result<bool, CallError> {
        let (kind, key) = namespace(name);
        Ok(self.remote.get(&kind, &key).await?.is_some())
    }

    /// Makes the changes, noting each in `done`.
    pub(super) async fn make(
        &self,
        work: &Work<'_>,
        done: &mut Vec<Done>,
        outcome: &mut Outcome,
    ) -> Result<(), Vec<Finding>> {
        for &index in &work.plan.apply {
            let (manifest, kind) = (&work.manifests[index], &work.kinds[index].kind);
            let standing = work
                .standing
                .get(&index)
                .copied()
                .unwrap_or(Standing::Absent);
            let ours = standing != Standing::Foreign;
            let before = self
                .in_force
                .get(&manifest.key)
                .filter(|v| !v.is_null())
                .cloned();
            let replace = work.replace.contains(&index);
            if replace || standing == Standing::Leaving {
                self.clear(manifest, kind, replace).await?;
            }
            let object = labelled(&manifest.object, work.preset, ours);
            let mode = ApplyMode {
                dry_run: false,
                force: ours,
            };
            match self.remote.apply(kind, &manifest.key, &object, mode).await {
                Ok(_) => {
                    outcome.applied += 1;
                    outcome.replaced += usize::from(replace);
                    done.push(Done {
                        index,
                        ours,
                        before,
                        created: standing == Standing::Absent,
                    });
                }
                Err(error) => {
                    if replace {
                        done.push(Done {
                            index,
                            ours,
                            before,
                            created: false,
                        });
                    }
                    return Err(match error {
                        CallError::Api(status) => refusal::findings(manifest, &status),
                        error => vec![manifest.error("", error.to_string())],
                    });
                }
            }
        }
        Ok(())
    }

    /// Waits until the name is free, deleting what stands there first where asked to.
    async fn clear(
        &self,
        manifest: &Manifest,
        kind: &KindInfo,
        delete: bool,
    ) -> Result<(), Vec<Finding>> {
        let failed = |e: CallError| vec![manifest.error("metadata.name", e.to_string())];
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
            if begun.elapsed() > GONE_WITHIN {
                let message = "an object of this name is still being deleted";
                let finding = manifest.error("metadata.name", message);
                return Err(vec![finding.remedy(held_by(&object))]);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Takes away what left the files. What cannot go stays remembered and is tried again with the
    /// next change.
    pub(super) async fn prune(&mut self, plan: &Plan, outcome: &mut Outcome) {
        for key in &plan.prune {
            match self.take_away(key).await {
                Ok(true) => {
                    outcome.pruned += 1;
                    self.forget(key);
                }
                Ok(false) => self.forget(key),
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
    pub(super) async fn let_go(
        &mut self,
        key: &ObjectKey,
        version: Option<&String>,
    ) -> Result<(), CallError> {
        let version = version.map_or(API_VERSION, String::as_str);
        let Some(kind) = self.kinds.find(&self.remote, version, &key.kind).await? else {
            return Ok(());
        };
        let Some(object) = self.remote.get(&kind, key).await? else {
            return Ok(());
        };
        let metadata = &object["metadata"];
        let ours = inventory::is_ours(&object) && !metadata["deletionTimestamp"].is_null();
        let finalizers = metadata["finalizers"].as_array().cloned();
        let mut finalizers = finalizers.unwrap_or_default();
        let before = finalizers.len();
        finalizers.retain(|f| f != IN_USE);
        if !ours || finalizers.len() == before {
            return Ok(());
        }
        let change = serde_json::json!({"metadata": {
            "resourceVersion": metadata["resourceVersion"], "finalizers": finalizers,
        }});
        self.remote.merge(&kind, key, &change).await
    }

    fn forget(&mut self, key: &ObjectKey) {
        self.in_force.remove(key);
        self.versions.remove(key);
    }

    /// Deletes an object that the lab made; whether there was one.
    async fn take_away(&mut self, key: &ObjectKey) -> Result<bool, String> {
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
            Some(object) if inventory::is_ours(&object) => {}
            // Gone, or no longer ours.
            _ => return Ok(false),
        }
        if key.group.is_empty() && key.kind == "Namespace" {
            let held = inhabitants::of(&self.remote, &key.name).await;
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
fn must_wait_for_others(work: &Work<'_>, index: usize) -> bool {
    let namespace = work.manifests[index].key.namespace.as_deref();
    let no_namespace = namespace.is_some_and(|n| work.namespaces.get(n) == Some(&false));
    no_namespace || !work.kinds[index].served
}

fn brings_namespace(work: &Work<'_>, name: &str) -> bool {
    let wanted = namespace(name).1;
    work.manifests.iter().any(|m| m.key == wanted)
}

fn namespace(name: &str) -> (KindInfo, ObjectKey) {
    let kind = KindInfo {
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
fn held_by(object: &Value) -> String {
    let finalizers = object["metadata"]["finalizers"].as_array();
    match finalizers.map(Vec::as_slice) {
        Some([first, ..]) if first == IN_USE => {
            "workloads still use it; wait for them or delete them, then save again".into()
        }
        Some([first, ..]) => format!("the finalizer {first} holds it"),
        _ => "save again when it is gone".into(),
    }
}
