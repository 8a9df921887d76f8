//! EndpointSlices, resource quotas, disruption budgets, volumes, TTL, pod garbage collection.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Endpoints, PersistentVolumeClaim, Pod, ResourceQuota, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};

use super::cluster_fixture::*;

fn pod(name: &str, cpu: &str) -> Value {
    json!({
        "metadata": {"name": name, "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": 8080}],
            "resources": {"requests": {"cpu": cpu}}}]},
    })
}

fn endpoints(slice: &EndpointSlice) -> &[Endpoint] {
    slice.endpoints.as_deref().unwrap_or_default()
}

async fn slice(
    cluster: &TestCluster,
    what: &str,
    is: impl Fn(&EndpointSlice) -> bool,
) -> EndpointSlice {
    cluster
        .wait_for(what, || async {
            let list = cluster
                .api::<EndpointSlice>()
                .list(&ListParams::default())
                .await
                .unwrap();
            list.items.into_iter().find(|s| is(s))
        })
        .await
}

#[test]
fn endpoint_slices_are_reconciled_with_pods() {
    with_cluster(|cluster| async move {
        let service = json!({"metadata": {"name": "s"}, "spec": {
            "selector": {"app": "a"}, "ports": [{"name": "http", "port": 80, "targetPort": "web"}]}});
        cluster.create_object::<Service>(service).await;
        let empty = slice(&cluster, "an empty slice", |_| true).await;
        assert!(endpoints(&empty).is_empty() && empty.name_any().starts_with("s-"));
        assert_eq!(empty.labels()["kubernetes.io/service-name"], "s");
        cluster.create_object::<Pod>(pod("p", "1")).await;
        let path = "/api/v1/namespaces/test/pods/p/status";
        cluster
            .patch(
                path,
                json!({"status": {"podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}]}}),
            )
            .await;
        let unready = slice(&cluster, "an endpoint", |s| endpoints(s).len() == 1).await;
        assert_eq!(
            endpoints(&unready)[0].conditions.as_ref().unwrap().ready,
            Some(false)
        );
        assert_eq!(unready.ports.as_ref().unwrap()[0].port, Some(8080));
        let found = cluster.api::<Pod>().get("p").await.unwrap();
        cluster.set_pod_status(&found, "Running", true).await;
        slice(&cluster, "a ready endpoint", |s| {
            endpoints(s)
                .first()
                .is_some_and(|e| e.conditions.as_ref().unwrap().ready == Some(true))
        })
        .await;
        cluster
            .wait_until_object::<Endpoints>("s", "an address", |e| {
                let subsets = e.subsets.as_deref().unwrap_or_default();
                subsets
                    .first()
                    .is_some_and(|s| s.addresses.as_ref().is_some_and(|a| a.len() == 1))
            })
            .await;
        cluster
            .api::<Pod>()
            .delete("p", &DeleteParams::default())
            .await
            .unwrap();
        slice(&cluster, "no endpoint", |s| endpoints(s).is_empty()).await;
    });
}

#[test]
fn resource_quotas_report_usage() {
    with_cluster(|cluster| async move {
        let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {
            "pods": "3", "requests.cpu": "4", "configmaps": "5", "count/jobs.batch": "2"}}});
        cluster.create_object::<ResourceQuota>(quota).await;
        let used = |q: &ResourceQuota, what: &str| {
            let used = q.status.as_ref().and_then(|s| s.used.as_ref());
            used.and_then(|u| u.get(what))
                .map(|q| q.0.clone())
                .unwrap_or_default()
        };
        cluster.create_object::<Pod>(pod("a", "1500m")).await;
        cluster.create_object::<Pod>(pod("b", "500m")).await;
        let two = cluster
            .wait_until_object::<ResourceQuota>("q", "two pods", |q| used(q, "pods") == "2")
            .await;
        assert_eq!(used(&two, "requests.cpu"), "2");
        assert_eq!(used(&two, "count/jobs.batch"), "0");
        assert_eq!(two.status.unwrap().hard.unwrap()["pods"].0, "3");
        cluster
            .create_object::<k8s_openapi::api::core::v1::ConfigMap>(
                json!({"metadata": {"name": "m"}}),
            )
            .await;
        // The root certificate is one, too.
        cluster
            .wait_until_object::<ResourceQuota>("q", "maps", |q| used(q, "configmaps") == "2")
            .await;
        let done = cluster.api::<Pod>().get("a").await.unwrap();
        cluster.set_pod_status(&done, "Succeeded", false).await;
        let one = cluster
            .wait_until_object::<ResourceQuota>("q", "one pod", |q| used(q, "pods") == "1")
            .await;
        assert_eq!(used(&one, "requests.cpu"), "500m");
    });
}

#[test]
fn a_disruption_budget_counts_allowed_disruptions() {
    with_cluster(|cluster| async move {
        let budget = json!({"metadata": {"name": "b"}, "spec": {
            "minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}});
        cluster.create_object::<PodDisruptionBudget>(budget).await;
        for name in ["p", "q"] {
            let pod: Pod = cluster.create_object(pod(name, "1")).await;
            cluster.set_pod_status(&pod, "Running", true).await;
        }
        let allowed =
            |b: &PodDisruptionBudget| b.status.as_ref().and_then(|s| s.disruptions_allowed);
        let budget = cluster
            .wait_until_object::<PodDisruptionBudget>("b", "one may go", |b| allowed(b) == Some(1))
            .await;
        let status = budget.status.unwrap();
        assert_eq!(
            (
                status.expected_pods,
                status.current_healthy,
                status.desired_healthy
            ),
            (Some(2), Some(2), Some(1))
        );
        assert_eq!(status.conditions.unwrap()[0].reason, "SufficientPods");
        let found = cluster.api::<Pod>().get("p").await.unwrap();
        cluster.set_pod_status(&found, "Running", false).await;
        cluster
            .wait_until_object::<PodDisruptionBudget>("b", "none may go", |b| allowed(b) == Some(0))
            .await;
    });
}

#[test]
fn persistent_volume_claims_are_bound() {
    with_cluster(|cluster| async move {
        let claim = json!({"metadata": {"name": "c"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}});
        cluster.create_object::<PersistentVolumeClaim>(claim).await;
        let bound = cluster
            .wait_until_object::<PersistentVolumeClaim>("c", "bound", |c| {
                c.status.as_ref().and_then(|s| s.phase.as_deref()) == Some("Bound")
            })
            .await;
        let volume = bound.spec.unwrap().volume_name.unwrap();
        let path = format!("/api/v1/persistentvolumes/{volume}");
        let found = cluster.send("GET", &path, Value::Null).await.unwrap();
        assert_eq!(found["status"]["phase"], "Bound");
        assert_eq!(found["spec"]["capacity"]["storage"], "2Gi");
        cluster
            .api::<PersistentVolumeClaim>()
            .delete("c", &DeleteParams::default())
            .await
            .unwrap();
        cluster
            .wait_for("the volume is gone", || async {
                let found = cluster.send("GET", &path, Value::Null).await;
                let going = |v: Value| v["metadata"]["deletionTimestamp"].is_string();
                found.map_or(true, going).then_some(())
            })
            .await;
    });
}

#[test]
fn finished_jobs_are_deleted_after_their_ttl() {
    with_cluster(|cluster| async move {
        let job = json!({"metadata": {"name": "j"}, "spec": {"ttlSecondsAfterFinished": 100, "template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}});
        cluster.create_object::<Job>(job).await;
        let pods = cluster.pods("job-name=j", 1).await;
        cluster.set_pod_status(&pods[0], "Succeeded", false).await;
        cluster.clock.sleep(Duration::from_secs(95)).await;
        assert!(cluster.api::<Job>().get_opt("j").await.unwrap().is_some());
        cluster.clock.sleep(Duration::from_secs(15)).await;
        assert!(cluster.api::<Job>().get_opt("j").await.unwrap().is_none());
        assert!(cluster.all_pods("job-name=j").await.is_empty());
    });
}

#[test]
fn pods_of_a_deleted_node_are_collected() {
    with_cluster(|cluster| async move {
        cluster
            .create("/api/v1/nodes", json!({"metadata": {"name": "n"}}))
            .await;
        let job = json!({"metadata": {"name": "j"}, "spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}});
        cluster.create_object::<Job>(job).await;
        let pod = cluster.pods("job-name=j", 1).await.remove(0);
        let name = pod.name_any();
        let path = format!("/api/v1/namespaces/test/pods/{name}/binding");
        cluster
            .create(
                &path,
                json!({"metadata": {"name": name}, "target": {"kind": "Node", "name": "n"}}),
            )
            .await;
        cluster.set_pod_status(&pod, "Running", true).await;
        cluster
            .send("DELETE", "/api/v1/nodes/n", Value::Null)
            .await
            .unwrap();
        cluster
            .wait_for("another pod", || async {
                let pods = cluster.all_pods("job-name=j").await;
                pods.iter().any(|p| p.name_any() != name).then_some(())
            })
            .await;
        cluster
            .wait_until_object::<Job>("j", "a failure", |j| {
                j.status.as_ref().and_then(|s| s.failed) == Some(1)
            })
            .await;
    });
}

#[test]
fn a_thousand_jobs_at_once() {
    with_cluster(|cluster| async move {
        let job = |name: String| {
            json!({"metadata": {"name": name}, "spec": {"template": {
            "metadata": {"labels": {"app": "many"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}})
        };
        let start = std::time::Instant::now();
        for number in 0..1000 {
            cluster
                .create_object::<Job>(job(format!("j{number}")))
                .await;
        }
        let made = start.elapsed();
        let pods = cluster.pods("app=many", 1000).await;
        let running = start.elapsed();
        for pod in &pods {
            cluster.set_pod_status(pod, "Succeeded", false).await;
        }
        cluster
            .wait_for("all complete", || async {
                let jobs = cluster
                    .api::<Job>()
                    .list(&ListParams::default())
                    .await
                    .unwrap();
                let done = |j: &&Job| {
                    kueue_lab_machines::workload_controllers::job::conditions::is_finished(j)
                };
                (jobs.iter().filter(done).count() == 1000).then_some(())
            })
            .await;
        println!(
            "1000 jobs: created {made:?}, pods {running:?}, complete {:?}",
            start.elapsed()
        );
    });
}
