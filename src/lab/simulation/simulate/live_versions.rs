//! [`live_versions`]: the Workloads of a cluster that others replace.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_engine::Engine;
use kueue_lab_engine::workload::{WorkloadKey, predicates};

/// The Workloads of a cluster that are earlier versions of these: of the same job, or with the same name if that
/// is not the Workload of another job. Those with the same UID are the same Workloads, and finished ones do not matter.
pub fn live_versions(live: &Engine, workloads: &[Arc<Workload>]) -> Vec<WorkloadKey> {
    let is_version = |old: &Workload, new: &Workload| {
        predicates::uid(old) != predicates::uid(new)
            && predicates::namespace(old) == predicates::namespace(new)
            && match predicates::name(old) == predicates::name(new) {
                true => job_of(old) == job_of(new) || has_no_owner(new),
                false => job_of(old).is_some() && job_of(old) == job_of(new),
            }
    };
    let unfinished = live.workloads().filter(|wl| !predicates::is_finished(wl));
    let replaced = unfinished.filter(|old| workloads.iter().any(|new| is_version(old, new)));
    replaced.map(|wl| predicates::key(wl)).collect()
}

/// The Workload of a cluster that has the name of this one and is that of another job: Kueue creates no Workload then.
pub fn workload_of_other_job<'a>(live: &'a Engine, new: &Workload) -> Option<&'a Arc<Workload>> {
    let old = live.workload(&predicates::key(new))?;
    let is_other = predicates::uid(old) != predicates::uid(new)
        && job_of(old) != job_of(new)
        && !has_no_owner(new);
    is_other.then_some(old)
}

/// Whether a Workload is written by hand.
fn has_no_owner(wl: &Workload) -> bool {
    let owners = wl.metadata.owner_references.as_deref();
    owners.is_none_or(<[OwnerReference]>::is_empty)
}

/// The API group, kind and name of the job that controls a Workload.
fn job_of(wl: &Workload) -> Option<(&str, &str, &str)> {
    let mut owners = wl.metadata.owner_references.iter().flatten();
    let owner: &OwnerReference = owners.find(|owner| owner.controller == Some(true))?;
    let group = owner.api_version.split_once('/').map_or("", |(g, _)| g);
    Some((group, &owner.kind, &owner.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_engine::engine::ObjectChange;
    use serde_json::{Value, json};

    fn workload(uid: &str, name: &str, owner: &Value) -> Arc<Workload> {
        let metadata =
            json!({"name": name, "namespace": "ns", "uid": uid, "ownerReferences": owner});
        Arc::new(
            serde_json::from_value(json!({"metadata": metadata, "spec": {"podSets": []}})).unwrap(),
        )
    }

    #[test]
    fn workloads_of_other_jobs_are_not_replaced() {
        let owner = |kind: &str, name: &str, controller: bool| {
            json!([{
            "apiVersion": "v1", "kind": kind, "name": name, "uid": "u", "controller": controller}])
        };
        let (job, group) = (owner("Job", "train", true), owner("Pod", "p", false));
        let live = |owner: &Value| {
            let mut engine = Engine::new(Default::default());
            let workload = ObjectChange::upsert(workload("1", "a", owner));
            engine.apply(workload, Default::default());
            engine
        };
        let cases = [
            (&job, "a", &job, 1),
            (&job, "b", &job, 1),
            (&job, "a", &group, 0),
            (&job, "a", &owner("Job", "other", true), 0),
            (&job, "a", &json!([]), 1),
            (&group, "a", &owner("Pod", "q", false), 1),
            (&group, "b", &group, 0),
        ];
        for (old, name, new, versions) in cases {
            let (live, new) = (live(old), workload("2", name, new));
            assert_eq!(
                live_versions(&live, std::slice::from_ref(&new)).len(),
                versions,
                "{old} {new:?}"
            );
            let is_other = name == "a" && versions == 0;
            assert_eq!(
                workload_of_other_job(&live, &new).is_some(),
                is_other,
                "{old} {new:?}"
            );
        }
    }
}
