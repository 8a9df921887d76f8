//! The pods of a Job, NonIndexed and Indexed.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, ObjectFieldSelector, Pod};
use kube::ResourceExt;

use super::{COMPLETION_INDEX, INDEX_FAILURES, INDEX_IGNORED_FAILURES, JOB_TRACKING_FINALIZER};
use crate::workload_controllers::pod_template;

const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// A pod of a NonIndexed Job.
pub(super) fn pod(job: &Job, spec: &JobSpec) -> Pod {
    let mut pod = pod_template::pod_from_template(&spec.template, job);
    let finalizers = pod.metadata.finalizers.get_or_insert_default();
    if !finalizers.iter().any(|f| f == JOB_TRACKING_FINALIZER) {
        finalizers.push(JOB_TRACKING_FINALIZER.to_string());
    }
    pod
}

/// The pod of one index: with the index as annotation, label, variable and part of the host name,
/// and with a backoff limit per index the failure count it inherits.
pub(super) fn indexed_pod(
    job: &Job,
    spec: &JobSpec,
    index: i32,
    failures: Option<(i32, i32)>,
) -> Pod {
    let mut pod = pod(job, spec);
    let name = job.name_any();
    let meta = &mut pod.metadata;
    meta.generate_name = Some(pod_template::name_prefix(&name, &format!("-{index}-")));
    let annotations = meta.annotations.get_or_insert_default();
    annotations.insert(COMPLETION_INDEX.to_string(), index.to_string());
    if let Some((counted, ignored)) = failures {
        annotations.insert(INDEX_FAILURES.to_string(), counted.to_string());
        if ignored > 0 {
            annotations.insert(INDEX_IGNORED_FAILURES.to_string(), ignored.to_string());
        }
    }
    let labels: &mut BTreeMap<_, _> = meta.labels.get_or_insert_default();
    labels.insert(COMPLETION_INDEX.to_string(), index.to_string());
    if let Some(spec) = &mut pod.spec {
        spec.hostname = Some(format!("{name}-{index}"));
        let init = spec.init_containers.iter_mut().flatten();
        init.chain(&mut spec.containers)
            .for_each(add_completion_index_env);
    }
    pod
}

/// Sets the index in a container's environment, unless it is set already.
fn add_completion_index_env(container: &mut Container) {
    let variables = container.env.get_or_insert_default();
    if variables.iter().any(|v| v.name == INDEX_VARIABLE) {
        return;
    }
    variables.push(EnvVar {
        name: INDEX_VARIABLE.to_string(),
        value: None,
        value_from: Some(EnvVarSource {
            field_ref: Some(ObjectFieldSelector {
                api_version: None,
                field_path: format!("metadata.labels['{COMPLETION_INDEX}']"),
            }),
            ..EnvVarSource::default()
        }),
    });
}
