//! [`Check`]: one control of the standards.

use super::super::evaluator::PodFields;

/// A control; its id orders the results.
pub(in super::super) struct Check {
    /// Upstream's name of the check.
    pub(in super::super) id: &'static str,
    /// The functions of the check, each from a minor version on.
    pub(in super::super) versions: &'static [(u64, CheckPod)],
    /// The baseline check that is not run beside this one.
    pub(in super::super) overrides: Option<&'static str>,
}

impl Check {
    /// A check that overrides none.
    pub(super) const fn new(id: &'static str, versions: &'static [(u64, CheckPod)]) -> Self {
        Self {
            id,
            versions,
            overrides: None,
        }
    }

    /// A check that is stricter than the baseline check `overridden`.
    pub(super) const fn overriding(
        id: &'static str,
        versions: &'static [(u64, CheckPod)],
        overridden: &'static str,
    ) -> Self {
        Self {
            id,
            versions,
            overrides: Some(overridden),
        }
    }
}

/// The violation of a check by a pod; `None` if the pod is allowed.
pub(super) type CheckPod = fn(PodFields<'_>) -> Option<Violation>;

/// Why a pod is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Violation {
    /// The reason, such as `host namespaces`.
    pub(in super::super) reason: &'static str,
    /// The fields and containers, such as `hostNetwork=true`.
    pub(in super::super) detail: String,
}

impl Violation {
    /// A violation.
    pub(super) fn new(reason: &'static str, detail: impl Into<String>) -> Option<Self> {
        let detail = detail.into();
        Some(Self { reason, detail })
    }
}
