//! [`ClusterObjects`]: the objects of a cluster beside a preset, for the warnings about the preset.

use super::{LabNode, Manifest};

/// The kinds of Kueue that warnings about the objects of a preset depend on.
pub(super) const LINTED_KINDS: [&str; 5] = [
    "ResourceFlavor",
    "WorkloadPriorityClass",
    "Cohort",
    "ClusterQueue",
    "LocalQueue",
];

/// The objects of a cluster beside a preset.
#[derive(Clone, Copy, Default)]
pub(super) struct ClusterObjects<'a> {
    /// The nodes; empty if they are not known.
    pub(super) nodes: &'a [LabNode],
    /// Objects of [`LINTED_KINDS`] that are not of a preset.
    pub(super) manifests: &'a [Manifest],
}
