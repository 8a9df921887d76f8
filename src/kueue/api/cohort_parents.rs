//! [`CohortParents`]: the root Cohort of ClusterQueues and Cohorts given as JSON.

use std::collections::BTreeMap;

use serde_json::Value;

/// The longest path to a root. A longer one is a cycle, in which Kueue admits no Workload.
const MAX_DEPTH: usize = 64;

/// The parents of Cohorts by name (`spec.parentName`).
#[derive(Debug, Default)]
pub struct CohortParents<'v>(BTreeMap<&'v str, &'v str>);

impl<'v> CohortParents<'v> {
    /// The parents of these Cohorts.
    pub fn new(cohorts: impl IntoIterator<Item = &'v Value>) -> Self {
        let parent = |cohort: &'v Value| {
            let name = cohort.pointer("/metadata/name")?.as_str()?;
            let parent = cohort.pointer("/spec/parentName")?.as_str()?;
            (!parent.is_empty()).then_some((name, parent))
        };
        Self(cohorts.into_iter().filter_map(parent).collect())
    }

    /// The root of the tree of a Cohort. A Cohort without an object is its own root.
    pub fn root(&self, cohort: &'v str) -> &'v str {
        let mut root = cohort;
        for _ in 0..MAX_DEPTH {
            match self.0.get(root) {
                Some(parent) => root = parent,
                None => break,
            }
        }
        root
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_root_is_found_and_a_cycle_ends() {
        let cohorts = [
            json!({"metadata": {"name": "team"}, "spec": {"parentName": "department"}}),
            json!({"metadata": {"name": "department"}, "spec": {"parentName": "company"}}),
            json!({"metadata": {"name": "company"}, "spec": {}}),
            json!({"metadata": {"name": "left"}, "spec": {"parentName": "right"}}),
            json!({"metadata": {"name": "right"}, "spec": {"parentName": "left"}}),
        ];
        let parents = CohortParents::new(&cohorts);
        assert_eq!(parents.root("team"), "company");
        assert_eq!(parents.root("company"), "company");
        assert_eq!(parents.root("implicit"), "implicit");
        assert!(["left", "right"].contains(&parents.root("left")));
    }
}
