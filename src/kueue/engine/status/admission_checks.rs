//! The admission checks that apply to a Workload.

use std::collections::BTreeSet;

use crate::cache::{AdmissionChecks, admission_checks};
use crate::resources::FlavorName;
use kueue_lab_api::v1beta2::{Admission, ClusterQueueSpec, Workload};

/// The admission checks of a ClusterQueue that apply to the flavors of an admission.
pub(crate) fn admission_checks_for_admission(
    checks: &AdmissionChecks,
    admission: &Admission,
) -> BTreeSet<String> {
    let assigned: BTreeSet<&str> = admission
        .pod_set_assignments
        .iter()
        .flat_map(|psa| psa.flavors.values())
        .map(String::as_str)
        .collect();
    let applies = |flavors: &BTreeSet<FlavorName>| flavors.iter().any(|f| assigned.contains(&**f));
    checks
        .iter()
        .filter(|(_, flavors)| applies(flavors))
        .map(|(name, _)| name.clone())
        .collect()
}

/// The admission checks of a Workload: those for its admission or, without one, those that apply to
/// all flavors.
pub fn admission_checks_for_workload(wl: &Workload, spec: &ClusterQueueSpec) -> BTreeSet<String> {
    let checks = admission_checks(spec);
    if let Some(admission) = &wl.status.admission {
        return admission_checks_for_admission(&checks, admission);
    }
    let flavors = spec.resource_groups.iter().flat_map(|g| &g.flavors);
    let all: BTreeSet<&str> = flavors.map(|f| f.name.as_str()).collect();
    let covers = |of: &BTreeSet<FlavorName>| all.iter().all(|f| of.contains(*f));
    let required = checks.into_iter().filter(|(_, flavors)| covers(flavors));
    required.map(|(name, _)| name).collect()
}

/// Whether the status lists all these admission checks, in any state.
pub(crate) fn has_all_required_checks(wl: &Workload, required: &BTreeSet<String>) -> bool {
    let listed = &wl.status.admission_checks;
    required
        .iter()
        .all(|name| listed.iter().any(|check| check.name == *name))
}
