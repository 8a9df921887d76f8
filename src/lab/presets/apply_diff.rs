//! Compares the applied objects with the manifests: what to apply and what to prune.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::quantity_spelling::equal_except_spelling;
use super::{Manifest, ResourceKey};

/// The objects as they were applied, by key.
pub(super) type AppliedObjects = BTreeMap<ResourceKey, Value>;

/// The changes, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplyDiff {
    /// Indices of new and changed manifests, in apply order.
    pub apply: Vec<usize>,
    /// Objects removed from the files, in reverse apply order.
    pub prune: Vec<ResourceKey>,
    /// The number of unchanged objects.
    pub unchanged: usize,
}

impl ApplyDiff {
    /// Whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.apply.is_empty() && self.prune.is_empty()
    }
}

/// Compares the applied objects with the manifests.
pub(crate) fn apply_diff(applied: &AppliedObjects, manifests: &[Manifest]) -> ApplyDiff {
    let mut diff = ApplyDiff::default();
    for (index, manifest) in manifests.iter().enumerate() {
        let applied = applied.get(&manifest.key);
        if applied.is_some_and(|applied| equal_except_spelling(&manifest.object, applied)) {
            diff.unchanged += 1;
        } else {
            diff.apply.push(index);
        }
    }
    // The sort is stable: objects of one rank keep the order of the files.
    diff.apply.sort_by_key(|i| manifests[*i].key.apply_order());
    let wanted: BTreeSet<&ResourceKey> = manifests.iter().map(|m| &m.key).collect();
    diff.prune = applied
        .keys()
        .filter(|key| !wanted.contains(key))
        .cloned()
        .collect();
    diff.prune
        .sort_by_key(|key| std::cmp::Reverse(key.apply_order()));
    diff
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{SourceFile, parse};
    use kueue_lab_api::config::FeatureGates;

    fn manifest(kind: &str, name: &str, quota: u8) -> Manifest {
        let text = format!(
            "apiVersion: example.com/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nquota: {quota}\n"
        );
        let file = SourceFile {
            name: "f".into(),
            bytes: text.into(),
        };
        let mut manifest = parse(&[file], &FeatureGates::default()).manifests.remove(0);
        manifest.key.group = kueue_lab_api::v1beta2::GROUP.into();
        manifest
    }

    fn applied_objects(manifests: &[Manifest]) -> AppliedObjects {
        manifests
            .iter()
            .map(|m| (m.key.clone(), m.object.clone()))
            .collect()
    }

    #[test]
    fn dependencies_are_applied_first_and_pruned_last() {
        let files = [
            manifest("LocalQueue", "l", 1),
            manifest("ClusterQueue", "c", 1),
            manifest("ResourceFlavor", "f", 1),
        ];
        let planned = apply_diff(&AppliedObjects::new(), &files);
        assert_eq!(planned.apply, [2, 1, 0]);
        let removal = apply_diff(&applied_objects(&files), &[]);
        let kinds: Vec<_> = removal.prune.iter().map(|k| k.kind.as_str()).collect();
        assert_eq!(kinds, ["LocalQueue", "ClusterQueue", "ResourceFlavor"]);
    }

    #[test]
    fn only_changed_objects_are_applied() {
        let before = [
            manifest("ClusterQueue", "a", 1),
            manifest("ClusterQueue", "b", 1),
        ];
        let after = [
            manifest("ClusterQueue", "a", 1),
            manifest("ClusterQueue", "b", 2),
        ];
        let planned = apply_diff(&applied_objects(&before), &after);
        assert_eq!(
            (planned.apply.as_slice(), planned.unchanged),
            ([1].as_slice(), 1)
        );
        assert!(apply_diff(&applied_objects(&after), &after).is_empty());
    }

    proptest! {
        #[test]
        fn an_executed_plan_matches_the_manifests(
            before in proptest::collection::btree_map("[a-e]", 0u8..3, 0..5),
            after in proptest::collection::btree_map("[a-e]", 0u8..3, 0..5),
        ) {
            let list = |m: &std::collections::BTreeMap<String, u8>| {
                m.iter().map(|(n, q)| manifest("ClusterQueue", n, *q)).collect::<Vec<_>>()
            };
            let (before, after) = (list(&before), list(&after));
            let mut cluster = applied_objects(&before);
            let planned = apply_diff(&cluster, &after);
            prop_assert_eq!(planned.unchanged + planned.apply.len(), after.len());
            for i in planned.apply {
                cluster.insert(after[i].key.clone(), after[i].object.clone());
            }
            for key in planned.prune {
                prop_assert!(cluster.remove(&key).is_some());
            }
            prop_assert_eq!(cluster, applied_objects(&after));
        }
    }
}
