//! Carrying out a plan: everything is tried without effect first; what fails after that is undone.

mod api_errors;
mod apply_objects;
pub(super) mod namespace_contents;
mod rollback;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::api_client::{ApiClient, RequestError, RestMapping};
use super::discovery::{DiscoveryCache, kind_from_crd};
use super::inventory::{self, Inventory, InventoryEntry};
use super::plan::{AppliedObjects, plan};
use super::references::{self, REFERENCED_KINDS};
use super::{Finding, Manifest, ObjectKey, Plan};
use apply_objects::LiveState;
use kueue_lab_api::v1beta2::{API_VERSION, GROUP};
use rollback::RollbackStep;

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ApplyOutcome {
    /// Objects applied.
    pub(super) applied: usize,
    /// Objects deleted and made anew, because a field of theirs cannot change.
    pub(super) recreated: usize,
    /// Objects taken away.
    pub(super) pruned: usize,
    /// Objects left as they were.
    pub(super) unchanged: usize,
    /// Warnings.
    pub(super) warnings: Vec<Finding>,
}

/// Why a run did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApplyError {
    /// Something is wrong with the preset; nothing was changed.
    #[error("{} errors, nothing was changed", .0.len())]
    Rejected(Vec<Finding>),
    /// Something failed half-way; what was done is undone again.
    #[error("applying failed and was undone")]
    RolledBack(Vec<Finding>),
    /// Something failed half-way, and so did undoing it.
    #[error("applying failed, and so did undoing it")]
    RollbackFailed(Vec<Finding>),
    /// The API server does not answer.
    #[error(transparent)]
    Request(#[from] RequestError),
}

impl ApplyError {
    /// The findings of a failure; `file` stands in where none is to blame.
    pub(super) fn findings(self, file: &str) -> Vec<Finding> {
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

/// Applies presets to one cluster and knows what is in force there.
pub(super) struct Applier {
    remote: ApiClient,
    kinds: DiscoveryCache,
    /// Objects in force that the lab made, as the files say them. An object that an earlier run
    /// left behind is there with `null`, so that it differs from whatever the files say.
    applied_objects: AppliedObjects,
    /// Versions by which the objects in force were applied.
    versions: BTreeMap<ObjectKey, String>,
}

/// How objects of a manifest's kind are reached.
struct ResolvedKind {
    kind: RestMapping,
    /// Whether the cluster serves it already, rather than by a definition of the same preset.
    served: bool,
}

/// A plan with all that is known about its objects.
struct ResolvedPlan<'m> {
    preset: &'m str,
    manifests: &'m [Manifest],
    plan: Plan,
    kinds: Vec<ResolvedKind>,
    /// Namespaces the plan's objects are in, and whether each is there already.
    namespaces: BTreeMap<String, bool>,
    /// For each manifest to apply, what stands in the cluster.
    live_states: BTreeMap<usize, LiveState>,
    /// Those that have to be deleted and made anew.
    recreate: BTreeSet<usize>,
}

impl Applier {
    /// An applier that takes up what an earlier run left in the cluster.
    pub(super) async fn new(remote: ApiClient) -> Result<Self, RequestError> {
        let inventory = inventory::load(&remote).await?;
        let mut applier = Self {
            remote,
            kinds: DiscoveryCache::default(),
            applied_objects: AppliedObjects::new(),
            versions: BTreeMap::new(),
        };
        for item in inventory.objects {
            applier
                .applied_objects
                .insert(item.key.clone(), Value::Null);
            applier.versions.insert(item.key, item.api_version);
        }
        Ok(applier)
    }

    /// Brings the cluster to what the manifests say.
    pub(super) async fn apply(
        &mut self,
        preset: &str,
        mut manifests: Vec<Manifest>,
    ) -> Result<ApplyOutcome, ApplyError> {
        let kinds = self.resolve(&mut manifests).await?;
        let mut outcome = ApplyOutcome {
            warnings: references::check(&manifests, &self.referencable_objects().await?),
            ..ApplyOutcome::default()
        };
        let plan = plan(&self.applied_objects, &manifests);
        outcome.unchanged = plan.unchanged;
        let mut work = ResolvedPlan {
            preset,
            manifests: &manifests,
            plan,
            kinds,
            namespaces: BTreeMap::new(),
            live_states: BTreeMap::new(),
            recreate: BTreeSet::new(),
        };
        self.dry_run(&mut work, &mut outcome).await?;
        let mut done = Vec::new();
        if let Err(finding) = self.apply_objects(&work, &mut done, &mut outcome).await {
            let undo = done
                .into_iter()
                .map(|d| RollbackStep::of(d, &manifests))
                .collect();
            return Err(self.roll_back(preset, undo, finding).await);
        }
        for done in done {
            let manifest = &manifests[done.index];
            if done.managed {
                let version = manifest.api_version.clone();
                self.versions.insert(manifest.key.clone(), version);
                self.applied_objects
                    .insert(manifest.key.clone(), manifest.object.clone());
            }
        }
        self.prune(&work.plan, &mut outcome).await;
        self.save_inventory(preset).await?;
        Ok(outcome)
    }

    /// Finds out how each object is reached, and gives namespaces where they are left out.
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
            let coming = || {
                definitions
                    .iter()
                    .find_map(|d| kind_from_crd(d, version, kind))
            };
            let Some(info) = found.or_else(coming) else {
                findings.push(self.kinds.unknown_kind_error(manifest));
                continue;
            };
            match (&manifest.key.namespace, info.namespaced) {
                (None, true) => {
                    manifest.key.namespace = Some("default".into());
                    manifest.object["metadata"]["namespace"] = Value::from("default");
                }
                (Some(_), false) => {
                    let message = format!("{kind} is not in a namespace");
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

    /// Keys of the objects in the cluster that a preset may refer to.
    async fn referencable_objects(&mut self) -> Result<BTreeSet<ObjectKey>, RequestError> {
        let mut keys = BTreeSet::new();
        for kind in REFERENCED_KINDS {
            let Some(info) = self.kinds.find(&self.remote, API_VERSION, kind).await? else {
                continue;
            };
            for object in self.remote.list(&info, None).await? {
                // What this folder itself put there counts only while the files say so.
                if inventory::is_managed(&object) {
                    continue;
                }
                keys.insert(ObjectKey {
                    group: kueue_lab_api::v1beta2::GROUP.into(),
                    kind: kind.into(),
                    namespace: None,
                    name: object["metadata"]["name"]
                        .as_str()
                        .unwrap_or_default()
                        .into(),
                });
            }
        }
        Ok(keys)
    }

    /// Writes down what is in force.
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

    /// Takes away whatever presets put into the cluster, and what was remembered of it. Where nobody
    /// runs the controller (`remove_finalizers`), queues are let go of as it would: their finalizers are
    /// taken off.
    pub(super) async fn remove_all(
        &mut self,
        remove_finalizers: bool,
    ) -> Result<ApplyOutcome, RequestError> {
        for (key, version) in &mut self.versions {
            // Nobody may be there to convert from an older one.
            if key.group == GROUP {
                *version = API_VERSION.to_owned();
            }
        }
        let plan = plan(&self.applied_objects, &[]);
        let mut outcome = ApplyOutcome::default();
        let versions = self.versions.clone();
        self.prune(&plan, &mut outcome).await;
        if remove_finalizers {
            for key in plan.prune.iter().filter(|key| key.group == GROUP) {
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

    /// The way to the cluster.
    pub(super) fn remote(&self) -> ApiClient {
        self.remote.clone()
    }

    /// How many objects are in force.
    pub(super) fn len(&self) -> usize {
        self.applied_objects.len()
    }
}

/// The object as it is sent: the file's, with the label that says whose it is.
fn with_preset_label(object: &Value, preset: &str, managed: bool) -> Value {
    let mut object = object.clone();
    if managed {
        object["metadata"]["labels"][inventory::PRESET_LABEL] = Value::from(preset);
    }
    object
}
