//! The MPIJob integration (`kubeflow.org/v2beta1`).

use super::generic_job::JobKind;
use super::integration_context::IntegrationContext;
use super::kubeflow_job::{KubeflowJobControl, KubeflowJobKind, template_metadata_path};
use super::kubeflow_job_spec::KubeflowJob;
use crate::jobs::webhooks::{Denial, tas_validation};
use kueue_lab_api::config::Feature;
use kueue_lab_api::constants as c;
use kueue_lab_api::field::{FieldErrors, Path};

const LAUNCHER: &str = "Launcher";
const WORKER: &str = "Worker";

/// The properties of MPIJobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MpiJob;

/// The MPIJob integration.
pub(crate) type MpiJobKind = KubeflowJobKind<MpiJob>;

impl KubeflowJobControl for MpiJob {
    const API_VERSION: &'static str = "kubeflow.org/v2beta1";
    const VERSION: &'static str = "v2beta1";
    const KIND: &'static str = "MPIJob";
    const RESOURCE: &'static str = "mpijobs";
    const FRAMEWORK: &'static str = "kubeflow.org/mpijob";
    const REPLICA_SPECS_FIELD_NAME: &'static str = "mpiReplicaSpecs";
    const ORDERED_REPLICA_TYPES: &'static [&'static str] = &[LAUNCHER, WORKER];
    const HAS_OWN_WEBHOOK: bool = true;
    const CONTROLLER: &'static str = "kubeflow.org/mpi-operator";

    fn set_defaults(env: &IntegrationContext, job: &mut KubeflowJob<Self>) {
        if env.enabled(Feature::TopologyAwareScheduling) {
            set_pod_index_offset(job);
        }
    }

    fn validate_topology_request(
        env: &IntegrationContext,
        job: &KubeflowJob<Self>,
    ) -> Result<FieldErrors, Denial> {
        let pod_sets = MpiJobKind::pod_sets(job, &env.gates)?;
        let mut errors = FieldErrors::new();
        for ((name, _), pod_set) in job.ordered_replica_specs().zip(&pod_sets) {
            let path = template_metadata_path::<Self>(name);
            errors.extend(tas_validation::validate_pod_set(env, &path, pod_set));
        }
        let annotations: Vec<Path> = pod_sets
            .iter()
            .map(|pod_set| annotations_path(&pod_set.name))
            .collect();
        errors.extend(tas_validation::validate_pod_set_grouping_topology(
            &pod_sets,
            &annotations,
        ));
        Ok(errors)
    }
}

/// The path of the annotations of a pod set.
fn annotations_path(pod_set: &str) -> Path {
    let mut types = MpiJob::ORDERED_REPLICA_TYPES.iter();
    let replica_type = types.find(|name| name.eq_ignore_ascii_case(pod_set));
    template_metadata_path::<MpiJob>(replica_type.unwrap_or(&pod_set)).child("annotations")
}

/// A launcher that runs as a worker takes index 0, so the indexes of workers start at 1. A pod set
/// group of both has its own order.
fn set_pod_index_offset(job: &mut KubeflowJob<MpiJob>) {
    if job.spec.other.get("runLauncherAsWorker") != Some(&true.into()) {
        return;
    }
    let Some(launcher) = job.spec.replica_specs.get(LAUNCHER) else {
        return;
    };
    let launcher = launcher.template.metadata.as_ref();
    let annotations = launcher.and_then(|meta| meta.annotations.as_ref());
    if annotations.is_some_and(|map| map.contains_key(c::POD_SET_GROUP_NAME_ANNOTATION)) {
        return;
    }
    if let Some(worker) = job.spec.replica_specs.get_mut(WORKER) {
        let meta = worker.template.metadata.get_or_insert_default();
        let annotations = meta.annotations.get_or_insert_default();
        annotations.insert(c::POD_INDEX_OFFSET_ANNOTATION.to_owned(), "1".to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_codec::Codec;
    use serde_json::json;

    fn offset(
        launcher_annotations: serde_json::Value,
        run_launcher_as_worker: bool,
    ) -> Option<String> {
        let mut job: KubeflowJob<MpiJob> = Codec::from_value(&json!({
            "metadata": {"name": "m"},
            "spec": {"runLauncherAsWorker": run_launcher_as_worker, "mpiReplicaSpecs": {
                "Launcher": {"template": {"metadata": {"annotations": launcher_annotations}}},
                "Worker": {"replicas": 2, "template": {}}}},
        }))
        .unwrap();
        set_pod_index_offset(&mut job);
        let worker = job.spec.replica_specs[WORKER].template.metadata.as_ref();
        let annotations = worker.and_then(|meta| meta.annotations.as_ref())?;
        annotations.get(c::POD_INDEX_OFFSET_ANNOTATION).cloned()
    }

    #[test]
    fn workers_are_offset_by_a_launcher_that_is_a_worker_outside_of_a_group() {
        assert_eq!(offset(json!({}), true).as_deref(), Some("1"));
        assert_eq!(offset(json!({}), false), None);
        let group = json!({c::POD_SET_GROUP_NAME_ANNOTATION: "g"});
        assert_eq!(offset(group, true), None);
    }
}
