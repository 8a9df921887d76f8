//! [`UnmanagedObjects`]: the objects of Kueue's kinds in the cluster that are not of a preset.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::cluster_manifest::manifest_of_cluster;
use crate::cluster_objects::LINTED_KINDS;
use crate::references::REFERENCED_KINDS;
use crate::{Manifest, ResourceKey};
use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_json::ValueExt;

/// The unmanaged objects of [`LINTED_KINDS`] and [`REFERENCED_KINDS`], listed once for a save.
pub(super) struct UnmanagedObjects {
    by_kind: BTreeMap<&'static str, Vec<Value>>,
}

impl UnmanagedObjects {
    /// The kinds to list.
    pub(super) fn kinds() -> BTreeSet<&'static str> {
        LINTED_KINDS.into_iter().chain(REFERENCED_KINDS).collect()
    }

    /// The objects by kind.
    pub(super) fn new(by_kind: BTreeMap<&'static str, Vec<Value>>) -> Self {
        Self { by_kind }
    }

    /// Keys of the objects that a preset can reference.
    pub(super) fn referencable_keys(&self) -> BTreeSet<ResourceKey> {
        self.of_kinds(&REFERENCED_KINDS)
            .map(|(kind, object)| ResourceKey {
                group: GROUP.into(),
                kind: kind.into(),
                namespace: None,
                name: object.text("/metadata/name").into(),
            })
            .collect()
    }

    /// The objects that the warnings about a preset depend on.
    pub(super) fn linted_manifests(&self, gates: &FeatureGates) -> Vec<Manifest> {
        self.of_kinds(&LINTED_KINDS)
            .filter_map(|(kind, object)| manifest_of_cluster(kind, object, gates))
            .collect()
    }

    fn of_kinds(
        &self,
        kinds: &'static [&'static str],
    ) -> impl Iterator<Item = (&'static str, &Value)> {
        kinds.iter().flat_map(|kind| {
            let objects = self.by_kind.get(kind).into_iter().flatten();
            objects.map(|object| (*kind, object))
        })
    }
}
