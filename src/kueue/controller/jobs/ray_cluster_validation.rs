//! Validation of a [`RayClusterSpec`], shared by RayCluster, RayJob and RayService.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::error::JobError;
use super::integration_context::IntegrationContext;
use super::ray_cluster_spec::{HEAD_GROUP_POD_SET_NAME, RayClusterSpec};
use crate::job_annotations;
use crate::jobs::webhooks::{Denial, tas_validation, validation};
use kueue_lab_api::config::Feature;
use kueue_lab_api::field::{FieldError, FieldErrors, Path};
use kueue_lab_api::v1beta2::PodSet;

/// Validates the cluster of a managed RayJob or RayService.
pub(crate) fn validate_create(
    env: &IntegrationContext,
    meta: &ObjectMeta,
    spec: &RayClusterSpec,
    path: &Path,
) -> FieldErrors {
    let mut errors = FieldErrors::new();
    if spec.is_autoscaled() && !job_annotations::is_elastic(meta, &env.gates) {
        let detail =
            "a kueue managed job should only use autoscaling when workload slicing is enabled";
        let path = path.child("enableInTreeAutoscaling");
        errors.push(FieldError::invalid(&path, true, detail));
    }
    errors.extend(validate_worker_groups(spec, path));
    errors
}

/// Validates the number and the names of the worker groups.
pub(crate) fn validate_worker_groups(spec: &RayClusterSpec, path: &Path) -> FieldErrors {
    let (path, mut errors) = (path.child("workerGroupSpecs"), FieldErrors::new());
    let count = spec.expected_pod_sets_count();
    if count > validation::MAX_POD_SETS {
        errors.push(FieldError::too_many(&path, count, validation::MAX_POD_SETS));
    }
    for (i, group) in spec.worker_group_specs.iter().enumerate() {
        if group.group_name == HEAD_GROUP_POD_SET_NAME {
            let detail = format!("{HEAD_GROUP_POD_SET_NAME:?} is reserved for the head group");
            let path = path.index(i).child("groupName");
            errors.push(FieldError::forbidden(&path, detail));
        }
    }
    errors
}

/// The paths of the pod templates' metadata.
pub(crate) struct TemplatePaths {
    spec: Path,
}

impl TemplatePaths {
    /// The paths in a cluster at `spec`.
    pub(crate) fn new(spec: Path) -> Self {
        Self { spec }
    }

    /// The metadata of the head group's template.
    pub(crate) fn head(&self) -> Path {
        let head = self.spec.child("headGroupSpec");
        head.child("template").child("metadata")
    }

    /// The metadata of a worker group's template.
    pub(crate) fn worker(&self, index: usize) -> Path {
        let group = self.spec.child("workerGroupSpecs").index(index);
        group.child("template").child("metadata")
    }

    /// The annotations of the template of a pod set.
    fn annotations(&self, spec: &RayClusterSpec, pod_set: &str) -> Path {
        let mut groups = spec.worker_group_specs.iter();
        let worker = groups.position(|group| group.pod_set_name() == pod_set);
        let metadata = worker.map_or_else(|| self.head(), |index| self.worker(index));
        metadata.child("annotations")
    }
}

/// Validates the topology annotations of the groups of a RayJob or RayService. `pod_sets` are those
/// of the job.
///
/// # Errors
/// The pod sets cannot be built, and no annotation is known to be invalid.
pub(crate) fn validate_topology_request(
    env: &IntegrationContext,
    spec: &RayClusterSpec,
    pod_sets: Result<Vec<PodSet>, JobError>,
    paths: &TemplatePaths,
) -> Result<FieldErrors, Denial> {
    let mut errors = FieldErrors::new();
    if !env.enabled(Feature::TopologyAwareScheduling) {
        return Ok(errors);
    }
    let count = |name: &str| {
        let mut sets = pod_sets.as_deref().unwrap_or_default().iter();
        sets.find(|set| set.name == name).map(|set| set.count)
    };
    let template = &spec.head_group_spec.template;
    errors.extend(validate_template(
        env,
        template.metadata.as_ref(),
        &paths.head(),
        count(HEAD_GROUP_POD_SET_NAME),
    ));
    errors.extend(validate_grouping(spec, &pod_sets, paths));
    for (i, group) in spec.worker_group_specs.iter().enumerate() {
        errors.extend(validate_template(
            env,
            group.template.metadata.as_ref(),
            &paths.worker(i),
            count(&group.pod_set_name()),
        ));
    }
    finish(errors, pod_sets)
}

/// Validates the topology annotations of the groups of a RayCluster. The annotations of workers are
/// validated only if the pod sets can be built.
///
/// # Errors
/// The pod sets cannot be built, and no annotation is known to be invalid.
pub(crate) fn validate_ray_cluster_topology_request(
    env: &IntegrationContext,
    spec: &RayClusterSpec,
    pod_sets: Result<Vec<PodSet>, JobError>,
    paths: &TemplatePaths,
) -> Result<FieldErrors, Denial> {
    let Err(_) = &pod_sets else {
        return validate_topology_request(env, spec, pod_sets, paths);
    };
    let mut errors = FieldErrors::new();
    if env.enabled(Feature::TopologyAwareScheduling) {
        let head = spec.head_group_spec.template.metadata.as_ref();
        errors.extend(validate_template(env, head, &paths.head(), None));
        return finish(errors, pod_sets);
    }
    Ok(errors)
}

fn finish(
    errors: FieldErrors,
    pod_sets: Result<Vec<PodSet>, JobError>,
) -> Result<FieldErrors, Denial> {
    match pod_sets {
        Err(error) if errors.is_empty() => Err(Denial::Other(error.to_string())),
        _ => Ok(errors),
    }
}

fn validate_template(
    env: &IntegrationContext,
    meta: Option<&ObjectMeta>,
    path: &Path,
    count: Option<i32>,
) -> FieldErrors {
    let Some(meta) = meta else {
        return FieldErrors::new();
    };
    let mut errors = tas_validation::validate_tas_pod_set_request(env, path, meta);
    if let Some(count) = count {
        errors.extend(tas_validation::validate_slice_size_upper_bound(
            path, meta, count,
        ));
    }
    errors
}

fn validate_grouping(
    spec: &RayClusterSpec,
    pod_sets: &Result<Vec<PodSet>, JobError>,
    paths: &TemplatePaths,
) -> FieldErrors {
    let pod_sets = pod_sets.as_deref().unwrap_or_default();
    let annotations = pod_sets
        .iter()
        .map(|pod_set| paths.annotations(spec, &pod_set.name));
    let annotations: Vec<Path> = annotations.collect();
    tas_validation::validate_pod_set_grouping_topology(pod_sets, &annotations)
}
