//! Objects of the tests, and functions to read their fields.

use kube::api::{ApiResource, GroupVersionKind};
use kueue_lab_api::config::FRAMEWORKS;
use serde_json::{Value, json};

use crate::fixture::{Fixture, On};

/// The API of a kind, and whether it is namespaced.
pub(crate) fn resource(kind: &str) -> (ApiResource, bool) {
    let (group, version, plural) = match kind {
        "Secret" => ("", "v1", "secrets"),
        "Event" => ("", "v1", "events"),
        "DeviceClass" => ("resource.k8s.io", "v1", "deviceclasses"),
        "ProvisioningRequestConfig" => ("kueue.x-k8s.io", "v1beta2", "provisioningrequestconfigs"),
        "ProvisioningRequest" => ("autoscaling.x-k8s.io", "v1", "provisioningrequests"),
        "ConfigMap" => ("", "v1", "configmaps"),
        "MutatingAdmissionPolicy" => (
            "admissionregistration.k8s.io",
            "v1",
            "mutatingadmissionpolicies",
        ),
        "MutatingAdmissionPolicyBinding" => (
            "admissionregistration.k8s.io",
            "v1",
            "mutatingadmissionpolicybindings",
        ),
        "ResourceClaimTemplate" => ("resource.k8s.io", "v1", "resourceclaimtemplates"),
        "CustomResourceDefinition" => ("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
        "ClusterProfile" => ("multicluster.x-k8s.io", "v1alpha1", "clusterprofiles"),
        "Thing" => ("example.com", "v1", "things"),
        "Deployment" => ("apps", "v1", "deployments"),
        "Workload" => ("kueue.x-k8s.io", "v1beta2", "workloads"),
        "LocalQueue" => ("kueue.x-k8s.io", "v1beta2", "localqueues"),
        "AdmissionCheck" => ("kueue.x-k8s.io", "v1beta2", "admissionchecks"),
        "MultiKueueCluster" => ("kueue.x-k8s.io", "v1beta2", "multikueueclusters"),
        "MultiKueueConfig" => ("kueue.x-k8s.io", "v1beta2", "multikueueconfigs"),
        "ClusterQueue" => ("kueue.x-k8s.io", "v1beta2", "clusterqueues"),
        "WorkloadPriorityClass" => ("kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses"),
        "TrainingRuntime" => ("trainer.kubeflow.org", "v1alpha1", "trainingruntimes"),
        kind => {
            let mut known = FRAMEWORKS.iter();
            let framework = known.find(|framework| framework.kind == kind).unwrap();
            (framework.group, framework.version, framework.resource)
        }
    };
    let namespaced = !matches!(
        kind,
        "AdmissionCheck"
            | "MultiKueueCluster"
            | "MultiKueueConfig"
            | "ClusterQueue"
            | "WorkloadPriorityClass"
            | "DeviceClass"
            | "ProvisioningRequestConfig"
            | "CustomResourceDefinition"
            | "MutatingAdmissionPolicy"
            | "MutatingAdmissionPolicyBinding"
    );
    let gvk = GroupVersionKind::gvk(group, version, kind);
    (ApiResource::from_gvk_with_plural(&gvk, plural), namespaced)
}

/// The namespace in which the tests use a kind.
pub(crate) fn namespace(kind: &str) -> &'static str {
    match kind {
        "Secret" | "ConfigMap" | "ClusterProfile" => "kueue-system",
        _ => "default",
    }
}

/// The names of a kind that a CustomResourceDefinition defines.
pub(crate) struct KindNames<'a> {
    pub(crate) group: &'a str,
    pub(crate) version: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) plural: &'a str,
}

pub(crate) const CLUSTER_PROFILE: KindNames<'_> = KindNames {
    group: "multicluster.x-k8s.io",
    version: "v1alpha1",
    kind: "ClusterProfile",
    plural: "clusterprofiles",
};

/// The CustomResourceDefinition of a namespaced kind whose spec and status can hold anything.
pub(crate) fn definition(names: &KindNames<'_>) -> String {
    let KindNames {
        group,
        version,
        kind,
        plural,
    } = names;
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements"},
        },
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": [{
                "name": version, "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": anything, "status": anything},
                }},
            }],
        },
    })
    .to_string()
}

/// `status/reason: message` of a condition.
pub(crate) fn condition(object: &Value, type_: &str) -> Option<String> {
    let conditions = object["status"]["conditions"].as_array()?;
    let condition = conditions.iter().find(|c| c["type"] == type_)?;
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    let (status, reason, message) = (text("status"), text("reason"), text("message"));
    Some(format!("{status}/{reason}: {message}"))
}

/// The first pod set of the admission of a Workload.
pub(crate) fn assignment(workload: &Value) -> &Value {
    &workload["status"]["admission"]["podSetAssignments"][0]
}

/// Whether the job of a Workload has succeeded.
pub(crate) fn finished(workload: &Value) -> bool {
    condition(workload, "Finished").is_some_and(|c| c.starts_with("True/Succeeded"))
}

/// `state: message` of the check of MultiKueue.
pub(crate) fn check(workload: &Value) -> Option<String> {
    let checks = workload["status"]["admissionChecks"].as_array()?;
    let check = checks.iter().find(|c| c["name"] == "multikueue")?;
    let text = |field: &str| check[field].as_str().unwrap_or_default();
    Some(format!("{}: {}", text("state"), text("message")))
}

/// Runs the Job `a` in the first of two workers, after which the second one has quota too; returns the name
/// of the Workload.
pub(crate) async fn run_in_first_worker(f: &Fixture) -> String {
    f.set_quota(On::Worker(2), 0).await;
    f.apply(On::Manager, &job("a", 1, 3600)).await;
    let name = f.workload(On::Manager, "job-a-").await;
    f.until(On::Manager, "Job", "a", |job| job["status"]["active"] == 1)
        .await;
    f.set_quota(On::Worker(2), 4).await;
    name
}

/// A Job of one pod.
pub(crate) fn job(name: &str, cpu: u32, seconds: u32) -> String {
    format!(
        "apiVersion: batch/v1
kind: Job
metadata: {{name: {name}, namespace: default, labels: {{kueue.x-k8s.io/queue-name: lq}}}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: busybox
        command: [sleep, '{seconds}']
        resources: {{requests: {{cpu: {cpu}}}}}"
    )
}
