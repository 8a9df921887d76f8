//! Notes on objects of other clients, such as kubectl, Argo CD, Flux and Helm.

use std::collections::{BTreeMap, BTreeSet};

use kueue_lab_api::list_names;
use kueue_lab_presets::TakenOverFields;

use super::object_changes::ObjectChange;

/// The most objects that a note names.
const MAX_NAMED: usize = 5;

/// One note for each set of owners of objects that change.
pub(crate) fn owner_notes(taken_over: &[TakenOverFields], changes: &[ObjectChange]) -> Vec<String> {
    let changed: BTreeSet<&str> = changes.iter().map(|c| c.object.as_str()).collect();
    let mut by_owners: BTreeMap<(String, bool), Vec<&str>> = BTreeMap::new();
    for fields in taken_over {
        if !changed.contains(fields.object.as_str()) {
            continue;
        }
        let owners: Vec<&str> = fields.managers.iter().map(String::as_str).collect();
        let is_refused = !fields.conflicts.is_empty();
        let objects = by_owners.entry((owners.join(" and "), is_refused));
        objects.or_default().push(&fields.object);
    }
    let note = |((owners, is_refused), objects): (&(String, bool), &Vec<&str>)| {
        let named = list_names(objects, MAX_NAMED);
        let preset = match is_refused {
            true => "a preset of the lab would refuse the change",
            false => "a preset of the lab would not remove its fields",
        };
        format!("owned by {owners}: {named}; the plan is that of an apply by the owner, {preset}")
    };
    by_owners.iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object_changes::ObjectAction;

    #[test]
    fn owners_of_changed_objects_are_named_once() {
        let fields = |object: String, manager: &str, conflicts: &[&str]| TakenOverFields {
            object,
            managers: BTreeSet::from([manager.to_owned()]),
            conflicts: conflicts.iter().map(|c| (*c).to_owned()).collect(),
        };
        let mut taken_over: Vec<_> = (0..7)
            .map(|i| fields(format!("ClusterQueue/q{i}"), "helm", &["spec.cohortName"]))
            .collect();
        taken_over.push(fields("Cohort/a".to_owned(), "kustomize-controller", &[]));
        taken_over.push(fields("Cohort/same".to_owned(), "kubectl", &[]));
        let changed = taken_over[..8].iter().map(|fields| ObjectChange {
            object: fields.object.clone(),
            action: ObjectAction::Change,
            fields: Vec::new(),
        });
        let changes: Vec<_> = changed.collect();
        assert_eq!(
            owner_notes(&taken_over, &changes),
            [
                "owned by helm: ClusterQueue/q0, ClusterQueue/q1, ClusterQueue/q2, ClusterQueue/q3, \
                 ClusterQueue/q4 and 2 more; the plan is that of an apply by the owner, a preset of the lab \
                 would refuse the change",
                "owned by kustomize-controller: Cohort/a; the plan is that of an apply by the owner, a preset \
                 of the lab would not remove its fields",
            ]
        );
    }
}
