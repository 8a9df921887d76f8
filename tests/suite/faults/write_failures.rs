//! Failed and conflicting writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;
use kueue_lab_apiserver::plugins::{AdmissionPlugin, AdmissionRequest, AdmissionWarnings};
use serde_json::{Value, json};

use super::FaultContext;
use crate::objects::{CLUSTER_QUEUE, JOB, LOCAL_QUEUE, POD, WORKLOAD, is_condition_true};

/// Rejects the start of Jobs while it is closed.
struct BlockJobStarts {
    blocking: Arc<AtomicBool>,
}

#[async_trait]
impl AdmissionPlugin for BlockJobStarts {
    fn handles(&self, group: &str, resource: &str, subresource: &str) -> bool {
        group == "batch" && resource == "jobs" && subresource.is_empty()
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
            true => Err(ApiError::new(500, StatusReason::InternalError, "not now")),
            false => Ok(AdmissionWarnings::default()),
        }
    }
}

/// `kill -9` after Workloads are admitted and before any of their Jobs is started.
pub(super) async fn killed_between_quota_reservation_and_job_start(context: &FaultContext) {
    let closed = Arc::new(AtomicBool::new(true));
    let block_job_starts = BlockJobStarts {
        blocking: closed.clone(),
    };
    context
        .cluster
        .server
        .add_admission(Arc::new(block_job_starts));
    let ns = &context.ns;
    let lab = context.up().ready().await;
    ns.create_queues("lq", 8, json!({})).await;
    for name in ["one", "two", "three"] {
        ns.job(name, "lq", 4, 100_000).await;
    }
    ns.wait_all(WORKLOAD, "two are admitted", |known| {
        let admitted = known
            .values()
            .filter(|wl| is_condition_true(wl, "Admitted"))
            .count();
        (admitted == 2).then_some(())
    })
    .await;
    lab.kill();
    let jobs = ns.list(JOB).await;
    assert!(jobs.iter().all(|job| job["spec"]["suspend"] == true));
    closed.store(false, Ordering::SeqCst);
    let next = context.up().ready().await;
    context.wait_for_admitted(2).await;
    ns.assert_consistent().await;
    let jobs = ns.list(JOB).await;
    for job in jobs.iter().filter(|job| job["spec"]["suspend"] == false) {
        ns.delete(JOB, crate::objects::name(job)).await;
    }
    context.wait_for_admitted(1).await;
    ns.assert_consistent().await;
    assert_eq!(next.stop().await, Some(0));
}

/// Another client continuously annotates every object that the lab writes.
pub(super) async fn another_client_writes_continuously(context: &FaultContext) {
    let ns = &context.ns;
    let lab = context.up().ready().await;
    ns.create_queues("lq", 4, json!({})).await;
    let jobs: Vec<String> = (0..8).map(|n| format!("j{n}")).collect();
    let busy = async {
        let mut round = 0;
        loop {
            round += 1;
            for kind in [WORKLOAD, JOB, POD, LOCAL_QUEUE] {
                for object in ns.list(kind).await {
                    annotate(ns, kind, crate::objects::name(&object), round).await;
                }
            }
            let queues: Vec<String> = ns.quotas.lock().keys().cloned().collect();
            for name in queues {
                annotate(ns, CLUSTER_QUEUE, &name, round).await;
            }
        }
    };
    let work = async {
        for name in &jobs {
            ns.job(name, "lq", 2, 1).await;
        }
        for name in &jobs {
            let complete = |job: &Value| is_condition_true(job, "Complete");
            ns.wait_until(JOB, name, "it is complete", complete).await;
        }
    };
    tokio::select! {
        () = work => {}
        () = busy => {}
    }
    ns.assert_consistent().await;
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let metrics = ns.client.request_text(request).await.unwrap();
    let conflicts = metrics
        .lines()
        .filter(|line| line.starts_with("apiserver_request_total") && line.contains("code=\"409\""))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
        .sum::<f64>();
    assert!(conflicts >= 1.0, "no write conflicts: {metrics}");
    assert_eq!(lab.stop().await, Some(0));
}

async fn annotate(
    ns: &crate::test_namespace::TestNamespace,
    kind: crate::objects::Kind,
    name: &str,
    round: u64,
) {
    let change = json!({"metadata": {"annotations": {"example.com/round": round.to_string()}}});
    let (params, patch) = (Default::default(), kube::api::Patch::Merge(&change));
    // It may be deleted or modified.
    let _ = ns.api(kind).patch(name, &params, &patch).await;
    tokio::task::yield_now().await;
}
