//! The server-side dry run of every change. It writes nothing.

use super::api_errors;
use super::applier::{Applier, ApplyError, ApplyOutcome, ResolvedDiff, with_preset_label};
use super::field_conflicts;
use crate::api_client::{ApplyMode, RequestError, RestMapping};
use crate::missing_namespaces::missing_namespace;
use crate::preset_label::is_managed;
use crate::quantity_spelling::keep_quantity_spelling;
use crate::{Finding, Manifest, ResourceKey};
use serde_json::json;
use std::collections::BTreeSet;

/// The state of an object in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiveState {
    /// No object.
    Absent,
    /// An object created from a preset.
    Managed,
    /// An object created by another client.
    Unmanaged,
    /// An object that is being deleted.
    Terminating,
}

impl Applier {
    /// Applies every changed object with `dryRun=All`.
    pub(super) async fn dry_run(
        &self,
        resolved: &mut ResolvedDiff<'_>,
        outcome: &mut ApplyOutcome,
    ) -> Result<(), ApplyError> {
        let mut findings = self.missing_namespaces(resolved, outcome).await?;
        self.report_unchanged(resolved, outcome).await?;
        for &index in &resolved.diff.apply {
            let (manifest, kind) = (&resolved.manifests[index], &resolved.kinds[index].kind);
            let live = match self.remote.get(kind, &manifest.key).await {
                Ok(live) => live,
                Err(e) if e.is_not_found() => None,
                Err(e) => return Err(e.into()),
            };
            let live_state = match &live {
                None => LiveState::Absent,
                Some(o) if !o["metadata"]["deletionTimestamp"].is_null() => LiveState::Terminating,
                Some(o) if is_managed(o) => LiveState::Managed,
                Some(_) => LiveState::Unmanaged,
            };
            resolved.live_states.insert(index, live_state);
            if depends_on_preset_objects(resolved, index) || live_state == LiveState::Terminating {
                continue;
            }
            let managed = live_state != LiveState::Unmanaged;
            let spelled = match &live {
                Some(live) => keep_quantity_spelling(&manifest.object, live),
                None => manifest.object.clone(),
            };
            let object = with_preset_label(&spelled, resolved.preset, managed);
            resolved.objects.insert(index, spelled);
            if live_state == LiveState::Absent && self.was_applied(manifest) {
                outcome
                    .warnings
                    .push(field_conflicts::deleted(manifest, true));
            }
            let dry_run = |force| {
                let mode = ApplyMode {
                    dry_run: true,
                    force,
                };
                self.remote.apply(kind, &manifest.key, &object, mode)
            };
            let mut reply = dry_run(false).await;
            if let (true, Err(error)) = (managed, &reply)
                && let Some(changes) = error.status().and_then(field_conflicts::field_conflicts)
            {
                let warnings = changes.iter().map(|change| change.overwritten(manifest));
                outcome.warnings.extend(warnings);
                reply = dry_run(true).await;
            }
            if let (true, LiveState::Unmanaged, Some(live)) =
                (self.options.force_conflicts, live_state, &live)
            {
                let status = reply.as_ref().err().and_then(RequestError::status);
                let conflicts = status.and_then(field_conflicts::field_conflicts);
                let conflicts = conflicts.unwrap_or_default();
                resolved.take_over.insert(index, (live.clone(), conflicts));
                reply = dry_run(true).await;
            }
            match reply {
                Ok(reply) => {
                    let warnings = reply
                        .warnings
                        .iter()
                        .map(|w| api_errors::warning(manifest, w));
                    outcome.warnings.extend(warnings);
                }
                Err(e) => match e.status() {
                    Some(status)
                        if live_state == LiveState::Managed && api_errors::is_immutable(status) =>
                    {
                        let field = api_errors::first_field(status);
                        let message = format!("{field} cannot be changed on an existing object");
                        let warning = manifest.warning(&field, message);
                        let remedy = "the object is deleted and created again";
                        outcome.warnings.push(warning.remedy(remedy));
                        resolved.recreate.insert(index);
                    }
                    Some(status) => findings.extend(api_errors::findings(manifest, status)),
                    None => return Err(e.into()),
                },
            }
        }
        match findings.is_empty() {
            true => Ok(()),
            false => Err(ApplyError::Rejected(findings)),
        }
    }

    /// Whether this process applied the object before.
    fn was_applied(&self, manifest: &Manifest) -> bool {
        let applied = self.applied_objects.get(&manifest.key);
        applied.is_some_and(|object| !object.is_null())
    }

    /// Reports changes that other clients made to the fields of objects that the diff does not change.
    async fn report_unchanged(
        &self,
        resolved: &ResolvedDiff<'_>,
        outcome: &mut ApplyOutcome,
    ) -> Result<(), RequestError> {
        let changed: BTreeSet<usize> = resolved.diff.apply.iter().copied().collect();
        for (index, manifest) in resolved.manifests.iter().enumerate() {
            if changed.contains(&index) {
                continue;
            }
            let kind = &resolved.kinds[index].kind;
            let Some(live) = self.remote.get(kind, &manifest.key).await? else {
                outcome
                    .warnings
                    .push(field_conflicts::deleted(manifest, false));
                continue;
            };
            let object = keep_quantity_spelling(&manifest.object, &live);
            let object = with_preset_label(&object, resolved.preset, true);
            let mode = ApplyMode {
                dry_run: true,
                force: false,
            };
            let reply = self.remote.apply(kind, &manifest.key, &object, mode).await;
            let conflict = reply.as_ref().err().and_then(RequestError::status);
            let changes = conflict.and_then(field_conflicts::field_conflicts);
            let warnings = changes.unwrap_or_default();
            let warnings = warnings.iter().map(|change| change.kept(manifest));
            outcome.warnings.extend(warnings);
        }
        Ok(())
    }

    /// Checks the namespaces of the objects; one that neither exists nor is in the preset is an error, or is to be
    /// created with a warning.
    async fn missing_namespaces(
        &self,
        resolved: &mut ResolvedDiff<'_>,
        outcome: &mut ApplyOutcome,
    ) -> Result<Vec<Finding>, RequestError> {
        let mut findings = Vec::new();
        for &index in &resolved.diff.apply {
            let manifest = &resolved.manifests[index];
            let Some(namespace) = manifest.key.namespace.as_deref() else {
                continue;
            };
            let exists = match resolved.namespaces.get(namespace) {
                Some(exists) => *exists,
                None => self.has_namespace(namespace).await?,
            };
            resolved.namespaces.insert(namespace.to_owned(), exists);
            if exists || creates_namespace(resolved, namespace) {
                continue;
            }
            if self.options.create_namespaces {
                if resolved.create_namespaces.insert(namespace.to_owned()) {
                    let warning = missing_namespace(manifest, namespace);
                    outcome.warnings.push(warning);
                }
            } else {
                let message = format!("there is no namespace {namespace:?}");
                let finding = manifest.error("metadata.namespace", message);
                findings.push(finding.remedy("add a Namespace object to the preset"));
            }
        }
        Ok(findings)
    }

    /// Creates a namespace that is not an object of the preset.
    pub(super) async fn create_namespace(&self, name: &str) -> Result<(), RequestError> {
        let (kind, key) = (
            RestMapping::namespaces(),
            ResourceKey::core("Namespace", None, name),
        );
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        let mode = ApplyMode {
            dry_run: false,
            force: false,
        };
        self.remote.apply(&kind, &key, &object, mode).await?;
        Ok(())
    }

    async fn has_namespace(&self, name: &str) -> Result<bool, RequestError> {
        let (kind, key) = (
            RestMapping::namespaces(),
            ResourceKey::core("Namespace", None, name),
        );
        Ok(self.remote.get(&kind, &key).await?.is_some())
    }
}

/// Whether an object cannot be checked before another object of the preset exists: its namespace or
/// its CustomResourceDefinition.
fn depends_on_preset_objects(resolved: &ResolvedDiff<'_>, index: usize) -> bool {
    let namespace = resolved.manifests[index].key.namespace.as_deref();
    let no_namespace = namespace.is_some_and(|n| resolved.namespaces.get(n) == Some(&false));
    no_namespace || !resolved.kinds[index].served
}

fn creates_namespace(resolved: &ResolvedDiff<'_>, name: &str) -> bool {
    let wanted = ResourceKey::core("Namespace", None, name);
    resolved.manifests.iter().any(|m| m.key == wanted)
}
