//! Deployments, StatefulSets and JobSets.

use k8s_openapi::api::apps::v1::{Deployment, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kueue_lab_controller::jobs::integration_manager::Gvk;
use kueue_lab_controller::jobs::workload_names::workload_name;
use serde_json::{Value, json};

use crate::cluster_fixture::{QUEUES, TestCluster, with_cluster};

fn template() -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [
        {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}})
}

fn spec(kind: &str, replicas: u32) -> Value {
    let mut spec = json!({"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template()});
    if kind == "StatefulSet" {
        spec["serviceName"] = json!("web");
    }
    json!({"apiVersion": "apps/v1", "kind": kind,
        "metadata": {"name": "web", "labels": {"kueue.x-k8s.io/queue-name": "lq"}}, "spec": spec})
}

fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

async fn workload_until(
    cluster: &TestCluster,
    name: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Value {
    for _ in 0..2000 {
        if cluster.workloads().get_opt(name).await.unwrap().is_some() {
            let wl = cluster.get("Workload", name).await;
            if wanted(&wl) {
                return wl;
            }
        }
        cluster
            .clock
            .sleep(std::time::Duration::from_millis(50))
            .await;
    }
    panic!(
        "{name} never became as wanted: {:#?}",
        cluster.workloads().get_opt(name).await
    );
}

#[test]
fn the_pods_of_a_deployment_get_its_queue() {
    with_cluster(async |cluster| {
        cluster.apply(QUEUES).await;
        let api: Api<Deployment> = Api::namespaced(cluster.client.clone(), "ns");
        let made = api
            .create(&PostParams::default(), &object(spec("Deployment", 2)))
            .await
            .unwrap();
        let meta = serde_json::to_value(made.spec.unwrap().template.metadata).unwrap();
        assert_eq!(
            meta["annotations"]["kueue.x-k8s.io/pod-suspending-parent"],
            "deployment"
        );
        assert_eq!(meta["labels"]["kueue.x-k8s.io/queue-name"], "lq");
        assert_eq!(meta["labels"]["kueue.x-k8s.io/managed"], "true");
        let away = json!({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": null}}});
        let rejected = api
            .patch("web", &PatchParams::default(), &Patch::Merge(&away))
            .await;
        assert!(
            rejected
                .unwrap_err()
                .to_string()
                .contains("vdeployment.kb.io")
        );
    });
}

#[test]
fn the_pods_of_a_stateful_set_join_its_workload() {
    with_cluster(async |cluster| {
        cluster.apply(QUEUES).await;
        let sets: Api<StatefulSet> = Api::namespaced(cluster.client.clone(), "ns");
        let set = sets
            .create(&PostParams::default(), &object(spec("StatefulSet", 2)))
            .await
            .unwrap();
        let uid = set.metadata.uid.clone().unwrap();
        let name = workload_name(
            "web",
            &uid,
            &Gvk::new("apps", "v1", "StatefulSet"),
            "",
            false,
        );
        let wl = workload_until(&cluster, &name, |_| true).await;
        assert_eq!(wl["spec"]["podSets"][0]["count"], 2);
        assert_eq!(
            wl["metadata"]["annotations"]["kueue.x-k8s.io/job-owner-gvk"],
            "apps/v1, Kind=StatefulSet"
        );

        let mut pod = template();
        pod["metadata"] = json!({
            "name": "web-0", "labels": {"app": "web", "apps.kubernetes.io/pod-index": "0"},
            "annotations": {"kueue.x-k8s.io/pod-suspending-parent": "statefulset"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": uid, "controller": true}],
        });
        let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), "ns");
        pods.create(&PostParams::default(), &object(pod))
            .await
            .unwrap();
        let mut joined = None;
        for _ in 0..200 {
            let pod = serde_json::to_value(pods.get("web-0").await.unwrap()).unwrap();
            if pod["spec"].get("schedulingGates").is_none() {
                joined = Some(pod);
                break;
            }
            cluster
                .clock
                .sleep(std::time::Duration::from_millis(50))
                .await;
        }
        let joined = joined.expect("the pod is still gated");
        assert_eq!(
            joined["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-name"],
            json!(name)
        );
        assert_eq!(
            joined["metadata"]["annotations"]["kueue.x-k8s.io/role-hash"],
            "main"
        );

        let rejected = json!({"spec": {"replicas": 3}});
        let rejected = sets
            .patch("web", &PatchParams::default(), &Patch::Merge(&rejected))
            .await;
        assert!(
            rejected
                .unwrap_err()
                .to_string()
                .contains("spec.replicas: Invalid value: 3: field is immutable")
        );
        let none = json!({"spec": {"replicas": 0}});
        sets.patch("web", &PatchParams::default(), &Patch::Merge(&none))
            .await
            .unwrap();
        workload_until(&cluster, &name, |wl| {
            let conditions = wl["status"]["conditions"].as_array().unwrap();
            conditions
                .iter()
                .any(|c| c["type"] == "QuotaReserved" && c["reason"] == "OnHold")
        })
        .await;
    });
}

const JOB_SETS: &str = include_str!("../differential/jobset-crd.yaml");

#[test]
fn a_job_set_is_managed_after_its_crd_is_created() {
    with_cluster(async |cluster| {
        cluster.apply(QUEUES).await;
        cluster.apply(JOB_SETS).await;
        cluster.sleep(5).await;
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
            "jobset.x-k8s.io",
            "v1alpha2",
            "JobSet",
        ));
        let sets: Api<DynamicObject> =
            Api::namespaced_with(cluster.client.clone(), "ns", &resource);
        let job = |parallelism: u32| json!({"spec": {"parallelism": parallelism, "template": template()}});
        let set = json!({"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
            "metadata": {"name": "s", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
            "spec": {"replicatedJobs": [{"name": "driver", "replicas": 1, "template": job(1)},
                {"name": "workers", "replicas": 2, "template": job(2)}]}});
        let made = sets
            .create(&PostParams::default(), &object(set))
            .await
            .unwrap();
        assert_eq!(made.data["spec"]["suspend"], true);
        for _ in 0..2000 {
            let now = sets.get("s").await.unwrap();
            if now.data["spec"]["suspend"] == false {
                let jobs = &now.data["spec"]["replicatedJobs"];
                let labels = &jobs[1]["template"]["spec"]["template"]["metadata"]["labels"];
                assert_eq!(labels["kueue.x-k8s.io/podset"], "workers");
                return;
            }
            cluster
                .clock
                .sleep(std::time::Duration::from_millis(50))
                .await;
        }
        panic!("the JobSet is still suspended");
    });
}
