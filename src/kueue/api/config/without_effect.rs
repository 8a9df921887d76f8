//! [`SETTINGS_WITHOUT_EFFECT`]: the fields and feature gates of a configuration that have no
//! effect.
//!
//! `docs/configuration.md` lists them too.

use super::{Feature, FeatureGates, FeatureStage};
use crate::problem::Problem;
use kueue_lab_yaml::{Kind, Node};

/// The environment in which a setting has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoEffectIn {
    /// In labs on the embedded cluster.
    EmbeddedCluster,
    /// In labs; the command `controller` applies it.
    Labs,
    /// Everywhere.
    Everywhere,
}

/// A field or a feature gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A field with all fields below it, by path.
    Field(&'static str),
    /// A feature gate, and the value whose behavior is implemented, if there is one.
    Gate(Feature, Option<bool>),
}

/// A field or feature gate that has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingWithoutEffect {
    /// The setting.
    pub setting: Setting,
    /// The environment in which it has no effect.
    pub no_effect_in: NoEffectIn,
    /// Why.
    pub reason: &'static str,
}

const fn field(
    path: &'static str,
    no_effect_in: NoEffectIn,
    reason: &'static str,
) -> SettingWithoutEffect {
    SettingWithoutEffect {
        setting: Setting::Field(path),
        no_effect_in,
        reason,
    }
}

const fn gate(
    feature: Feature,
    behaves_as: Option<bool>,
    reason: &'static str,
) -> SettingWithoutEffect {
    SettingWithoutEffect {
        setting: Setting::Gate(feature, behaves_as),
        no_effect_in: NoEffectIn::Everywhere,
        reason,
    }
}

const SPEED_ONLY: &str = "it changes only the speed of upstream's scheduler";

/// The settings without effect.
pub(crate) const SETTINGS_WITHOUT_EFFECT: &[SettingWithoutEffect] = {
    use NoEffectIn::{EmbeddedCluster, Everywhere, Labs};
    &[
        field(
            "clientConnection",
            EmbeddedCluster,
            "requests to the embedded cluster are not limited",
        ),
        field(
            "controller.cacheSyncTimeout",
            Everywhere,
            "informers wait for their first list without a limit",
        ),
        field("health", Labs, "labs serve no health endpoints"),
        field(
            "internalCertManagement",
            Everywhere,
            "certificates of webhooks are always generated, and kept in a Secret of kueue-lab",
        ),
        field(
            "leaderElection.resourceLock",
            Everywhere,
            "the lock is a Lease",
        ),
        field(
            "leaderElection.resourceNamespace",
            Everywhere,
            "the Lease is in the namespace of --namespace",
        ),
        field(
            "metrics.bindAddress",
            Labs,
            "the address is that of the metrics Service, or of --metrics",
        ),
        field("pprofBindAddress", Everywhere, "pprof profiles Go programs"),
        field(
            "tls",
            Everywhere,
            "servers accept TLS 1.2 and 1.3 with the defaults of rustls",
        ),
        field(
            "visibilityServer",
            Everywhere,
            "the visibility API has no listener of its own",
        ),
        field(
            "webhook.certDir",
            Everywhere,
            "certificates of webhooks are generated",
        ),
        field(
            "webhook.host",
            Everywhere,
            "webhooks are served on all addresses",
        ),
        field(
            "webhook.port",
            Everywhere,
            "the port is that of --webhook-port",
        ),
        gate(
            Feature::ManagedJobsNamespaceSelectorAlwaysRespected,
            Some(true),
            "the gate is locked",
        ),
        gate(
            Feature::RemoveFinalizersWithStrictPatch,
            Some(true),
            "finalizers of pods are removed with a check of the resource version",
        ),
        gate(
            Feature::SchedulerLibraryIntegration,
            Some(false),
            "nodes are not filtered by the library of kube-scheduler",
        ),
        gate(Feature::TASCacheNodeMatchResults, Some(true), SPEED_ONLY),
        gate(Feature::TASCacheTopologyTree, Some(true), SPEED_ONLY),
        gate(
            Feature::TASCachingRemainingResources,
            Some(true),
            SPEED_ONLY,
        ),
        gate(Feature::TLSOptions, Some(true), "the gate is locked"),
        gate(Feature::VectorizedResourceRequests, Some(true), SPEED_ONLY),
        gate(
            Feature::WorkloadRequestUseMergePatch,
            Some(false),
            "Workloads are updated by server-side apply",
        ),
    ]
};

/// A setting of a configuration file that has no effect.
#[derive(Clone, Debug, PartialEq)]
pub struct IgnoredSetting {
    /// The environment in which it has no effect.
    pub no_effect_in: NoEffectIn,
    /// The field, its position and the reason.
    pub problem: Problem,
}

/// The settings without effect that a document sets.
pub(super) fn ignored_settings(root: &Node, gates: &FeatureGates) -> Vec<IgnoredSetting> {
    let rows = SETTINGS_WITHOUT_EFFECT.iter();
    let mut ignored: Vec<IgnoredSetting> = rows
        .filter_map(|row| {
            let path = match row.setting {
                Setting::Field(path) => is_set(root, path).then(|| path.to_owned())?,
                Setting::Gate(feature, behaves_as) => {
                    let name = setter_of_gate(root, feature)?;
                    let differs = behaves_as != Some(gates.enabled(feature));
                    differs.then(|| format!("featureGates.{name}"))?
                }
            };
            let subject = match row.setting {
                Setting::Gate(feature, _) if !path.ends_with(feature.name()) => {
                    format!("{feature} has no effect")
                }
                _ => "has no effect".to_owned(),
            };
            let place = match row.no_effect_in {
                NoEffectIn::EmbeddedCluster => " on the embedded cluster",
                NoEffectIn::Labs => " in a lab",
                NoEffectIn::Everywhere => "",
            };
            let problem = Problem {
                at: root.locate(&path),
                path,
                message: format!("{subject}{place}: {}", row.reason),
                remedy: None,
            };
            Some(IgnoredSetting {
                no_effect_in: row.no_effect_in,
                problem,
            })
        })
        .collect();
    ignored.sort_by_key(|setting| setting.problem.at);
    ignored
}

/// Whether a document sets a field, other than to an empty value.
fn is_set(root: &Node, path: &str) -> bool {
    let node = path.split('.').try_fold(root, |node, key| node.get(key));
    node.is_some_and(|node| match &node.kind {
        Kind::Null => false,
        Kind::Map(entries) => !entries.is_empty(),
        Kind::List(items) => !items.is_empty(),
        _ => true,
    })
}

/// The name in `featureGates` that sets a gate: its own, or that of its stage.
fn setter_of_gate(root: &Node, feature: Feature) -> Option<&'static str> {
    let stage = match feature.stage() {
        FeatureStage::Alpha => Some("AllAlpha"),
        FeatureStage::Beta => Some("AllBeta"),
        _ => None,
    };
    let names = [Some(feature.name()), stage].into_iter().flatten();
    let gates = root.get("featureGates")?;
    names.into_iter().find(|name| gates.get(name).is_some())
}
