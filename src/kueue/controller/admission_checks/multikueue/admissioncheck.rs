//! The Active condition of AdmissionChecks of MultiKueue: whether their clusters are connected.

use super::context::MultiKueueContext;
use crate::admission_checks::active_condition::{admission_check_queue, write_active_condition};
use kueue_lab_api::conditions::find_condition;
use kueue_lab_api::constants::{self as c, active};
use kueue_lab_api::v1beta2::{AdmissionCheck, MultiKueueCluster};
use kueue_lab_controller_runtime::{Change, ObjectKey, ReconcileResult};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

/// Starts the reconciler.
pub(super) fn start(mk: &MultiKueueContext) {
    let queue = admission_check_queue(&mk.shared);
    let (users, users_of) = (queue.clone(), mk.clone());
    mk.configs.add_event_handler(move |change| {
        if let Change::Updated { old, new } = change
            && old.spec.clusters == new.spec.clusters
        {
            return;
        }
        let name = ObjectKey::of(change.object().as_ref()).name;
        let checks = users_of.checks_using_config(&name);
        checks.into_iter().for_each(|check| users.add(check));
    });
    let (users, users_of) = (queue.clone(), mk.clone());
    mk.clusters.add_event_handler(move |change| {
        if let Change::Updated { old, new } = change
            && is_same_state(active_condition(old), active_condition(new))
        {
            return;
        }
        let name = ObjectKey::of(change.object().as_ref()).name;
        for config in users_of.configs_using_cluster(&name) {
            let checks = users_of.checks_using_config(&config);
            checks.into_iter().for_each(|check| users.add(check));
        }
    });
    let (ctx, mk) = (mk.shared.ctx.clone(), mk.clone());
    queue.run(&ctx, "multikueue-admissioncheck", 1, move |key| {
        let mk = mk.clone();
        async move { reconcile(&mk, &key).await }
    });
}

/// The Active condition of a cluster.
pub(super) fn active_condition(cluster: &MultiKueueCluster) -> Option<&Condition> {
    find_condition(&cluster.status.conditions, c::ACTIVE)
}

/// Whether status, reason and message of two conditions are the same.
pub(super) fn is_same_state(a: Option<&Condition>, b: Option<&Condition>) -> bool {
    let state = |condition: &Condition| {
        let Condition {
            status,
            reason,
            message,
            ..
        } = condition.clone();
        (status, reason, message)
    };
    a.map(state) == b.map(state)
}

async fn reconcile(mk: &MultiKueueContext, key: &ObjectKey) -> kube::Result<ReconcileResult> {
    mk.clusters.wait_for_cache_sync().await;
    mk.configs.wait_for_cache_sync().await;
    let check = mk.shared.informers.admission_checks.get(key);
    let Some(check) = check.filter(|c| c.spec.controller_name == c::MULTI_KUEUE_CONTROLLER) else {
        return Ok(ReconcileResult::Done);
    };
    let (status, reason, message) = state(mk, &check);
    let current = check.status.conditions.iter();
    let mut current = current.filter(|condition| condition.type_ == c::ACTIVE);
    let is_current = current.next().is_some_and(|condition| {
        (&*condition.status, &*condition.reason, &condition.message) == (status, reason, &message)
    });
    if !is_current {
        write_active_condition(&mk.shared, &check, (status, reason), message).await?;
    }
    Ok(ReconcileResult::Done)
}

/// Status, reason and message of the condition.
fn state(mk: &MultiKueueContext, check: &AdmissionCheck) -> (&'static str, &'static str, String) {
    let config = match mk.config_from_reference(check) {
        Ok(config) => config,
        Err(error) => {
            let message = format!("Cannot load the AdmissionChecks parameters: {error}");
            return ("False", "BadConfig", message);
        }
    };
    let (mut missing, mut inactive) = (Vec::new(), Vec::new());
    for name in &config.spec.clusters {
        match mk.clusters.get(&ObjectKey::cluster(name)) {
            None => missing.push(name.as_str()),
            Some(cluster) => {
                if active_condition(&cluster).is_none_or(|active| active.status != "True") {
                    inactive.push(name.as_str());
                }
            }
        }
    }
    let unusable = missing.len() + inactive.len();
    if unusable == 0 {
        return (
            "True",
            c::ACTIVE,
            "The admission check is active".to_owned(),
        );
    }
    let (status, reason) = match unusable < config.spec.clusters.len() {
        true => ("True", active::SOME_ACTIVE_CLUSTERS),
        false => ("False", active::NO_USABLE_CLUSTERS),
    };
    let part = |title: &str, names: &[&str]| {
        (!names.is_empty()).then(|| format!("{title} clusters: [{}]", names.join(" ")))
    };
    let parts = [part("Missing", &missing), part("Inactive", &inactive)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (status, reason, parts.join(", "))
}
