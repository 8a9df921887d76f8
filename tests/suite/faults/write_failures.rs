//! Writes that fail or meet others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use kueue_lab_apiserver::apimachinery::api_error::ApiError;
use kueue_lab_apiserver::plugins::{AdmissionPlugin, AdmissionRequest, AdmissionWarnings};
use serde_json::{Value, json};

use super::FaultContext;
use crate::objects::{CLUSTER_QUEUE, JOB, LOCAL_QUEUE, POD, WORKLOAD, is_condition_true};

/// Refuses that Jobs are started while it is closed.
struct BlockJobStarts {
    blocking: Arc<AtomicBool>,
}

#[async_trait]
impl AdmissionPlugin for BlockJobStarts {
    fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool {
        group == "batch" && resource == "jobs" && subresource.is_empty()
    }

    async fn mutate(
        &self,
        _: &AdmissionRequest<'_>,
        _: &mut Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        Ok(AdmissionWarnings::default())
    }

    async fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
    ) -> Result<AdmissionWarnings, ApiError> {
        let was_suspended = request
            .old_object
            .is_some_and(|old| old["spec"]["suspend"] == true);
        let starts = was_suspended && object["spec"]["suspend"] == false;
        match starts && self.blocking.load(Ordering::SeqCst) {
            true => Err(ApiError::new(500, "InternalError", "not now")),
            false => Ok(AdmissionWarnings::default()),
        }
    }
}

/// `kill -9` when Workloads are admitted and none of their Jobs has been started.
pub async fn killed_between_quota_reservation_and_job_start(trouble: &FaultContext) {
    let closed = Arc::new(AtomicBool::new(true));
    let gatekeeper = BlockJobStarts {
        blocking: closed.clone(),
    };
    trouble.cluster.server.add_admission(Arc::new(gatekeeper));
    let stage = &trouble.stage;
    let lab = trouble.up().ready().await;
    stage.create_queues("lq", 8, json!({})).await;
    for name in ["one", "two", "three"] {
        stage.job(name, "lq", 4, 100_000).await;
    }
    stage
        .wait_all(WORKLOAD, "two are admitted", |known| {
            let admitted = known
                .values()
                .filter(|wl| is_condition_true(wl, "Admitted"))
                .count();
            (admitted == 2).then_some(())
        })
        .await;
    lab.kill();
    let jobs = stage.list(JOB).await;
    assert!(jobs.iter().all(|job| job["spec"]["suspend"] == true));
    closed.store(false, Ordering::SeqCst);
    let next = trouble.up().ready().await;
    trouble.wait_for_admitted(2).await;
    stage.assert_consistent().await;
    let jobs = stage.list(JOB).await;
    for job in jobs.iter().filter(|job| job["spec"]["suspend"] == false) {
        stage.delete(JOB, crate::objects::name(job)).await;
    }
    trouble.wait_for_admitted(1).await;
    stage.assert_consistent().await;
    assert_eq!(next.stop().await, Some(0));
}

/// Somebody annotates everything the lab writes to, as fast as they can.
pub async fn another_client_writes_continuously(trouble: &FaultContext) {
    let stage = &trouble.stage;
    let lab = trouble.up().ready().await;
    stage.create_queues("lq", 4, json!({})).await;
    let jobs: Vec<String> = (0..8).map(|n| format!("j{n}")).collect();
    let busy = async {
        let mut round = 0;
        loop {
            round += 1;
            for kind in [WORKLOAD, JOB, POD, LOCAL_QUEUE] {
                for object in stage.list(kind).await {
                    annotate(stage, kind, crate::objects::name(&object), round).await;
                }
            }
            let queues: Vec<String> = stage.quotas.lock().keys().cloned().collect();
            for name in queues {
                annotate(stage, CLUSTER_QUEUE, &name, round).await;
            }
        }
    };
    let work = async {
        for name in &jobs {
            stage.job(name, "lq", 2, 1).await;
        }
        for name in &jobs {
            let complete = |job: &Value| is_condition_true(job, "Complete");
            stage
                .wait_until(JOB, name, "it is complete", complete)
                .await;
        }
    };
    tokio::select! {
        () = work => {}
        () = busy => {}
    }
    stage.assert_consistent().await;
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let metrics = stage.client.request_text(request).await.unwrap();
    let conflicts = metrics
        .lines()
        .filter(|line| line.starts_with("apiserver_request_total") && line.contains("code=\"409\""))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum::<f64>();
    assert!(conflicts >= 1.0, "nobody met anybody: {metrics}");
    assert_eq!(lab.stop().await, Some(0));
}

async fn annotate(
    stage: &crate::test_namespace::TestNamespace,
    kind: crate::objects::Kind,
    name: &str,
    round: u64,
) {
    let change = json!({"metadata": {"annotations": {"example.com/round": round.to_string()}}});
    let (params, patch) = (Default::default(), kube::api::Patch::Merge(&change));
    // It may be gone, or being changed.
    let _ = stage.api(kind).patch(name, &params, &patch).await;
    tokio::task::yield_now().await;
}
