//! Jobs: completion, suspension, failure, indexing.

use k8s_openapi::api::batch::v1::{Job, JobStatus};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::cluster_fixture::*;

fn job(name: &str, spec: Value) -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "i"}],
        }}},
    });
    for (field, value) in spec.as_object().unwrap() {
        job["spec"][field] = value.clone();
    }
    job
}

fn status(job: &Job) -> JobStatus {
    job.status.clone().unwrap_or_default()
}

/// `type=status reason` of each condition, in order.
fn conditions(job: &Job) -> Vec<String> {
    let conditions = status(job).conditions.unwrap_or_default();
    let line = |c: &k8s_openapi::api::batch::v1::JobCondition| {
        format!(
            "{}={} {}",
            c.type_,
            c.status,
            c.reason.clone().unwrap_or_default()
        )
    };
    conditions.iter().map(line).collect()
}

fn has(job: &Job, condition: &str) -> bool {
    conditions(job)
        .iter()
        .any(|c| c.starts_with(&format!("{condition}=True")))
}

#[test]
fn a_job_runs_its_pods_and_completes() {
    with_cluster(|cluster| async move {
        cluster
            .create_object::<Job>(job("five", json!({"parallelism": 5, "completions": 5})))
            .await;
        let pods = cluster.pods("job-name=five", 5).await;
        assert_eq!(pods[0].finalizers(), ["batch.kubernetes.io/job-tracking"]);
        assert_eq!(
            pods[0].owner_references()[0].block_owner_deletion,
            Some(true)
        );
        let running = cluster
            .wait_until_object::<Job>("five", "active", |j| status(j).active == Some(5))
            .await;
        assert_eq!(
            (status(&running).ready, status(&running).terminating),
            (Some(0), Some(0))
        );
        for pod in &pods {
            cluster.set_pod_status(pod, "Running", true).await;
        }
        cluster
            .wait_until_object::<Job>("five", "ready", |j| status(j).ready == Some(5))
            .await;
        for pod in &pods {
            cluster.set_pod_status(pod, "Succeeded", false).await;
        }
        let done = cluster
            .wait_until_object::<Job>("five", "complete", |j| has(j, "Complete"))
            .await;
        assert_eq!(
            conditions(&done),
            [
                "SuccessCriteriaMet=True CompletionsReached",
                "Complete=True CompletionsReached"
            ],
        );
        let status = status(&done);
        assert_eq!(
            (status.succeeded, status.active, status.failed),
            (Some(5), None, None)
        );
        assert_eq!(status.uncounted_terminated_pods, Some(Default::default()));
        assert!(status.completion_time.is_some());
        let left = cluster.all_pods("job-name=five").await;
        assert!(left.len() == 5 && left.iter().all(|p| p.finalizers().is_empty()));
        let events = cluster.events("five").await;
        assert!(events[0].starts_with("SuccessfulCreate: Created pod: five-"));
        assert_eq!(
            (events.len(), events[5].as_str()),
            (6, "Completed: Job completed")
        );
    });
}

#[test]
fn suspending_deletes_the_pods_and_resuming_restarts_them() {
    with_cluster(|cluster| async move {
        let spec = json!({"parallelism": 2, "completions": 2, "suspend": true});
        cluster.create_object::<Job>(job("suspended", spec)).await;
        let suspended = cluster
            .wait_until_object::<Job>("suspended", "suspended", |j| has(j, "Suspended"))
            .await;
        assert!(status(&suspended).start_time.is_none());
        assert!(cluster.all_pods("job-name=suspended").await.is_empty());

        let path = "/apis/batch/v1/namespaces/test/jobs/suspended";
        cluster
            .patch(path, json!({"spec": {"suspend": false}}))
            .await;
        let pods = cluster.pods("job-name=suspended", 2).await;
        let resumed = cluster
            .wait_until_object::<Job>("suspended", "resumed", |j| status(j).active == Some(2))
            .await;
        assert_eq!(conditions(&resumed), ["Suspended=False JobResumed"]);
        let first_start = status(&resumed).start_time.unwrap();
        for pod in &pods {
            cluster.set_pod_status(pod, "Running", true).await;
        }

        cluster
            .clock
            .sleep(std::time::Duration::from_secs(60))
            .await;
        cluster
            .patch(path, json!({"spec": {"suspend": true}}))
            .await;
        let suspended = cluster
            .wait_until_object::<Job>("suspended", "suspended", |j| has(j, "Suspended"))
            .await;
        let gone = cluster
            .wait_until_object::<Job>("suspended", "no pods", |j| status(j).terminating == Some(0))
            .await;
        assert!(cluster.all_pods("job-name=suspended").await.is_empty());
        assert_eq!(status(&gone).failed, None, "suspension is no failure");
        assert_eq!(
            (status(&suspended).active, status(&suspended).ready),
            (None, Some(0))
        );

        cluster
            .clock
            .sleep(std::time::Duration::from_secs(60))
            .await;
        cluster
            .patch(path, json!({"spec": {"suspend": false}}))
            .await;
        cluster.pods("job-name=suspended", 2).await;
        let again = cluster
            .wait_until_object::<Job>("suspended", "resumed", |j| status(j).active == Some(2))
            .await;
        let waited = status(&again)
            .start_time
            .unwrap()
            .0
            .duration_since(first_start.0);
        assert!(
            waited.as_secs() >= 120,
            "the start time is reset: {waited:?}"
        );
        let events = cluster.events("suspended").await;
        let events: Vec<&str> = events
            .iter()
            .map(|e| e.split(':').next().unwrap())
            .collect();
        assert_eq!(
            events,
            // Suspended and Resumed occurred twice: such an Event increments its count and moves to the
            // end.
            [
                "SuccessfulCreate",
                "SuccessfulCreate",
                "SuccessfulDelete",
                "SuccessfulDelete",
                "Suspended",
                "SuccessfulCreate",
                "SuccessfulCreate",
                "Resumed",
            ],
        );
    });
}

#[test]
fn failures_are_retried_with_backoff_until_the_limit() {
    with_cluster(|cluster| async move {
        cluster
            .create_object::<Job>(job("fails", json!({"backoffLimit": 1})))
            .await;
        let first = cluster.pods("job-name=fails", 1).await;
        cluster.set_pod_status(&first[0], "Failed", false).await;
        let failed_at = cluster.clock.now();
        let second = cluster.pods("job-name=fails", 1).await;
        let pause = cluster.clock.now().duration_since(failed_at).as_secs();
        assert!(
            (9..=12).contains(&pause),
            "ten seconds of pause, not {pause}"
        );
        cluster.set_pod_status(&second[0], "Failed", false).await;
        let failed = cluster
            .wait_until_object::<Job>("fails", "failed", |j| has(j, "Failed"))
            .await;
        assert_eq!(
            conditions(&failed),
            [
                "FailureTarget=True BackoffLimitExceeded",
                "Failed=True BackoffLimitExceeded"
            ],
        );
        assert_eq!(
            (status(&failed).failed, status(&failed).completion_time),
            (Some(2), None)
        );
        let last = cluster.events("fails").await.pop().unwrap();
        assert_eq!(
            last,
            "BackoffLimitExceeded: Job has reached the specified backoff limit"
        );
    });
}

#[test]
fn a_deadline_ends_a_job_and_its_pods() {
    with_cluster(|cluster| async move {
        let spec = json!({"activeDeadlineSeconds": 30, "parallelism": 3, "completions": 3});
        cluster.create_object::<Job>(job("late", spec)).await;
        cluster.pods("job-name=late", 3).await;
        let failed = cluster
            .wait_until_object::<Job>("late", "failed", |j| has(j, "Failed"))
            .await;
        assert_eq!(
            conditions(&failed),
            [
                "FailureTarget=True DeadlineExceeded",
                "Failed=True DeadlineExceeded"
            ],
        );
        assert_eq!(status(&failed).failed, Some(3));
        assert!(cluster.all_pods("job-name=late").await.is_empty());
    });
}

#[test]
fn indexed_pods_have_their_completion_index() {
    with_cluster(|cluster| async move {
        let spec = json!({"completionMode": "Indexed", "completions": 4, "parallelism": 2});
        cluster.create_object::<Job>(job("ix", spec)).await;
        let pods = cluster.pods("job-name=ix", 2).await;
        let one = &pods[1];
        let key = "batch.kubernetes.io/job-completion-index";
        assert_eq!(
            (one.labels()[key].as_str(), one.annotations()[key].as_str()),
            ("1", "1")
        );
        let spec = one.spec.as_ref().unwrap();
        assert_eq!(spec.hostname.as_deref(), Some("ix-1"));
        assert_eq!(
            spec.containers[0].env.as_ref().unwrap()[0].name,
            "JOB_COMPLETION_INDEX"
        );
        assert!(one.name_any().starts_with("ix-1-"));
        cluster.set_pod_status(one, "Succeeded", false).await;
        let part = cluster
            .wait_until_object::<Job>("ix", "index 1", |j| status(j).succeeded == Some(1))
            .await;
        assert_eq!(status(&part).completed_indexes.as_deref(), Some("1"));
        let next = cluster.pods(&format!("{key}=2"), 1).await;
        cluster.set_pod_status(&next[0], "Failed", false).await;
        let again = cluster.pods(&format!("{key}=2"), 1).await;
        assert_ne!(again[0].name_any(), next[0].name_any());
        loop {
            let running = cluster.all_pods("job-name=ix").await;
            for pod in running
                .iter()
                .filter(|p| kueue_lab_controller_utils::pods::is_active(p))
            {
                cluster.set_pod_status(pod, "Succeeded", false).await;
            }
            let job = cluster.api::<Job>().get("ix").await.unwrap();
            if has(&job, "Complete") {
                assert_eq!(status(&job).completed_indexes.as_deref(), Some("0-3"));
                assert_eq!(
                    (status(&job).succeeded, status(&job).failed),
                    (Some(4), Some(1))
                );
                break;
            }
            cluster.clock.sleep(std::time::Duration::from_secs(1)).await;
        }
    });
}

#[test]
fn a_pod_failure_policy_fails_the_job_or_ignores_the_failure() {
    with_cluster(|cluster| async move {
        let spec = json!({"backoffLimit": 0, "podFailurePolicy": {"rules": [
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            {"action": "FailJob", "onExitCodes": {"containerName": "c", "operator": "In", "values": [42]}},
        ]}});
        cluster.create_object::<Job>(job("policy", spec)).await;
        let first = cluster.pods("job-name=policy", 1).await.remove(0);
        let path = |pod: &str| format!("/api/v1/namespaces/test/pods/{pod}/status");
        cluster
            .patch(
                &path(&first.name_any()),
                json!({"status": {"phase": "Failed", "conditions": [
                {"type": "DisruptionTarget", "status": "True"}]}}),
            )
            .await;
        let second = cluster.pods("job-name=policy", 1).await.remove(0);
        cluster
            .patch(
                &path(&second.name_any()),
                json!({"status": {"phase": "Failed", "containerStatuses": [
                {"name": "c", "ready": false, "restartCount": 0, "image": "i", "imageID": "",
                 "state": {"terminated": {"exitCode": 42}}}]}}),
            )
            .await;
        let failed = cluster
            .wait_until_object::<Job>("policy", "failed", |j| has(j, "Failed"))
            .await;
        let why = status(&failed).conditions.unwrap()[0]
            .message
            .clone()
            .unwrap();
        let name = second.name_any();
        assert_eq!(
            why,
            format!(
                "Container c for pod test/{name} failed with exit code 42 matching FailJob rule at index 1"
            )
        );
        assert_eq!(status(&failed).failed, Some(1));
    });
}

#[test]
fn jobs_with_another_managed_by_are_unmanaged() {
    with_cluster(|cluster| async move {
        cluster
            .create_object::<Job>(job("other", json!({"managedBy": "example.com/me"})))
            .await;
        cluster.create_object::<Job>(job("mine", json!({}))).await;
        cluster.pods("job-name=mine", 1).await;
        cluster
            .clock
            .sleep(std::time::Duration::from_secs(10))
            .await;
        assert!(cluster.all_pods("job-name=other").await.is_empty());
        let other = cluster.api::<Job>().get("other").await.unwrap();
        assert_eq!(status(&other), JobStatus::default());
    });
}
