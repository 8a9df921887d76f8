//! The lifecycle of pods.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use kueue_lab_kubelet::LogQuery;
use serde_json::json;

use super::cluster_fixture::*;

#[test]
fn a_pod_is_bound_runs_and_succeeds() {
    with_cluster(POOLS, |lab| async move {
        lab.create(&pod("p", "echo hello; sleep 300", json!({})))
            .await;
        let running = lab.wait_for_phase("p", "Running").await;
        let status = running.status.clone().unwrap();
        assert_eq!(node_of(&running), Some("gpu-0"));
        assert!(status.pod_ip.unwrap().starts_with("10.64.0."));
        assert_eq!(status.host_ip.as_deref(), Some("172.18.0.1"));
        for kind in [
            "PodScheduled",
            "PodReadyToStartContainers",
            "Initialized",
            "ContainersReady",
            "Ready",
        ] {
            assert_eq!(condition(&running, kind).unwrap().0, "True", "{kind}");
        }
        let container = &status.container_statuses.unwrap()[0];
        assert!(container.ready);
        let started = container
            .state
            .as_ref()
            .unwrap()
            .running
            .as_ref()
            .unwrap()
            .started_at
            .clone()
            .unwrap();
        let done = lab.wait_for_phase("p", "Succeeded").await;
        let container = container_status(&done);
        let ended = container
            .state
            .as_ref()
            .unwrap()
            .terminated
            .clone()
            .unwrap();
        assert_eq!(
            (ended.exit_code, ended.reason.as_deref()),
            (0, Some("Completed"))
        );
        assert_eq!(
            ended
                .finished_at
                .unwrap()
                .0
                .duration_since(started.0)
                .as_secs(),
            300
        );
        assert_eq!(condition(&done, "Ready").unwrap().1, "PodCompleted");
        assert_eq!(
            lab.events("p").await,
            [
                "Normal Scheduled: Successfully assigned test/p to gpu-0",
                "Normal Pulled: Container image \"busybox\" already present on machine and can be accessed by the pod",
                "Normal Created: Container created",
                "Normal Started: Container started",
            ]
        );
        let query = LogQuery {
            uid: done.uid().unwrap(),
            container: "c".into(),
            ..LogQuery::default()
        };
        let text: Vec<_> =
            futures::StreamExt::collect(lab.machines.logs().read(&query).unwrap()).await;
        assert_eq!(text.concat(), b"hello\n");
    });
}

#[test]
fn exit_codes_and_restart_counts_are_reported() {
    with_cluster(POOLS, |lab| async move {
        lab.create(&pod("never", "sleep 5; exit 3", json!({})))
            .await;
        lab.create(&pod(
            "again",
            "sleep 5; exit 3",
            json!({"restartPolicy": "OnFailure"}),
        ))
        .await;
        let failed = lab.wait_for_phase("never", "Failed").await;
        assert_eq!(exit_code(&failed), 3);
        assert_eq!(condition(&failed, "Ready").unwrap().1, "PodFailed");
        let looping = lab
            .wait_for_pod("again", |pod| {
                let statuses = pod
                    .status
                    .as_ref()
                    .and_then(|s| s.container_statuses.as_ref());
                let state = statuses.and_then(|s| s[0].state.as_ref());
                let waiting = state.and_then(|s| s.waiting.as_ref());
                waiting.is_some_and(|w| w.reason.as_deref() == Some("CrashLoopBackOff"))
            })
            .await;
        let container = container_status(&looping);
        assert_eq!(container.restart_count, 1);
        assert!(container.last_state.as_ref().unwrap().terminated.is_some());
        assert_eq!(phase_of(&looping), "Running");
        assert_eq!(condition(&looping, "Ready").unwrap().0, "False");
        assert!(lab.events("again").await.iter().any(|e| e.starts_with(
            "Warning BackOff: Back-off restarting failed container c in pod again_test("
        )));
    });
}

#[test]
fn deletion_respects_the_grace_period() {
    with_cluster(POOLS, |lab| async move {
        lab.create(&pod("p", "sleep infinity", json!({}))).await;
        lab.wait_for_phase("p", "Running").await;
        let before = lab.clock.now();
        let held = lab
            .pods
            .delete("p", &DeleteParams::default())
            .await
            .unwrap();
        assert_eq!(
            held.left().unwrap().metadata.deletion_grace_period_seconds,
            Some(30)
        );
        lab.wait_for_deletion("p").await;
        assert!(lab.clock.now().duration_since(before).as_secs() < 5);
        assert!(
            lab.events("p")
                .await
                .contains(&"Normal Killing: Stopping container c".to_string())
        );
    });
}

#[test]
fn a_pod_with_a_finalizer_terminates_and_is_kept() {
    with_cluster(POOLS, |lab| async move {
        let mut held = pod("p", "sleep infinity", json!({}));
        held.metadata.finalizers = Some(vec!["x.io/hold".into()]);
        lab.create(&held).await;
        lab.wait_for_phase("p", "Running").await;
        lab.pods
            .delete("p", &DeleteParams::default())
            .await
            .unwrap();
        let ended = lab.wait_for_phase("p", "Failed").await;
        assert_eq!(exit_code(&ended), 143);
        lab.clock.sleep(Duration::from_secs(60)).await;
        let free = json!({"metadata": {"finalizers": null}});
        let patched = lab
            .pods
            .patch("p", &PatchParams::default(), &Patch::Merge(&free))
            .await
            .unwrap();
        assert_eq!(patched.metadata.deletion_grace_period_seconds, Some(0));
        lab.wait_for_deletion("p").await;
    });
}

#[test]
fn another_client_can_finish_a_pod() {
    with_cluster(POOLS, |lab| async move {
        lab.create(&pod("p", "sleep infinity", json!({}))).await;
        lab.wait_for_phase("p", "Running").await;
        let done = json!({"status": {"phase": "Succeeded"}});
        lab.pods
            .patch_status("p", &PatchParams::default(), &Patch::Merge(&done))
            .await
            .unwrap();
        lab.clock.sleep(Duration::from_secs(60)).await;
        assert_eq!(phase_of(&lab.pods.get("p").await.unwrap()), "Succeeded");
        lab.pods
            .delete("p", &DeleteParams::default())
            .await
            .unwrap();
        lab.wait_for_deletion("p").await;
    });
}

#[test]
fn pods_are_pending_without_capacity_or_with_scheduling_gates() {
    with_cluster(POOLS, |lab| async move {
        let gpus = |name: &str, n: &str| {
            with_requests(
                pod(name, "sleep 60", json!({})),
                json!({"nvidia.com/gpu": n}),
            )
        };
        lab.create(&gpus("a", "8")).await;
        lab.create(&gpus("b", "6")).await;
        lab.wait_for_phase("b", "Running").await;
        lab.create(&gpus("c", "4")).await;
        let waits = lab
            .wait_for_pod("c", |pod| condition(pod, "PodScheduled").is_some())
            .await;
        let text = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.";
        assert_eq!(
            condition(&waits, "PodScheduled").unwrap(),
            ("False".into(), "Unschedulable".into(), text.into())
        );
        assert_eq!(
            lab.events("c").await,
            [format!("Warning FailedScheduling: {text}")]
        );
        lab.wait_for_phase("c", "Running").await;

        let gated = with_requests(
            pod(
                "d",
                "sleep 5",
                json!({"schedulingGates": [{"name": "x.io/wait"}]}),
            ),
            json!({"cpu": "1"}),
        );
        lab.create(&gated).await;
        lab.clock.sleep(Duration::from_secs(30)).await;
        let waiting = lab.pods.get("d").await.unwrap();
        assert_eq!(node_of(&waiting), None);
        assert_eq!(
            condition(&waiting, "PodScheduled").unwrap().1,
            "SchedulingGated"
        );
        let open = json!({"spec": {"schedulingGates": []}});
        lab.pods
            .patch("d", &PatchParams::default(), &Patch::Merge(&open))
            .await
            .unwrap();
        lab.wait_for_phase("d", "Succeeded").await;
    });
}

#[test]
fn a_higher_priority_pod_preempts_lower_ones() {
    with_cluster(POOLS, |lab| async move {
        for (name, value) in [("low", 1), ("high", 10)] {
            let class = json!({"metadata": {"name": name}, "value": value});
            let class: k8s_openapi::api::scheduling::v1::PriorityClass =
                serde_json::from_value(class).unwrap();
            kube::Api::all(lab.client.clone())
                .create(&Default::default(), &class)
                .await
                .unwrap();
        }
        let of = |name: &str, class: &str, cpu: &str| -> Pod {
            with_requests(
                pod(name, "sleep 600", json!({"priorityClassName": class})),
                json!({"cpu": cpu}),
            )
        };
        for name in ["a", "b", "c", "d"] {
            lab.create(&of(name, "low", "2")).await;
            lab.wait_for_phase(name, "Running").await;
            lab.clock.sleep(Duration::from_secs(2)).await;
        }
        lab.create(&of("vip", "high", "2")).await;
        let vip = lab.wait_for_phase("vip", "Running").await;
        // The youngest pod is the preemption victim.
        lab.wait_for_deletion("d").await;
        assert_eq!(node_of(&vip), node_of(&lab.pods.get("b").await.unwrap()));
        let events = lab.events("d").await;
        let uid = vip.uid().unwrap();
        assert!(
            events.contains(&format!(
                "Normal Preempted: Preempted by pod {uid} on node gpu-1"
            )),
            "{events:?}"
        );
        assert!(
            lab.events("vip").await[0].starts_with(
                "Warning FailedScheduling: 0/2 nodes are available: 2 Insufficient cpu."
            )
        );
    });
}

#[test]
fn three_hundred_pods_complete() {
    let pools = "- name: cpu\n  count: 6\n  resources: {cpu: 16, memory: 64Gi}\n";
    with_cluster(pools, |lab| async move {
        let started = lab.clock.now();
        for i in 0..300 {
            let pod = with_requests(
                pod(&format!("p{i}"), "sleep 10", json!({})),
                json!({"cpu": "1"}),
            );
            lab.create(&pod).await;
        }
        for i in (0..300).rev() {
            lab.wait_for_phase(&format!("p{i}"), "Succeeded").await;
        }
        let took = lab.clock.now().duration_since(started).as_secs();
        // 96 at a time, each for about 10 seconds.
        assert!((30..60).contains(&took), "{took} s");
    });
}
