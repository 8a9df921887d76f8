//! Other checks beside MultiKueue in the manager, and checks in the workers.

use serde_json::{Value, json};

use crate::fixture::{Fixture, On, with_workers};
use crate::objects::{check, condition, job};

/// A check that requests capacity.
pub(crate) const PROVISIONING: &str = "apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {name: config}
spec: {provisioningClassName: check-capacity.example.com}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: provision}
spec: {controllerName: kueue.x-k8s.io/provisioning-request, parameters: {apiGroup: kueue.x-k8s.io, kind: ProvisioningRequestConfig, name: config}}";

/// Adds checks to the ClusterQueue of a cluster.
async fn set_checks(f: &Fixture, on: On, names: &[&str]) {
    let checks: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
    let spec = json!({"spec": {"admissionChecksStrategy": {"admissionChecks": checks}}});
    f.patch(on, "ClusterQueue", "cq", spec).await;
}

#[test]
fn a_workload_is_copied_when_its_other_checks_are_ready() {
    with_workers(2, |f| async move {
        let others = ["first", "second"];
        for name in others {
            let yaml = format!(
                "{{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {{name: {name}}}, spec: {{controllerName: example.com/{name}}}}}"
            );
            f.apply(On::Manager, &yaml).await;
            let active = json!({"conditions": [{"type": "Active", "status": "True", "reason": "ByTest", "message": "", "lastTransitionTime": "2026-03-02T12:00:00Z"}]});
            f.patch_status(On::Manager, "AdmissionCheck", name, active)
                .await;
        }
        set_checks(&f, On::Manager, &["multikueue", "first", "second"]).await;
        for name in ["p1", "p2"] {
            let pod = format!(
                "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default, labels: {{kueue.x-k8s.io/queue-name: lq, kueue.x-k8s.io/pod-group-name: g}}, annotations: {{kueue.x-k8s.io/pod-group-total-count: '2'}}}}, spec: {{restartPolicy: Never, containers: [{{name: c, image: busybox, command: [sleep, '3600'], resources: {{requests: {{cpu: 1}}}}}}]}}}}"
            );
            f.apply(On::Manager, &pod).await;
        }
        f.until(On::Manager, "Workload", "g", |wl| {
            let checks = wl["status"]["admissionChecks"].as_array();
            condition(wl, "QuotaReserved").is_some_and(|c| c.starts_with("True"))
                && checks.is_some_and(|checks| checks.len() == 3)
        })
        .await;
        for other in others {
            f.sleep(30).await;
            for worker in [1, 2] {
                assert!(f.find(On::Worker(worker), "Workload", "g").await.is_none());
            }
            f.set_check(On::Manager, "g", other, "Ready").await;
        }
        let worker = f.until_dispatched("g").await;
        for name in ["p1", "p2"] {
            f.until(On::Worker(worker), "Pod", name, |pod| {
                pod["status"]["phase"] == "Running"
            })
            .await;
        }
        f
    });
}

#[test]
fn a_worker_that_provisions_gets_the_job_when_it_is_admitted() {
    with_workers(2, |f| async move {
        f.set_quota(On::Worker(2), 0).await;
        f.apply(On::Worker(1), PROVISIONING).await;
        set_checks(&f, On::Worker(1), &["provision"]).await;
        f.apply(On::Manager, &job("a", 1, 3600)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        let request = format!("{name}-provision-1");
        f.until(On::Worker(1), "ProvisioningRequest", &request, |_| true)
            .await;
        // Quota alone does not decide.
        f.sleep(30).await;
        let waiting = f.find(On::Manager, "Workload", &name).await.unwrap();
        assert_eq!(waiting["status"]["clusterName"], Value::Null);
        assert!(f.find(On::Worker(2), "Workload", &name).await.is_some());
        f.provision(On::Worker(1), &request).await;
        assert_eq!(f.until_dispatched(&name).await, 1);
        f.until_gone(On::Worker(2), "Workload", &name).await;
        let workload = f.find(On::Manager, "Workload", &name).await.unwrap();
        assert_eq!(
            check(&workload).unwrap(),
            "Ready: The workload was admitted on \"worker1\""
        );
        f
    });
}

#[test]
fn the_check_of_some_flavors_is_pending_before_admission() {
    with_workers(1, |f| async move {
        f.set_quota(On::Manager, 0).await;
        let rule = json!([{"name": "multikueue", "onFlavors": ["default-flavor"]}]);
        let spec = json!({"spec": {"admissionChecksStrategy": {"admissionChecks": rule}}});
        f.patch(On::Manager, "ClusterQueue", "cq", spec).await;
        f.apply(On::Manager, &job("a", 1, 3600)).await;
        let name = f.workload(On::Manager, "job-a-").await;
        f.until(On::Manager, "Workload", &name, |wl| {
            check(wl).is_some_and(|c| c.starts_with("Pending"))
        })
        .await;
        f.set_quota(On::Manager, 4).await;
        assert_eq!(f.until_dispatched(&name).await, 1);
        f
    });
}
