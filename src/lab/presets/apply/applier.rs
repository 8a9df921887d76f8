//! Applies a preset: resolves kinds, plans, runs a server-side dry run, applies, rolls back on failure
//! and prunes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::apply_options::ApplyOptions;
use super::dry_run::LiveState;
use super::field_conflicts::FieldConflict;
use super::rollback::RollbackStep;
use super::take_over::TakenOverFields;
use crate::api_client::{ApiClient, RequestError, RestMapping};
use crate::apply_diff::{AppliedObjects, apply_diff};
use crate::discovery::{DiscoveryCache, kind_from_crd};
use crate::inventory::{self, Inventory, InventoryEntry};
use crate::preset_label::{PRESET_LABEL, is_managed};
use crate::presets_snapshot::PresetsSnapshot;
use crate::references;
use crate::unmanaged_objects::UnmanagedObjects;
use crate::{ApplyDiff, Finding, Manifest, ObjectWrite, ResourceKey};
use kueue_lab_api::v1beta2::{API_VERSION, GROUP};

/// The counts and warnings of a successful run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ApplyOutcome {
    /// Objects applied.
    pub(crate) applied: usize,
    /// Objects deleted and created again because an immutable field changed.
    pub(crate) recreated: usize,
    /// Objects pruned.
    pub(crate) pruned: usize,
    /// Objects unchanged.
    pub(crate) unchanged: usize,
    /// Warnings.
    pub(crate) warnings: Vec<Finding>,
    /// Fields of other clients that were taken over.
    pub(crate) taken_over: Vec<TakenOverFields>,
}

impl ApplyOutcome {
    /// The counts, such as `2 applied, 1 removed`.
    pub(crate) fn summary(&self) -> String {
        let parts = [
            (self.applied, "applied"),
            (self.recreated, "of them recreated"),
            (self.pruned, "removed"),
            (self.unchanged, "unchanged"),
        ];
        let texts: Vec<_> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        match texts.is_empty() {
            true => "no changes".into(),
            false => texts.join(", "),
        }
    }
}

/// The error of a run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    /// The preset is invalid or the dry run failed; nothing was changed.
    #[error("{} errors, nothing was changed", .0.len())]
    Rejected(Vec<Finding>),
    /// A change failed; the changes made before it are rolled back.
    #[error("applying failed, the changes were rolled back")]
    RolledBack(Vec<Finding>),
    /// A change failed, and the rollback failed too.
    #[error("applying failed, and so did the rollback")]
    RollbackFailed(Vec<Finding>),
    /// A request to the API server failed.
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl ApplyError {
    /// The findings; `file` is the file of an error that belongs to none.
    pub(crate) fn findings(self, file: &str) -> Vec<Finding> {
        match self {
            Self::Rejected(findings)
            | Self::RolledBack(findings)
            | Self::RollbackFailed(findings) => findings,
            Self::Request(error) => {
                let start = kueue_lab_yaml::Position::START;
                vec![Finding::error(file, start, error.to_string())]
            }
        }
    }
}

/// Applies presets to one cluster and tracks the applied objects.
pub(crate) struct Applier {
    pub(super) remote: ApiClient,
    pub(crate) kinds: DiscoveryCache,
    /// The managed objects as they were last applied. An object from the inventory of an earlier run
    /// has the value `null`, so that it differs from every manifest.
    pub(crate) applied_objects: AppliedObjects,
    /// API versions of the applied objects.
    pub(crate) versions: BTreeMap<ResourceKey, String>,
    pub(super) options: ApplyOptions,
    /// The writes since [`take_writes`](Self::take_writes), in order.
    pub(super) writes: Vec<ObjectWrite>,
}

/// The REST mapping of a manifest's kind.
pub(super) struct ResolvedKind {
    pub(super) kind: RestMapping,
    /// Whether the cluster serves the kind; otherwise a CustomResourceDefinition of the preset will.
    pub(super) served: bool,
}

/// A diff with the REST mapping and the live state of its objects.
pub(super) struct ResolvedDiff<'m> {
    pub(super) preset: &'m str,
    pub(super) manifests: &'m [Manifest],
    pub(super) diff: ApplyDiff,
    pub(super) kinds: Vec<ResolvedKind>,
    /// The namespaces of the diff's objects, and whether each exists.
    pub(super) namespaces: BTreeMap<String, bool>,
    /// The live state of each manifest to apply, by index.
    pub(super) live_states: BTreeMap<usize, LiveState>,
    /// The objects to apply, by index, with the quantities as the cluster spells them.
    pub(super) objects: BTreeMap<usize, Value>,
    /// Manifests whose objects must be deleted and created again, by index.
    pub(super) recreate: BTreeSet<usize>,
    /// The namespaces to create that are not in the preset.
    pub(super) create_namespaces: BTreeSet<String>,
    /// The live objects whose fields are taken over, by index, with the conflicts of the manifest with them.
    pub(super) take_over: BTreeMap<usize, (Value, Vec<FieldConflict>)>,
}

impl Applier {
    /// An applier that starts with the inventory of an earlier run.
    pub(crate) async fn new(
        remote: ApiClient,
        options: ApplyOptions,
    ) -> Result<Self, RequestError> {
        let inventory = inventory::load(&remote).await?;
        let mut applier = Self {
            remote,
            kinds: DiscoveryCache::default(),
            applied_objects: AppliedObjects::new(),
            versions: BTreeMap::new(),
            options,
            writes: Vec::new(),
        };
        for item in inventory.objects {
            applier
                .applied_objects
                .insert(item.key.clone(), Value::Null);
            applier.versions.insert(item.key, item.api_version);
        }
        Ok(applier)
    }

    /// An applier that has applied the objects of a snapshot.
    pub(crate) fn from_snapshot(
        remote: ApiClient,
        snapshot: &PresetsSnapshot,
        options: ApplyOptions,
    ) -> Self {
        Self {
            remote,
            kinds: snapshot.kinds.clone(),
            applied_objects: snapshot.applied_objects.clone(),
            versions: snapshot.versions.clone(),
            options,
            writes: Vec::new(),
        }
    }

    /// Makes the cluster match the manifests, which can reference the unmanaged objects.
    pub(crate) async fn apply(
        &mut self,
        preset: &str,
        mut manifests: Vec<Manifest>,
        unmanaged: &UnmanagedObjects,
    ) -> Result<ApplyOutcome, ApplyError> {
        let kinds = self.resolve(&mut manifests).await?;
        let mut outcome = ApplyOutcome {
            warnings: references::check(&manifests, &unmanaged.referencable_keys()),
            ..ApplyOutcome::default()
        };
        let diff = apply_diff(&self.applied_objects, &manifests);
        outcome.unchanged = diff.unchanged;
        let mut resolved = ResolvedDiff {
            preset,
            manifests: &manifests,
            diff,
            kinds,
            namespaces: BTreeMap::new(),
            live_states: BTreeMap::new(),
            objects: BTreeMap::new(),
            recreate: BTreeSet::new(),
            create_namespaces: BTreeSet::new(),
            take_over: BTreeMap::new(),
        };
        self.dry_run(&mut resolved, &mut outcome).await?;
        for namespace in &resolved.create_namespaces {
            self.create_namespace(namespace).await?;
        }
        for (index, (live, conflicts)) in &resolved.take_over {
            let (manifest, kind) = (&manifests[*index], &resolved.kinds[*index].kind);
            let taken_over = self.take_over(kind, manifest, live, conflicts).await?;
            outcome.taken_over.extend(taken_over);
        }
        let mut changes = Vec::new();
        if let Err(finding) = self
            .apply_objects(&resolved, &mut changes, &mut outcome)
            .await
        {
            let steps = changes
                .into_iter()
                .map(|change| RollbackStep::of(change, &manifests))
                .collect();
            return Err(self.roll_back(preset, steps, finding).await);
        }
        for change in changes {
            let manifest = &manifests[change.index];
            if change.managed {
                let version = manifest.api_version.clone();
                self.versions.insert(manifest.key.clone(), version);
                self.applied_objects
                    .insert(manifest.key.clone(), manifest.object.clone());
            }
        }
        self.prune(&resolved.diff, &mut outcome).await;
        self.save_inventory(preset).await?;
        Ok(outcome)
    }

    /// The writes to the cluster since the last call.
    pub(crate) fn take_writes(&mut self) -> Vec<ObjectWrite> {
        std::mem::take(&mut self.writes)
    }

    /// Resolves the kind of each manifest and sets the default namespace.
    async fn resolve(
        &mut self,
        manifests: &mut [Manifest],
    ) -> Result<Vec<ResolvedKind>, ApplyError> {
        let mut kinds = Vec::with_capacity(manifests.len());
        let mut findings = Vec::new();
        let definitions: Vec<Value> = manifests
            .iter()
            .filter(|m| m.key.kind == "CustomResourceDefinition")
            .map(|m| m.object.clone())
            .collect();
        for manifest in manifests.iter_mut() {
            let (version, kind) = (&manifest.api_version, &manifest.key.kind);
            let found = self.kinds.find(&self.remote, version, kind).await?;
            let served = found.is_some();
            let from_crd = || {
                definitions
                    .iter()
                    .find_map(|d| kind_from_crd(d, version, kind))
            };
            let Some(info) = found.or_else(from_crd) else {
                findings.push(self.kinds.unknown_kind_error(manifest));
                continue;
            };
            match (&manifest.key.namespace, info.namespaced) {
                (None, true) => {
                    manifest.key.namespace = Some("default".into());
                    manifest.object["metadata"]["namespace"] = Value::from("default");
                }
                (Some(_), false) => {
                    let message = format!("{kind} is cluster-scoped");
                    let finding = manifest.error("metadata.namespace", message);
                    findings.push(finding.remedy("remove metadata.namespace"));
                }
                _ => {}
            }
            kinds.push(ResolvedKind { kind: info, served });
        }
        match findings.is_empty() {
            true => Ok(kinds),
            false => Err(ApplyError::Rejected(findings)),
        }
    }

    /// The objects of Kueue's kinds in the cluster that are not of a preset: those of the preset count only if the
    /// files contain them.
    pub(crate) async fn unmanaged_objects(&mut self) -> Result<UnmanagedObjects, RequestError> {
        let mut by_kind = BTreeMap::new();
        for kind in UnmanagedObjects::kinds() {
            let Some(info) = self.kinds.find(&self.remote, API_VERSION, kind).await? else {
                continue;
            };
            let mut objects = self.remote.list(&info, None).await?;
            objects.retain(|object| !is_managed(object));
            by_kind.insert(kind, objects);
        }
        Ok(UnmanagedObjects::new(by_kind))
    }

    /// Saves the inventory of the applied objects.
    async fn save_inventory(&self, preset: &str) -> Result<(), RequestError> {
        let objects = self.applied_objects.keys().map(|key| InventoryEntry {
            api_version: self.versions.get(key).cloned().unwrap_or_default(),
            key: key.clone(),
        });
        let inventory = Inventory {
            preset: preset.to_owned(),
            objects: objects.collect(),
        };
        inventory::save(&self.remote, &inventory).await
    }

    /// Deletes all managed objects and the inventory. With `remove_finalizers`, for a cluster without
    /// a running controller, removes the finalizers of Kueue's objects as the controller would.
    pub(crate) async fn remove_all(
        &mut self,
        remove_finalizers: bool,
    ) -> Result<ApplyOutcome, RequestError> {
        for (key, version) in &mut self.versions {
            // The conversion webhook may be unavailable: use the storage version.
            if key.group == GROUP {
                *version = API_VERSION.to_owned();
            }
        }
        let diff = apply_diff(&self.applied_objects, &[]);
        let mut outcome = ApplyOutcome::default();
        let versions = self.versions.clone();
        self.prune(&diff, &mut outcome).await;
        if remove_finalizers {
            for key in diff.prune.iter().filter(|key| key.group == GROUP) {
                self.remove_resource_in_use_finalizer(key, versions.get(key))
                    .await?;
            }
        }
        match self.applied_objects.is_empty() {
            true => inventory::delete(&self.remote).await?,
            false => self.save_inventory("").await?,
        }
        Ok(outcome)
    }

    /// Makes the next run apply all objects.
    pub(crate) fn forget_applied_values(&mut self) {
        self.applied_objects
            .values_mut()
            .for_each(|value| *value = Value::Null);
    }

    /// The client of the cluster.
    pub(crate) fn remote(&self) -> ApiClient {
        self.remote.clone()
    }

    /// The number of managed objects.
    pub(crate) fn len(&self) -> usize {
        self.applied_objects.len()
    }
}

/// The object of the file, with the preset label if it is managed.
pub(super) fn with_preset_label(object: &Value, preset: &str, managed: bool) -> Value {
    let mut object = object.clone();
    if managed {
        object["metadata"]["labels"][PRESET_LABEL] = Value::from(preset);
    }
    object
}
