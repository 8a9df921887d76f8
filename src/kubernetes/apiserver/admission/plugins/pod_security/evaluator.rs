//! Evaluation of a pod against a level: the checks of its version and their results.

use serde_json::Value;

use super::checks::{BASELINE, Check, RESTRICTED, Violation};
use super::policy::{Level, LevelVersion, Version};

/// The metadata and the spec of a pod or a pod template.
#[derive(Clone, Copy, Debug)]
pub(super) struct PodFields<'a> {
    pub(super) metadata: &'a Value,
    pub(super) spec: &'a Value,
}

/// The violations of a pod.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Violations(Vec<Violation>);

impl Violations {
    /// Whether the pod is allowed.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The reasons, such as `host namespaces, privileged`.
    pub(super) fn reasons(&self) -> String {
        let reasons: Vec<&str> = self.0.iter().map(|v| v.reason).collect();
        reasons.join(", ")
    }

    /// The reasons, each with its fields in parentheses.
    pub(super) fn details(&self) -> String {
        let details = self
            .0
            .iter()
            .map(|v| format!("{} ({})", v.reason, v.detail));
        details.collect::<Vec<_>>().join(", ")
    }
}

/// The checks of the level that the pod does not pass.
pub(super) fn evaluate(policy: LevelVersion, pod: PodFields<'_>) -> Violations {
    let minor = match policy.version {
        Version::Minor(minor) => minor,
        Version::Latest => u64::MAX,
    };
    let restricted = match policy.level {
        Level::Privileged => return Violations::default(),
        Level::Baseline => &[],
        Level::Restricted => RESTRICTED,
    };
    let of_version = |check: &'static Check| {
        let mut versions = check.versions.iter().rev();
        let (_, run) = versions.find(|(since, _)| *since <= minor)?;
        Some((check, run))
    };
    let restricted: Vec<_> = restricted.iter().filter_map(of_version).collect();
    let is_overridden = |check: &Check| {
        restricted
            .iter()
            .any(|(r, _)| r.overrides == Some(check.id))
    };
    let baseline = BASELINE.iter().filter_map(of_version);
    let baseline = baseline.filter(|(check, _)| !is_overridden(check));
    let all = baseline.chain(restricted.iter().copied());
    Violations(all.filter_map(|(_, run)| run(pod)).collect())
}
