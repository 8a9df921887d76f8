//! Plain Pods and pod groups from creation to completion.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_controller::jobs::integration_manager::Gvk;
use kueue_lab_controller::jobs::workload_names::workload_name;
use serde_json::{Value, json};

use crate::cluster_fixture::{QUEUES, TestCluster, with_cluster};

fn pods(cluster: &TestCluster) -> Api<Pod> {
    Api::namespaced(cluster.client.clone(), "ns")
}

async fn create(cluster: &TestCluster, name: &str, cpu: &str, group: Option<usize>) -> Pod {
    let mut labels = json!({"kueue.x-k8s.io/queue-name": "lq"});
    let mut annotations = json!({});
    if let Some(total) = group {
        labels["kueue.x-k8s.io/pod-group-name"] = json!("gang");
        annotations["kueue.x-k8s.io/pod-group-total-count"] = json!(total.to_string());
    }
    let pod = serde_json::from_value(json!({
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "busybox", "resources": {"requests": {"cpu": cpu}}}]},
    }));
    pods(cluster)
        .create(&PostParams::default(), &pod.unwrap())
        .await
        .unwrap()
}

fn gates(pod: &Pod) -> Vec<&str> {
    let gates = pod
        .spec
        .iter()
        .flat_map(|s| s.scheduling_gates.iter().flatten());
    gates.map(|gate| gate.name.as_str()).collect()
}

fn shown(pod: &Pod) -> Value {
    serde_json::to_value(&pod.metadata).unwrap()
}

async fn until(cluster: &TestCluster, name: &str, wanted: impl Fn(Option<&Pod>) -> bool) {
    for _ in 0..2000 {
        if wanted(pods(cluster).get_opt(name).await.unwrap().as_ref()) {
            return;
        }
        cluster
            .clock
            .sleep(std::time::Duration::from_millis(50))
            .await;
    }
    panic!(
        "{name} never became as wanted; it is {:#?}",
        pods(cluster).get_opt(name).await
    );
}

async fn phase(cluster: &TestCluster, name: &str, phase: &str) {
    let status = json!({"status": {"phase": phase}});
    pods(cluster)
        .patch_status(name, &PatchParams::default(), &Patch::Merge(&status))
        .await
        .unwrap();
}

fn name_of(pod: &Pod) -> String {
    let (name, uid) = (
        pod.metadata.name.as_deref().unwrap(),
        pod.metadata.uid.as_deref().unwrap(),
    );
    workload_name(name, uid, &Gvk::new("", "v1", "Pod"), "", false)
}

async fn workload(cluster: &TestCluster, name: &str) -> Option<Workload> {
    cluster.workloads().get_opt(name).await.unwrap()
}

#[test]
fn a_pod_is_gated_until_admitted_and_deleted_when_evicted() {
    with_cluster(async |cluster| {
        cluster.apply(QUEUES).await;
        let pod = create(&cluster, "p", "6", None).await;
        assert_eq!(
            gates(&pod),
            ["kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"]
        );
        let meta = shown(&pod);
        assert_eq!(meta["finalizers"], json!(["kueue.x-k8s.io/managed"]));
        assert_eq!(meta["labels"]["kueue.x-k8s.io/managed"], "true");
        // Upstream's hash for a pod that requests six CPUs.
        assert_eq!(meta["annotations"]["kueue.x-k8s.io/role-hash"], "4cb13f91");
        let wl = name_of(&pod);
        cluster.until(&wl, "Admitted", "True/Admitted").await;
        until(&cluster, "p", |pod| {
            pod.is_some_and(|pod| gates(pod).is_empty())
        })
        .await;
        let meta = shown(&pods(&cluster).get("p").await.unwrap());
        assert_eq!(meta["annotations"]["kueue.x-k8s.io/workload"], json!(wl));
        assert_eq!(meta["labels"]["kueue.x-k8s.io/podset"], "main");
        phase(&cluster, "p", "Running").await;

        cluster
            .patch("Workload", &wl, json!({"spec": {"active": false}}))
            .await;
        until(&cluster, "p", |pod| {
            pod.is_none_or(|pod| pod.metadata.deletion_timestamp.is_some())
        })
        .await;
        if let Some(pod) = pods(&cluster).get_opt("p").await.unwrap() {
            let conditions = pod.status.unwrap().conditions.unwrap();
            let mark = conditions
                .iter()
                .find(|c| c.type_ == "TerminationTarget")
                .unwrap();
            assert_eq!(
                mark.reason.as_deref(),
                Some("WorkloadEvictedDueToDeactivated")
            );
            pods(&cluster)
                .delete("p", &DeleteParams::default().grace_period(0))
                .await
                .unwrap();
        }
        until(&cluster, "p", |pod| pod.is_none()).await;
        cluster.until(&wl, "Finished", "True/OwnerNotFound").await;
    });
}

#[test]
fn a_finished_pod_finishes_its_workload_and_loses_its_finalizer() {
    with_cluster(async |cluster| {
        cluster.apply(QUEUES).await;
        let wl = name_of(&create(&cluster, "p", "1", None).await);
        cluster.until(&wl, "Admitted", "True/Admitted").await;
        until(&cluster, "p", |pod| {
            pod.is_some_and(|pod| gates(pod).is_empty())
        })
        .await;
        phase(&cluster, "p", "Succeeded").await;
        cluster.until(&wl, "Finished", "True/Succeeded").await;
        let free = |pod: Option<&Pod>| {
            pod.is_some_and(|p| p.metadata.finalizers.as_ref().is_none_or(Vec::is_empty))
        };
        until(&cluster, "p", free).await;
    });
}

#[test]
fn a_group_is_admitted_with_all_its_pods() {
    with_cluster(async |cluster| {
        cluster.apply(QUEUES).await;
        for name in ["g-0", "g-1"] {
            create(&cluster, name, "2", Some(3)).await;
        }
        cluster.sleep(2).await;
        assert!(workload(&cluster, "gang").await.is_none());
        let events = cluster.events("g-0").await;
        assert_eq!(
            events,
            [
                "pod-kueue-controller Warning ErrWorkloadCompose: 'gang' group has fewer runnable pods than expected"
            ]
        );
        create(&cluster, "g-2", "2", Some(3)).await;
        for name in ["g-0", "g-1", "g-2"] {
            until(&cluster, name, |pod| {
                pod.is_some_and(|pod| gates(pod).is_empty())
            })
            .await;
        }
        let wl = workload(&cluster, "gang").await.unwrap();
        assert_eq!(wl.spec.pod_sets.len(), 1);
        assert_eq!(
            (wl.spec.pod_sets[0].name.as_str(), wl.spec.pod_sets[0].count),
            ("c3465716", 3)
        );
        let owners = wl.metadata.owner_references.unwrap();
        assert_eq!(owners.len(), 3);
        assert!(owners.iter().all(|owner| owner.controller.is_none()));
        let mark = wl.metadata.annotations.unwrap();
        assert_eq!(
            mark.get("kueue.x-k8s.io/is-group-workload")
                .map(String::as_str),
            Some("true")
        );
        for (done, name) in ["g-0", "g-1", "g-2"].into_iter().enumerate() {
            phase(&cluster, name, "Succeeded").await;
            cluster.sleep(1).await;
            let wl = workload(&cluster, "gang").await.unwrap();
            if done < 2 {
                assert_eq!(wl.status.reclaimable_pods[0].count as usize, done + 1);
            }
        }
        cluster.until("gang", "Finished", "True/Succeeded").await;
        let message = cluster.condition("gang", "Finished").await.unwrap();
        assert_eq!(message, "True/Succeeded: Pods succeeded: 3/3.");
    });
}

#[test]
fn excess_pods_are_deleted_and_failed_pods_need_replacement() {
    with_cluster(async |cluster| {
        cluster.apply(QUEUES).await;
        for name in ["g-0", "g-1"] {
            create(&cluster, name, "1", Some(2)).await;
        }
        until(&cluster, "g-1", |pod| {
            pod.is_some_and(|pod| gates(pod).is_empty())
        })
        .await;
        create(&cluster, "g-2", "1", Some(2)).await;
        until(&cluster, "g-2", |pod| pod.is_none()).await;
        phase(&cluster, "g-0", "Failed").await;
        cluster
            .until("gang", "WaitingForReplacementPods", "True/PodsFailed")
            .await;
        create(&cluster, "g-3", "1", Some(2)).await;
        cluster
            .until("gang", "WaitingForReplacementPods", "False/PodsReady")
            .await;
        until(&cluster, "g-3", |pod| {
            pod.is_some_and(|pod| gates(pod).is_empty())
        })
        .await;
    });
}

#[test]
fn an_incomplete_group_is_rejected() {
    with_cluster(async |cluster| {
        let pod = serde_json::from_value(json!({
            "metadata": {"name": "p", "labels": {"kueue.x-k8s.io/queue-name": "lq", "kueue.x-k8s.io/pod-group-name": "g"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }));
        let rejected = pods(&cluster)
            .create(&PostParams::default(), &pod.unwrap())
            .await;
        assert!(rejected.unwrap_err().to_string().contains(
            "admission webhook \"vpod.kb.io\" denied the request: \
             metadata.annotations[kueue.x-k8s.io/pod-group-total-count]: Required value: both the \
             'kueue.x-k8s.io/pod-group-total-count' annotation and the 'kueue.x-k8s.io/pod-group-name' label should be set"
        ));
    });
}
