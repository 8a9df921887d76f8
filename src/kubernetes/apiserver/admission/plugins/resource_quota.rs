//! ResourceQuota: limits on the resource usage of a namespace.
//!
//! Usage is the sum of that of the stored objects, which each version has computed once.

use serde_json::Value;

use super::PluginContext;
use crate::plugins::Operation;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_json::ValueExt;
use kueue_lab_quantity::Quantity;
use kueue_lab_resource_quota::{
    Evaluator, ObjectUsage, calculate_usage, hard_limits, mask, missing_requirements,
};

/// Whether [`check_request`] may apply to the write, so that the quota lock is needed.
pub(crate) fn needs_quota_evaluation(write: &PluginContext<'_>) -> bool {
    let r = write.request;
    !r.namespace.is_empty()
        && r.subresource.is_empty()
        && can_change_usage(&Evaluator::of(r.group, r.resource), r.operation)
        && !write
            .reader
            .list("", "resourcequotas", r.namespace)
            .is_empty()
}

/// Whether the operation can increase the usage.
fn can_change_usage(evaluator: &Evaluator, operation: Operation) -> bool {
    match operation {
        Operation::Create => true,
        Operation::Update => matches!(
            evaluator,
            Evaluator::Services | Evaluator::PersistentVolumeClaims
        ),
        Operation::Delete | Operation::Connect => false,
    }
}

/// Rejects writes that exceed a quota, and pods without requests or limits that a quota requires.
pub(super) fn check_request(write: &PluginContext<'_>, object: &Value) -> Result<(), ApiError> {
    let r = write.request;
    let counted = Evaluator::of(r.group, r.resource);
    if r.namespace.is_empty()
        || !r.subresource.is_empty()
        || !can_change_usage(&counted, r.operation)
    {
        return Ok(());
    }
    let quotas = write.reader.list("", "resourcequotas", r.namespace);
    if quotas.is_empty() {
        return Ok(());
    }
    let usage = counted.usage(object);
    let old = r.old_object.map(|old| counted.usage(old));
    for quota in quotas {
        let change = UsageChange {
            counted: &counted,
            new: &usage,
            old: old.as_ref(),
        };
        check_quota(write, &quota, object, &change)?;
    }
    Ok(())
}

/// The quota usage of an object before and after a write.
struct UsageChange<'a> {
    counted: &'a Evaluator,
    new: &'a ObjectUsage,
    old: Option<&'a ObjectUsage>,
}

fn check_quota(
    write: &PluginContext<'_>,
    quota: &Value,
    object: &Value,
    change: &UsageChange<'_>,
) -> Result<(), ApiError> {
    let UsageChange { counted, new, old } = change;
    let hard = hard_limits(quota);
    let limited: Vec<&str> = hard
        .keys()
        .map(String::as_str)
        .filter(|n| counted.matches_resource(n))
        .collect();
    if limited.is_empty() || !new.matches_scopes(quota) {
        return Ok(());
    }
    let name = quota.name();
    if let Evaluator::Pods = counted
        && let Some(reason) = missing_requirements(&limited, object)
    {
        return Err(write.forbidden(format!("failed quota: {name}: {reason}")));
    }
    let mut wanted = mask(new.at(write.now), &hard);
    if let Some(old) = old.filter(|old| old.matches_scopes(quota)) {
        let before = old.at(write.now);
        for (name, amount) in &mut wanted {
            *amount = before.get(name).map_or(*amount, |had| *amount - *had);
        }
    }
    wanted.retain(|_, amount| amount.is_positive());
    if wanted.is_empty() {
        return Ok(());
    }
    let r = write.request;
    let usages = write.reader.quota_usages(r.group, r.resource, r.namespace);
    let used = calculate_usage(quota, &hard, usages, write.now);
    let have = |n: &String| used.get(n).copied().unwrap_or(Quantity::ZERO);
    let over = |n: &&String| wanted.get(*n).is_some_and(|w| have(n) + *w > hard[*n]);
    let exceeded: Vec<&String> = wanted.keys().filter(over).collect();
    if exceeded.is_empty() {
        return Ok(());
    }
    let shown = |amount: &dyn Fn(&String) -> Quantity| -> String {
        let parts: Vec<String> = exceeded
            .iter()
            .map(|n| format!("{n}={}", amount(n)))
            .collect();
        parts.join(",")
    };
    Err(write.forbidden(format!(
        "exceeded quota: {name}, requested: {}, used: {}, limited: {}",
        shown(&|n| wanted[n]),
        shown(&have),
        shown(&|n| hard[n]),
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admission::plugins::fake::{Objects, request, with};
    use crate::plugins::AdmissionRequest;

    fn quota(hard: Value, scopes: Value) -> (&'static str, &'static str, Value) {
        let quota = json!({"metadata": {"name": "q", "namespace": "n"},
            "spec": {"hard": hard, "scopes": scopes}});
        ("", "resourcequotas", quota)
    }

    fn pod(cpu: &str) -> Value {
        json!({"metadata": {"name": "p", "namespace": "n"}, "status": {"phase": "Running"},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}})
    }

    fn quota_error(objects: &Objects, resource: (&str, &str), object: &Value) -> Option<String> {
        let request = request(resource.0, resource.1, Operation::Create);
        let rejected = with(objects, &request, |w| check_request(w, object)).err()?;
        Some(rejected.message)
    }

    #[test]
    fn pods_count_until_they_finish() {
        let mut done = pod("5");
        done["status"]["phase"] = "Succeeded".into();
        let hard = json!({"pods": "2", "requests.cpu": "3", "services": "1"});
        let objects = Objects(vec![
            quota(hard, json!(null)),
            ("", "pods", pod("2")),
            ("", "pods", done),
        ]);
        assert_eq!(quota_error(&objects, ("", "pods"), &pod("1")), None);
        assert_eq!(
            quota_error(&objects, ("", "pods"), &pod("1500m")).as_deref(),
            Some(
                "pods \"x\" is forbidden: exceeded quota: q, requested: requests.cpu=1500m, used: requests.cpu=2, limited: requests.cpu=3"
            )
        );
        let silent = json!({"spec": {"containers": [{"name": "b"}, {"name": "a"}]}});
        assert_eq!(
            quota_error(&objects, ("", "pods"), &silent).as_deref(),
            Some("pods \"x\" is forbidden: failed quota: q: must specify requests.cpu for: a,b")
        );
    }

    #[test]
    fn objects_count_by_their_resource() {
        let job = json!({"metadata": {"name": "j", "namespace": "n"}});
        let hard = json!({"count/jobs.batch": "1", "configmaps": "0"});
        let objects = Objects(vec![
            quota(hard, json!(null)),
            ("batch", "jobs", job.clone()),
        ]);
        assert_eq!(
            quota_error(&objects, ("batch", "jobs"), &job).as_deref(),
            Some(
                "jobs.batch \"x\" is forbidden: exceeded quota: q, requested: count/jobs.batch=1, used: count/jobs.batch=1, limited: count/jobs.batch=1"
            )
        );
        assert!(quota_error(&objects, ("", "configmaps"), &job).is_some());
        assert_eq!(quota_error(&objects, ("", "secrets"), &job), None);
    }

    #[test]
    fn scopes_leave_pods_out() {
        let objects = Objects(vec![quota(json!({"pods": "0"}), json!(["BestEffort"]))]);
        assert_eq!(quota_error(&objects, ("", "pods"), &pod("1")), None);
        let best_effort = json!({"spec": {"containers": [{"name": "c"}]}});
        assert!(quota_error(&objects, ("", "pods"), &best_effort).is_some());
    }

    #[test]
    fn updates_of_services_are_charged_by_the_difference() {
        let service = |kind: &str| {
            json!({"metadata": {"name": "x", "namespace": "n"},
                "spec": {"type": kind, "ports": [{"port": 1}]}})
        };
        let old = service("ClusterIP");
        let hard = json!({"services": "1", "services.nodeports": "0"});
        let objects = Objects(vec![
            quota(hard, json!(null)),
            ("", "services", old.clone()),
        ]);
        let update = AdmissionRequest {
            old_object: Some(&old),
            ..request("", "services", Operation::Update)
        };
        let outcome = |new: &Value| with(&objects, &update, |w| check_request(w, new));
        assert!(outcome(&old).is_ok());
        let rejected = outcome(&service("NodePort")).expect_err("rejected").message;
        assert!(rejected.contains("requested: services.nodeports=1, used: services.nodeports=0"));
    }
}
