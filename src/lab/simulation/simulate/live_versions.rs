//! [`live_versions`]: the Workloads of a cluster that others replace.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::Engine;
use kueue_lab_engine::workload::{WorkloadKey, predicates};

/// The Workloads of a cluster that are earlier versions of these: with the same name, or of the same job.
/// Those with the same UID are the same Workloads, and finished ones do not matter.
pub fn live_versions(live: &Engine, workloads: &[Arc<Workload>]) -> Vec<WorkloadKey> {
    let is_version = |old: &Workload, new: &Workload| {
        predicates::uid(old) != predicates::uid(new)
            && predicates::namespace(old) == predicates::namespace(new)
            && (predicates::name(old) == predicates::name(new)
                || job_of(old).is_some_and(|job| Some(job) == job_of(new)))
    };
    let unfinished = live.workloads().filter(|wl| !predicates::is_finished(wl));
    let replaced = unfinished.filter(|old| workloads.iter().any(|new| is_version(old, new)));
    replaced.map(|wl| predicates::key(wl)).collect()
}

/// The API group, kind and name of the job that controls a Workload.
fn job_of(wl: &Workload) -> Option<(&str, &str, &str)> {
    let mut owners = wl.metadata.owner_references.iter().flatten();
    let owner: &OwnerReference = owners.find(|owner| owner.controller == Some(true))?;
    let group = owner.api_version.split_once('/').map_or("", |(g, _)| g);
    Some((group, &owner.kind, &owner.name))
}
