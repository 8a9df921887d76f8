//! JobSets.

use super::defaults;
use super::validation::{self, JobVersion};
use super::{Denial, tas_validation};
use crate::jobs::generic_job::JobKind;
use crate::jobs::integration_context::IntegrationContext;
use crate::jobs::job_set::{JobSet, JobSetKind};
use kueue_lab_api::config::Feature;
use kueue_lab_api::field::{FieldErrors, Path};

/// Defaults a JobSet.
pub(super) async fn default(
    env: &IntegrationContext,
    namespace: &str,
    set: &mut JobSet,
) -> Result<(), Denial> {
    defaults::apply_default_local_queue(env, namespace, &mut set.metadata).await?;
    defaults::apply_default_workload_priority_class(env, &mut set.metadata);
    if defaults::workload_should_be_suspended(env, namespace, &set.metadata).await?
        && !JobSetKind::is_suspended(set)
    {
        JobSetKind::suspend(set);
    }
    Ok(())
}

/// Validates a new or updated JobSet.
pub(super) fn validate(
    env: &IntegrationContext,
    namespace: &str,
    set: &JobSet,
    old: Option<&JobSet>,
) -> FieldErrors {
    let mut errors = Vec::new();
    if let Some(old) = old {
        let new = JobVersion {
            meta: &set.metadata,
            suspended: JobSetKind::is_suspended(set),
        };
        let old = JobVersion {
            meta: &old.metadata,
            suspended: JobSetKind::is_suspended(old),
        };
        errors.extend(validation::validate_job_on_update(
            env,
            namespace,
            new,
            old,
            &JobSetKind::GVK,
        ));
    }
    errors.extend(validation::validate_job_on_create(
        env,
        &set.metadata,
        &JobSetKind::GVK,
    ));
    if env.enabled(Feature::TopologyAwareScheduling) {
        let pod_sets = JobSetKind::pod_sets(set, &env.gates).unwrap_or_default();
        let jobs = Path::new("spec").child("replicatedJobs");
        for (i, pod_set) in pod_sets.iter().enumerate() {
            let template = jobs
                .index(i)
                .child("template")
                .child("spec")
                .child("template");
            let path = template.child("metadata");
            let meta = pod_set.template.metadata.clone().unwrap_or_default();
            errors.extend(tas_validation::validate_tas_pod_set_request(
                env, &path, &meta,
            ));
            errors.extend(tas_validation::validate_slice_size_upper_bound(
                &path,
                &meta,
                pod_set.count,
            ));
        }
    }
    errors
}
