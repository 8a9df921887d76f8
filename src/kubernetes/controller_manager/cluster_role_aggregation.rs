//! ClusterRole aggregation: the rules of a ClusterRole with an `aggregationRule` are those of the
//! ClusterRoles that it selects.

use std::sync::Arc;

use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use kueue_lab_controller_runtime::{Api, Context, Informer, ObjectKey, ReconcileResult, WorkQueue};
use serde_json::json;

use super::namespace_object::ignore_not_needed;
use crate::workload_controllers::controller_ref_manager;

const WORKERS: usize = 1;
const NAME: &str = "clusterrole-aggregation-controller";

/// Starts the controller in the tasks of `context`.
pub(super) fn start(context: &Context) {
    let queue: WorkQueue<ObjectKey> = WorkQueue::new(context);
    let client = context.client.clone();
    let roles: Informer<ClusterRole> = Informer::builder(Api::all(client.clone())).start(context);
    // A change of any role can change the rules of each role that aggregates.
    let (changed, all) = (queue.clone(), roles.clone());
    roles.add_event_handler(move |_| {
        let aggregated = all.list();
        let aggregated = aggregated.iter().filter(|r| r.aggregation_rule.is_some());
        aggregated.for_each(|role| changed.add(ObjectKey::of(role.as_ref())));
    });
    let (run, work) = (context.clone(), queue.clone());
    context.tasks.spawn(NAME, async move {
        roles.wait_for_cache_sync().await;
        work.run(&run, NAME, WORKERS, move |key| {
            let (api, roles) = (Api::all(client.clone()), roles.clone());
            async move { sync_cluster_role(&api, &roles, &key).await }
        });
    });
}

/// Writes the rules of an aggregated role if they differ from the selected ones.
async fn sync_cluster_role(
    api: &Api<ClusterRole>,
    roles: &Informer<ClusterRole>,
    key: &ObjectKey,
) -> Result<ReconcileResult, kube::Error> {
    let Some(role) = roles.get(key).filter(|r| r.aggregation_rule.is_some()) else {
        return Ok(ReconcileResult::Done);
    };
    let rules = aggregated_rules(&role, roles.list());
    if role.rules.as_deref().unwrap_or_default() == rules {
        return Ok(ReconcileResult::Done);
    }
    let patch = Patch::Merge(json!({"rules": rules}));
    let written = api.patch(&key.name, &PatchParams::default(), &patch).await;
    if let Some(role) = ignore_not_needed(written)? {
        roles.observe_write(Arc::new(role));
    }
    Ok(ReconcileResult::Done)
}

/// The rules of the roles that each selector of `role` matches, by name, each rule once.
fn aggregated_rules(role: &ClusterRole, mut all: Vec<Arc<ClusterRole>>) -> Vec<PolicyRule> {
    all.sort_by_key(|other| other.name_any());
    let selectors = role.aggregation_rule.iter();
    let selectors = selectors.flat_map(|rule| rule.cluster_role_selectors.iter().flatten());
    let mut rules: Vec<PolicyRule> = Vec::new();
    for selector in selectors.filter_map(controller_ref_manager::selector) {
        let selected = all.iter().filter(|other| {
            other.name_any() != role.name_any()
                && controller_ref_manager::matches(&selector, other.as_ref())
        });
        for rule in selected.flat_map(|other| other.rules.iter().flatten()) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
    }
    rules
}
