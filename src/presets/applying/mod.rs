//! Carrying out a plan: everything is tried without effect first; what fails after that is undone.

pub(super) mod inhabitants;
mod objects;
mod refusal;
mod rollback;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::inventory::{self, Inventory, Item};
use super::kinds::{Kinds, defined_by};
use super::plan::{InForce, plan};
use super::references::{self, REFERENCED};
use super::remote::{CallError, KindInfo, Remote};
use super::{Finding, Manifest, ObjectKey, Plan};
use kueue_lab_api::v1beta2::{API_VERSION, GROUP};
use objects::Standing;
use rollback::Undo;

/// What a run came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// Objects applied.
    pub(super) applied: usize,
    /// Objects deleted and made anew, because a field of theirs cannot change.
    pub(super) replaced: usize,
    /// Objects taken away.
    pub(super) pruned: usize,
    /// Objects left as they were.
    pub(super) unchanged: usize,
    /// Warnings.
    pub(super) warnings: Vec<Finding>,
}

/// Why a run did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// Something is wrong with the preset; nothing was changed.
    #[error("{} errors, nothing was changed", .0.len())]
    Refused(Vec<Finding>),
    /// Something failed half-way; what was done is undone again.
    #[error("applying failed and was undone")]
    Undone(Vec<Finding>),
    /// Something failed half-way, and so did undoing it.
    #[error("applying failed, and so did undoing it")]
    Stuck(Vec<Finding>),
    /// The API server does not answer.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl Failure {
    /// The findings of a failure; `file` stands in where none is to blame.
    pub(super) fn findings(self, file: &str) -> Vec<Finding> {
        match self {
            Self::Refused(findings) | Self::Undone(findings) | Self::Stuck(findings) => findings,
            Self::Call(error) => {
                let start = kueue_lab_yaml::Position::START;
                vec![Finding::error(file, start, error.to_string())]
            }
        }
    }
}

/// Applies presets to one cluster and knows what is in force there.
pub(super) struct Applier {
    remote: Remote,
    kinds: Kinds,
    /// Objects in force that the lab made, as the files say them. An object that an earlier run
    /// left behind is there with `null`, so that it differs from whatever the files say.
    in_force: InForce,
    /// Versions by which the objects in force were applied.
    versions: BTreeMap<ObjectKey, String>,
}

/// How objects of a manifest's kind are reached.
struct Resolved {
    kind: KindInfo,
    /// Whether the cluster serves it already, rather than by a definition of the same preset.
    served: bool,
}

/// A plan with all that is known about its objects.
struct Work<'m> {
    preset: &'m str,
    manifests: &'m [Manifest],
    plan: Plan,
    kinds: Vec<Resolved>,
    /// Namespaces the plan's objects are in, and whether each is there already.
    namespaces: BTreeMap<String, bool>,
    /// For each manifest to apply, what stands in the cluster.
    standing: BTreeMap<usize, Standing>,
    /// Those that have to be deleted and made anew.
    replace: BTreeSet<usize>,
}

impl Applier {
    /// An applier that takes up what an earlier run left in the cluster.
    pub(super) async fn new(remote: Remote) -> Result<Self, CallError> {
        let inventory = inventory::load(&remote).await?;
        let mut applier = Self {
            remote,
            kinds: Kinds::default(),
            in_force: InForce::new(),
            versions: BTreeMap::new(),
        };
        for item in inventory.objects {
            applier.in_force.insert(item.key.clone(), Value::Null);
            applier.versions.insert(item.key, item.api_version);
        }
        Ok(applier)
    }

    /// Brings the cluster to what the manifests say.
    pub(super) async fn run(
        &mut self,
        preset: &str,
        mut manifests: Vec<Manifest>,
    ) -> Result<Outcome, Failure> {
        let kinds = self.resolve(&mut manifests).await?;
        let mut outcome = Outcome {
            warnings: references::check(&manifests, &self.referenced().await?),
            ..Outcome::default()
        };
        let plan = plan(&self.in_force, &manifests);
        outcome.unchanged = plan.unchanged;
        let mut work = Work {
            preset,
            manifests: &manifests,
            plan,
            kinds,
            namespaces: BTreeMap::new(),
            standing: BTreeMap::new(),
            replace: BTreeSet::new(),
        };
        self.try_out(&mut work, &mut outcome).await?;
        let mut done = Vec::new();
        if let Err(finding) = self.make(&work, &mut done, &mut outcome).await {
            let undo = done.into_iter().map(|d| Undo::of(d, &manifests)).collect();
            return Err(self.undo(preset, undo, finding).await);
        }
        for done in done {
            let manifest = &manifests[done.index];
            if done.ours {
                let version = manifest.api_version.clone();
                self.versions.insert(manifest.key.clone(), version);
                self.in_force
                    .insert(manifest.key.clone(), manifest.object.clone());
            }
        }
        self.prune(&work.plan, &mut outcome).await;
        self.remember(preset).await?;
        Ok(outcome)
    }

    /// Finds out how each object is reached, and gives namespaces where they are left out.
    async fn resolve(&mut self, manifests: &mut [Manifest]) -> Result<Vec<Resolved>, Failure> {
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
                    .find_map(|d| defined_by(d, version, kind))
            };
            let Some(info) = found.or_else(coming) else {
                findings.push(self.kinds.unknown(manifest));
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
            kinds.push(Resolved { kind: info, served });
        }
        match findings.is_empty() {
            true => Ok(kinds),
            false => Err(Failure::Refused(findings)),
        }
    }

    /// Keys of the objects in the cluster that a preset may refer to.
    async fn referenced(&mut self) -> Result<BTreeSet<ObjectKey>, CallError> {
        let mut keys = BTreeSet::new();
        for kind in REFERENCED {
            let Some(info) = self.kinds.find(&self.remote, API_VERSION, kind).await? else {
                continue;
            };
            for object in self.remote.list(&info, None).await? {
                // What this folder itself put there counts only while the files say so.
                if inventory::is_ours(&object) {
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
    async fn remember(&self, preset: &str) -> Result<(), CallError> {
        let objects = self.in_force.keys().map(|key| Item {
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
    /// runs the controller (`unattended`), queues are let go of as it would: their finalizers are
    /// taken off.
    pub(super) async fn take_all_away(&mut self, unattended: bool) -> Result<Outcome, CallError> {
        for (key, version) in &mut self.versions {
            // Nobody may be there to convert from an older one.
            if key.group == GROUP {
                *version = API_VERSION.to_owned();
            }
        }
        let plan = plan(&self.in_force, &[]);
        let mut outcome = Outcome::default();
        let versions = self.versions.clone();
        self.prune(&plan, &mut outcome).await;
        if unattended {
            for key in plan.prune.iter().filter(|key| key.group == GROUP) {
                self.let_go(key, versions.get(key)).await?;
            }
        }
        match self.in_force.is_empty() {
            true => inventory::forget(&self.remote).await?,
            false => self.remember("").await?,
        }
        Ok(outcome)
    }

    /// The way to the cluster.
    pub(super) fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// How many objects are in force.
    pub(super) fn len(&self) -> usize {
        self.in_force.len()
    }
}

/// The object as it is sent: the file's, with the label that says whose it is.
fn labelled(object: &Value, preset: &str, ours: bool) -> Value {
    let mut object = object.clone();
    if ours {
        object["metadata"]["labels"][inventory::LABEL] = Value::from(preset);
    }
    object
}
