//! The preset `multikueue` and the steps in its comment.

use serde_json::json;

use crate::fixture::{On, with_shipped_preset};
use crate::objects::condition;

const SAMPLE: &str = include_str!("../../presets/multikueue/samples/train.yaml");

#[test]
fn the_sample_moves_to_the_other_worker_when_its_queue_stops() {
    with_shipped_preset("multikueue", |f| async move {
        f.apply(On::Manager, SAMPLE).await;
        let name = f.workload(On::Manager, "job-train-").await;
        let running = |job: &serde_json::Value| job["status"]["active"] == 1;
        f.until(On::Manager, "Job", "train", running).await;
        let workload = f.find(On::Manager, "Workload", &name).await.unwrap();
        let first = workload["status"]["clusterName"]
            .as_str()
            .unwrap()
            .to_owned();
        let (worker, other) = match first.as_str() {
            "worker1" => (1, "worker2"),
            _ => (2, "worker1"),
        };
        let stop = json!({"spec": {"stopPolicy": "HoldAndDrain"}});
        f.patch(On::Worker(worker), "ClusterQueue", "multikueue", stop)
            .await;
        f.until(On::Manager, "Workload", &name, |wl| {
            wl["status"]["clusterName"] == other
        })
        .await;
        f.until(On::Manager, "Workload", &name, |wl| {
            condition(wl, "Finished").is_some_and(|c| c.starts_with("True/Succeeded"))
        })
        .await;
        f
    });
}
