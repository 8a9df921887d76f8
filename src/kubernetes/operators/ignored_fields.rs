//! The fields that a stand-in accepts but ignores, by kind. Each field that is set gets a warning.

use kube::ResourceExt;
use serde_json::Value;

use super::child_objects::items;
use super::observed::Observed;
use super::reconcile_plan::ReconcilePlan;

/// A field below `spec`: the path, with `[]` after a list; and the value, as JSON, with which it
/// has no meaning.
type IgnoredField = (&'static str, Option<&'static str>);

const SCHEDULING_POLICY: [IgnoredField; 4] = [
    ("runPolicy.schedulingPolicy.minAvailable", None),
    ("runPolicy.schedulingPolicy.minResources", None),
    ("runPolicy.schedulingPolicy.queue", None),
    ("runPolicy.schedulingPolicy.scheduleTimeoutSeconds", None),
];

/// The ignored fields of a kind.
fn ignored_fields(kind: &str) -> Vec<IgnoredField> {
    let fields: &[IgnoredField] = match kind {
        "RayCluster" => &[
            ("authOptions", None),
            ("gcsFaultToleranceOptions.backend", Some("\"redis\"")),
            ("headGroupSpec.enableIngress", Some("false")),
            ("historyServerOptions", None),
            ("networkPolicy", None),
            ("tlsOptions", None),
            ("upgradeStrategy", None),
        ],
        "RayJob" => &[("preRunningDeadlineSeconds", None)],
        "RayService" => &[
            ("serveConfigV2", None),
            ("serveService", None),
            ("upgradeStrategy", None),
        ],
        "JobSet" => &[
            ("failurePolicy.restartStrategy", Some("\"Recreate\"")),
            ("failurePolicy.rules[].onJobFailureMessagePatterns", None),
            ("volumeClaimPolicies", None),
        ],
        "PyTorchJob" | "XGBoostJob" | "PaddleJob" | "JAXJob" | "MPIJob" => &SCHEDULING_POLICY,
        "TFJob" => {
            let own: [IgnoredField; 1] = [("enableDynamicWorker", Some("false"))];
            return [own.as_slice(), &SCHEDULING_POLICY].concat();
        }
        "TrainJob" => &[("trainer.numProcPerNode", None)],
        "LeaderWorkerSet" => &[
            (
                "leaderWorkerTemplate.persistentVolumeClaimRetentionPolicy",
                None,
            ),
            ("leaderWorkerTemplate.subGroupPolicy", None),
            ("networkConfig.subdomainPolicy", Some("\"Shared\"")),
        ],
        "SparkApplication" => {
            let own: [IgnoredField; 8] = [
                ("batchScheduler", None),
                ("batchSchedulerOptions", None),
                ("deps", None),
                ("driverIngressOptions", None),
                ("mode", Some("\"cluster\"")),
                ("monitoring", None),
                ("sparkConf", None),
                ("sparkUIOptions", None),
            ];
            return [own.as_slice(), &SPARK_PODS].concat();
        }
        "InferenceService" => &[
            ("predictor.model.runtime", None),
            ("predictor.canaryTrafficPercent", None),
            ("predictor.batcher", None),
            ("predictor.logger", None),
        ],
        "TaskRun" => &[("debug", None)],
        "PipelineRun" => &[("timeouts.tasks", None), ("timeouts.finally", None)],
        "Workflow" => &[
            ("hooks", None),
            ("onExit", None),
            ("podGC", None),
            ("retryStrategy", None),
            ("synchronization", None),
            ("volumeClaimTemplates", None),
        ],
        "Sandbox" => &[("volumeClaimTemplates", None)],
        _ => &[],
    };
    fields.to_vec()
}

const SPARK_PODS: [IgnoredField; 11] = [
    ("driver.configMaps", None),
    ("driver.envSecretKeyRefs", None),
    ("driver.envVars", None),
    ("driver.lifecycle", None),
    ("driver.secrets", None),
    ("driver.serviceAccount", None),
    ("executor.configMaps", None),
    ("executor.deleteOnTermination", Some("true")),
    ("executor.envSecretKeyRefs", None),
    ("executor.envVars", None),
    ("executor.secrets", None),
];

/// The prefix of annotations without effect, by kind.
const IGNORED_ANNOTATIONS: [(&str, &str); 1] =
    [("AppWrapper", "workload.codeflare.dev.appwrapper/")];

/// Adds a warning for each ignored field that the object sets.
pub(super) fn warn(kind: &str, object: &Observed<'_>, plan: &mut ReconcilePlan) {
    for (path, meaningless) in ignored_fields(kind) {
        if is_set(object.spec(), path, meaningless) {
            plan.warn_not_simulated(format!("{} has no effect", path.replace("[]", "")));
        }
    }
    for (_, prefix) in IGNORED_ANNOTATIONS.iter().filter(|(of, _)| *of == kind) {
        let annotations = object.object.annotations().keys();
        for annotation in annotations.filter(|annotation| annotation.starts_with(prefix)) {
            plan.warn_not_simulated(format!("annotation {annotation} has no effect"));
        }
    }
}

/// Whether a field has a value, other than an empty one or the given one.
fn is_set(value: &Value, path: &str, meaningless: Option<&str>) -> bool {
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    if let Some(list) = name.strip_suffix("[]") {
        let mut found = items(&value[list]).iter();
        return found.any(|item| is_set(item, rest, meaningless));
    }
    let value = &value[name];
    if !rest.is_empty() {
        return is_set(value, rest, meaningless);
    }
    let is_empty = match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    !is_empty && meaningless != Some(value.to_string().as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::registry::OPERATORS;
    use super::{IGNORED_ANNOTATIONS, ignored_fields, is_set};
    use crate::crds;

    #[test]
    fn empty_and_default_values_are_not_set() {
        let spec = json!({
            "a": {"b": "Shared", "n": 0, "empty": []},
            "rules": [{"name": "x"}, {"name": "y", "patterns": ["p"]}],
        });
        assert!(is_set(&spec, "a.b", None));
        assert!(!is_set(&spec, "a.b", Some("\"Shared\"")));
        assert!(!is_set(&spec, "a.n", Some("0")));
        assert!(is_set(&spec, "a.n", Some("1")));
        assert!(!is_set(&spec, "a.empty", None));
        assert!(!is_set(&spec, "a.missing.deeper", None));
        assert!(is_set(&spec, "rules[].patterns", None));
        assert!(!is_set(&spec, "rules[].other", None));
    }

    /// Every listed field is a field of the kind's schema.
    #[test]
    fn ignored_fields_exist() {
        for operator in OPERATORS {
            let name = format!("{}.{}", operator.plural, operator.group);
            let schema = crds::schema(&name).unwrap();
            for (path, _) in ignored_fields(operator.kind) {
                let mut at = &schema["properties"]["spec"];
                for name in path.split('.') {
                    if at["x-kubernetes-preserve-unknown-fields"] == true {
                        break;
                    }
                    let (name, is_list) = match name.strip_suffix("[]") {
                        Some(name) => (name, true),
                        None => (name, false),
                    };
                    at = &at["properties"][name];
                    assert!(at.is_object(), "{name} of {path} in {}", operator.kind);
                    if is_list {
                        at = &at["items"];
                    }
                }
            }
        }
        for (kind, _) in IGNORED_ANNOTATIONS {
            assert!(OPERATORS.iter().any(|operator| operator.kind == kind));
        }
    }
}
