//! The clock of a lab: paused, run to the next cycle, admission, preemption and finish, and its `Clock` object.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use k8s_openapi::api::batch::v1::Job;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use kueue_lab_api::v1beta2::Workload;
use kueue_lab_clock::{Clock, Entropy};
use kueue_lab_lab::{CLOCK, ClockSpec, ClockStatus, Lab, LabClock, LabClockState, LabConfig};
use kueue_lab_nodes::NodePools;
use kueue_lab_reason::{HeadOutcome, StopCondition};
use serde_json::json;

const NODES: &str = "pools:\n- name: cpu\n  count: 3\n  resources: {cpu: 8, memory: 64Gi}\n";

async fn start() -> Lab {
    let presets = Path::new(env!("CARGO_MANIFEST_DIR")).join("presets");
    let mut config = LabConfig::embedded(Clock::adjustable(20.0), Entropy::seeded(1), presets);
    config.presets.active = Some("skypilot-priority".to_owned());
    config.components.nodes = NodePools::parse(NODES).unwrap();
    config.components.operators = false;
    Lab::start(config).await.unwrap()
}

/// Submits a Job of 6 of the 9 CPUs that runs for `seconds`.
async fn submit(client: &Client, name: &str, priority: &str, seconds: u32) {
    let job = json!({
        "metadata": {
            "name": name,
            "labels": {"kueue.x-k8s.io/queue-name": "user-queue", "kueue.x-k8s.io/priority-class": priority},
        },
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{
                "name": "main",
                "image": "busybox",
                "command": ["sleep", seconds.to_string()],
                "resources": {"requests": {"cpu": "6"}},
            }],
        }}},
    });
    let job: Job = serde_json::from_value(job).unwrap();
    let jobs: Api<Job> = Api::default_namespaced(client.clone());
    jobs.create(&PostParams::default(), &job).await.unwrap();
}

async fn workload(client: &Client, job: &str) -> Option<Workload> {
    let all: Api<Workload> = Api::default_namespaced(client.clone());
    let listed = all.list(&ListParams::default()).await.unwrap();
    let prefix = format!("job-{job}-");
    listed
        .items
        .into_iter()
        .find(|wl| wl.name_any().starts_with(&prefix))
}

/// Whether a condition of the Workload of a Job is True.
async fn is_true(client: &Client, job: &str, condition: &str) -> bool {
    let workload = workload(client, job).await;
    workload.is_some_and(|wl| wl.is_condition_true(condition))
}

async fn wait_until_paused(clock: &LabClock) -> Arc<LabClockState> {
    let mut changes = clock.changes();
    let state = changes
        .wait_for(|state| state.paused && state.stopped_at.is_some())
        .await;
    state.unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preemption_is_shown_before_it_happens() {
    let lab = start().await;
    let (client, clock) = (lab.client(), lab.lab_clock().unwrap().clone());
    clock.pause();
    let paused_at = lab.clock().now();
    submit(&client, "low", "low-priority", 100_000).await;
    assert!(workload(&client, "low").await.is_none());
    assert_eq!(lab.clock().now(), paused_at);

    clock.run_until(StopCondition::Admission).unwrap();
    let state = wait_until_paused(&clock).await;
    let low = workload(&client, "low").await.unwrap();
    assert!(!low.is_condition_true("QuotaReserved"));
    let heads: Vec<_> = state
        .heads
        .iter()
        .map(|head| head.workload.clone())
        .collect();
    assert_eq!(heads, [format!("default/{}", low.name_any())]);
    let admits = HeadOutcome::Admits {
        flavors: vec!["default-flavor".to_owned()],
        borrows: false,
    };
    assert_eq!(state.heads[0].outcome, admits);

    // The heads of the waiting cycle are those at its begin: the other Job comes after it.
    clock.resume();
    while !is_true(&client, "low", "Admitted").await {
        tokio::task::yield_now().await;
    }
    clock.pause();
    submit(&client, "high", "high-priority", 1).await;
    clock.run_until(StopCondition::Preemption).unwrap();
    let state = wait_until_paused(&clock).await;
    assert_eq!(
        state.text(),
        "paused before the cycle of the next preemption"
    );
    let high = workload(&client, "high").await.unwrap();
    let low = workload(&client, "low").await.unwrap();
    assert!(low.is_condition_true("QuotaReserved") && !low.is_condition_true("Evicted"));
    let targets = vec![format!("default/{}", low.name_any())];
    assert_eq!(
        state.heads[0].workload,
        format!("default/{}", high.name_any())
    );
    assert_eq!(state.heads[0].outcome, HeadOutcome::Preempts { targets });

    clock.run_until(StopCondition::Cycle).unwrap();
    let state = wait_until_paused(&clock).await;
    assert_eq!(state.text(), "paused before the next scheduling cycle");
    let low = workload(&client, "low").await.unwrap();
    assert!(low.is_condition_true("Preempted"));

    clock.run_until(StopCondition::Finish).unwrap();
    let state = wait_until_paused(&clock).await;
    let stopped_at = state.stopped_at.as_ref().unwrap();
    assert_eq!(
        stopped_at.workload,
        Some(format!("default/{}", high.name_any()))
    );
    lab.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_object_pauses_steps_and_sets_the_speed() {
    let lab = start().await;
    let client = lab.client();
    let clocks: Api<DynamicObject> = Api::all_with(client.clone(), &ClockSpec::api_resource());
    let set = async |spec: serde_json::Value| {
        let patch = Patch::Merge(json!({"spec": spec}));
        let patched = clocks
            .patch(CLOCK, &PatchParams::default(), &patch)
            .await
            .unwrap();
        let requested = patched.metadata.generation.unwrap();
        loop {
            let status = ClockStatus::of(&clocks.get(CLOCK).await.unwrap());
            if status.observed_generation >= requested {
                return status;
            }
            tokio::task::yield_now().await;
        }
    };
    // The object is written after the start.
    while clocks.get_opt(CLOCK).await.unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    let status = set(json!({"paused": true})).await;
    assert!(status.state.paused && lab.clock().is_paused());
    let status = set(json!({"speed": 60})).await;
    assert!(status.state.paused && lab.clock().speed() == 60.0);
    let status = set(json!({"speed": 1e9})).await;
    assert!(status.error.unwrap().contains("not a speed"));
    assert_eq!(ClockSpec::of(&clocks.get(CLOCK).await.unwrap()).speed, 60.0);

    submit(&client, "low", "low-priority", 1).await;
    set(json!({"paused": false, "until": "admission"})).await;
    while !ClockStatus::of(&clocks.get(CLOCK).await.unwrap())
        .state
        .paused
    {
        tokio::task::yield_now().await;
    }
    assert!(workload(&client, "low").await.is_some());
    set(json!({"paused": false, "until": null})).await;
    assert!(!lab.clock().is_paused());
    lab.stop().await;
}
