//! JobSets.

use super::generic::{self, Version};
use super::{Refusal, topology};
use crate::jobs::env::Env;
use crate::jobs::job::JobKind;
use crate::jobs::job_set::{JobSet, JobSets};
use kueue_lab_api::config::Feature;
use kueue_lab_api::field::{FieldErrors, Path};

/// Fills in what a managed JobSet has to have.
pub(super) async fn default(env: &Env, namespace: &str, set: &mut JobSet) -> Result<(), Refusal> {
    generic::default_queue(env, namespace, &mut set.metadata).await?;
    generic::default_priority_class(env, &mut set.metadata);
    if generic::has_to_wait(env, namespace, &set.metadata).await? && !JobSets::is_suspended(set) {
        JobSets::suspend(set);
    }
    Ok(())
}

/// Looks at a JobSet, and at what it was.
pub(super) fn validate(
    env: &Env,
    namespace: &str,
    set: &JobSet,
    old: Option<&JobSet>,
) -> FieldErrors {
    let mut errors = Vec::new();
    if let Some(old) = old {
        let new = Version {
            meta: &set.metadata,
            suspended: JobSets::is_suspended(set),
        };
        let old = Version {
            meta: &old.metadata,
            suspended: JobSets::is_suspended(old),
        };
        errors.extend(generic::update(env, namespace, new, old, &JobSets::GVK));
    }
    errors.extend(generic::create(env, &set.metadata, &JobSets::GVK));
    if env.enabled(Feature::TopologyAwareScheduling) {
        let pod_sets = JobSets::pod_sets(set, &env.gates).unwrap_or_default();
        let jobs = Path::new("spec").child("replicatedJobs");
        for (i, pod_set) in pod_sets.iter().enumerate() {
            let template = jobs
                .index(i)
                .child("template")
                .child("spec")
                .child("template");
            let path = template.child("metadata");
            let meta = pod_set.template.metadata.clone().unwrap_or_default();
            errors.extend(topology::request(env, &path, &meta));
            errors.extend(topology::slice_bound(&path, &meta, pod_set.count));
        }
    }
    errors
}
