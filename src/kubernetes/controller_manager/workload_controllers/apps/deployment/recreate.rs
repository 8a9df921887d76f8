//! Updates of a Deployment with strategy `Recreate`.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

use super::deployment_util::{self, replicas};
use super::sync_deployment::{DeploymentPlan, cleanup_deployment, deployment_complete};

/// Scales down old ReplicaSets; scales up the new one when their pods are deleted.
pub(super) fn rollout_recreate(
    deployment: &Deployment,
    new: Option<ReplicaSet>,
    old: &[&ReplicaSet],
    old_pods: bool,
    revision: i64,
    plan: &mut DeploymentPlan,
) {
    for set in old {
        plan.scale_replica_set(deployment, set, 0);
    }
    if !plan.update.is_empty() || old_pods {
        return;
    }
    let wanted = replicas(deployment);
    let Some(new) = new else {
        if let Some(spec) = &deployment.spec {
            let mut set = deployment_util::new_replica_set(deployment, spec, revision);
            deployment_util::set_replicas(&mut set, deployment, wanted);
            plan.revision = Some(revision);
            plan.create = Some(set);
        }
        return;
    };
    if !plan.scale_replica_set(deployment, &new, wanted) && deployment_complete(deployment) {
        cleanup_deployment(deployment, old, plan);
    }
}
