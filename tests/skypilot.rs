//! Managed jobs on the embedded API, in virtual time, with a minimal kubelet and without Kueue: pending,
//! deleted, failed and finished Pods.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use kueue_lab_apiserver::ApiServer;
use kueue_lab_clock::Entropy;
use kueue_lab_clock::{Clock, virtual_runtime};
use kueue_lab_skypilot::jobs::{ManagedJob, ManagedJobStatus, ManagedJobs};
use kueue_lab_skypilot::{SkyEnv, Task};
use serde_json::json;

struct ManagedJobsFixture {
    client: Client,
    clock: Clock,
    jobs: ManagedJobs,
    started_at: Timestamp,
}

const NODE: &str = "node-0";

impl ManagedJobsFixture {
    async fn new() -> Self {
        let start_time: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
        let clock = Clock::starting_at(start_time);
        let entropy = Entropy::seeded(1);
        let server = ApiServer::builder(clock.clone(), entropy.clone()).build();
        let client = server.client();
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE},
            "status": {
                "capacity": {"cpu": "12", "memory": "64G", "pods": "110"},
                "allocatable": {"cpu": "12", "memory": "64G", "pods": "110"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        });
        let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(client.clone());
        nodes
            .create(
                &Default::default(),
                &serde_json::from_value(node.clone()).unwrap(),
            )
            .await
            .unwrap();
        nodes
            .patch_status(
                NODE,
                &PatchParams::default(),
                &Patch::Merge(json!({"status": node["status"]})),
            )
            .await
            .unwrap();
        let env = SkyEnv::new("lab");
        let jobs = ManagedJobs::new(client.clone(), clock.clone(), entropy, env);
        tokio::spawn(kubelet(client.clone(), clock.clone()));
        Self {
            client,
            clock,
            jobs,
            started_at: start_time,
        }
    }

    async fn pod_count(&self) -> usize {
        let pods = self.pods().list(&ListParams::default()).await;
        pods.unwrap().items.len()
    }

    fn pods(&self) -> Api<Pod> {
        Api::default_namespaced(self.client.clone())
    }

    async fn launch(&self, name: &str, task: &str) -> u64 {
        let task = Task::parse(task).unwrap();
        self.jobs.launch(task, Some(name)).await.unwrap()
    }

    async fn until(&self, id: u64, wanted: ManagedJobStatus) -> ManagedJob {
        let mut changes = self.jobs.changes();
        let reached = async {
            loop {
                let job = self.jobs.job(id).unwrap();
                if job.status == wanted {
                    return job;
                }
                changes.changed().await.unwrap();
            }
        };
        let limit = Duration::from_secs(3600);
        tokio::time::timeout(limit, reached)
            .await
            .unwrap_or_else(|_| panic!("not {wanted}: {:?}", self.jobs.job(id)))
    }

    /// The states of a job, with the second of each.
    fn status_history(&self, id: u64) -> Vec<(i64, ManagedJobStatus)> {
        let events = self.jobs.events();
        let own = events.iter().filter(|e| e.job == id);
        own.map(|e| (e.time.duration_since(self.started_at).as_secs(), e.status))
            .collect()
    }

    /// Evicts a plain Pod as Kueue does.
    async fn evict(&self, pod: &str) {
        let condition = json!({
            "type": "TerminationTarget", "status": "True",
            "reason": "WorkloadEvictedDueToPreempted", "message": "Preempted to accommodate a workload",
        });
        let patch = Patch::Strategic(json!({"status": {"conditions": [condition]}}));
        self.pods()
            .patch_status(pod, &PatchParams::default(), &patch)
            .await
            .unwrap();
        self.pods()
            .delete(pod, &DeleteParams::default())
            .await
            .unwrap();
    }
}

/// Binds and runs every ungated Pod; deletes terminating ones after 6 seconds.
async fn kubelet(client: Client, clock: Clock) {
    let pods: Api<Pod> = Api::default_namespaced(client);
    loop {
        clock.sleep(Duration::from_millis(500)).await;
        for pod in pods.list(&ListParams::default()).await.unwrap().items {
            let name = pod.name_any();
            let spec = pod.spec.as_ref().unwrap();
            if let Some(at) = &pod.metadata.deletion_timestamp {
                let asked = at.0
                    - jiff::SignedDuration::from_secs(
                        pod.metadata.deletion_grace_period_seconds.unwrap_or(0),
                    );
                if clock.now().duration_since(asked).as_secs() >= 6 {
                    let _ = pods
                        .delete(&name, &DeleteParams::default().grace_period(0))
                        .await;
                }
            } else if spec.node_name.is_none()
                && spec
                    .scheduling_gates
                    .as_deref()
                    .unwrap_or_default()
                    .is_empty()
            {
                let bind = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
                    "target": {"kind": "Node", "name": NODE}});
                pods.create_subresource::<_, serde_json::Value>(
                    "binding",
                    &name,
                    &Default::default(),
                    &bind,
                )
                .await
                .unwrap();
                let now = clock.time();
                let status = json!({"status": {
                    "phase": "Running", "podIP": "10.0.0.1", "startTime": now,
                    "containerStatuses": [{"name": "ray-node", "ready": true, "restartCount": 0, "image": "i",
                        "imageID": "", "state": {"running": {"startedAt": now}}}],
                }});
                pods.patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
                    .await
                    .unwrap();
            }
        }
    }
}

fn run_in_virtual_time<F: Future<Output = ()>>(test: impl FnOnce() -> F) {
    virtual_runtime().unwrap().block_on(test());
}

#[test]
fn a_finished_job_tears_down_its_cluster() {
    run_in_virtual_time(|| async {
        let fixture = ManagedJobsFixture::new().await;
        let id = fixture
            .launch("job1", "resources: {cpus: 6}\nrun: sleep 20\n")
            .await;
        fixture.until(id, ManagedJobStatus::Running).await;
        assert_eq!(fixture.pod_count().await, 1);
        let job = fixture.until(id, ManagedJobStatus::Succeeded).await;
        assert_eq!(job.cluster.as_deref(), Some("job1-1-5c1e7a9b"));
        fixture.clock.sleep(Duration::from_secs(2)).await;
        assert_eq!(fixture.pod_count().await, 0);
        let services: Api<Service> = Api::default_namespaced(fixture.client.clone());
        let left = services
            .list(&ListParams::default().labels("parent=skypilot"))
            .await
            .unwrap();
        assert_eq!(left.items.len(), 0);
        let table = fixture.jobs.queue_table(false);
        assert!(
            table.starts_with("No in-progress managed jobs.\nID  TASK  NAME  REQUESTED"),
            "{table}"
        );
        assert!(table.contains("job1  1x[CPU:6]"), "{table}");
    });
}

#[test]
fn a_preempted_job_is_relaunched_under_the_same_name() {
    run_in_virtual_time(|| async {
        let fixture = ManagedJobsFixture::new().await;
        let id = fixture
            .launch("job1", "resources: {cpus: 6}\nrun: sleep 60\n")
            .await;
        fixture.until(id, ManagedJobStatus::Running).await;
        let pod = "job1-1-5c1e7a9b-head";
        let before = fixture.pods().get(pod).await.unwrap().uid();
        fixture.evict(pod).await;
        let lost = fixture.clock.now();
        fixture.until(id, ManagedJobStatus::Recovering).await;
        let noticed = fixture.clock.now().duration_since(lost).as_secs();
        assert!(noticed <= 15, "noticed after {noticed} s");
        let job = fixture.until(id, ManagedJobStatus::Running).await;
        assert_eq!(job.recoveries, 1);
        assert_ne!(fixture.pods().get(pod).await.unwrap().uid(), before);
        fixture.until(id, ManagedJobStatus::Succeeded).await;
        let states: Vec<_> = fixture
            .status_history(id)
            .into_iter()
            .map(|(_, s)| s)
            .collect();
        use ManagedJobStatus::*;
        assert_eq!(
            states,
            [Pending, Starting, Running, Recovering, Running, Succeeded]
        );
    });
}

#[test]
fn a_pod_lost_before_the_job_ran_is_relaunched_after_backoff() {
    run_in_virtual_time(|| async {
        let fixture = ManagedJobsFixture::new().await;
        let gated = "resources: {cpus: 6}\nconfig: {kubernetes: {pod_config: {spec: {schedulingGates: [{name: kueue.x-k8s.io/admission}]}}}}\nrun: sleep 60\n";
        let id = fixture.launch("job1", gated).await;
        let pod = "job1-1-5c1e7a9b-head";
        fixture.clock.sleep(Duration::from_secs(100)).await;
        let job = fixture.jobs.job(id).unwrap();
        assert_eq!(job.status, ManagedJobStatus::Starting);
        assert_eq!(
            job.details.as_deref(),
            Some("Launching (waiting for queue admission)")
        );
        fixture.evict(pod).await;
        let lost = fixture.clock.now();
        fixture.until(id, ManagedJobStatus::Pending).await;
        assert_eq!(
            fixture.jobs.job(id).unwrap().details.as_deref(),
            Some("Job is in backoff")
        );
        fixture.until(id, ManagedJobStatus::Starting).await;
        let rested = fixture.clock.now().duration_since(lost).as_secs();
        assert!((36..=95).contains(&rested), "{rested}");
        fixture.clock.sleep(Duration::from_secs(3)).await;
        let ungate = Patch::Merge(json!({"spec": {"schedulingGates": null}}));
        fixture
            .pods()
            .patch(pod, &PatchParams::default(), &ungate)
            .await
            .unwrap();
        let job = fixture.until(id, ManagedJobStatus::Running).await;
        assert_eq!(job.recoveries, 0);
        assert!(job.details.is_none());
    });
}

#[test]
fn a_failed_command_ends_the_job_unless_it_can_restart() {
    run_in_virtual_time(|| async {
        let fixture = ManagedJobsFixture::new().await;
        let fails = fixture.launch("fails", "run: sleep 5; exit 3\n").await;
        let again =
            "resources: {job_recovery: {max_restarts_on_errors: 1}}\nrun: sleep 5; exit 3\n";
        let restarts = fixture.launch("restarts", again).await;
        let job = fixture.until(fails, ManagedJobStatus::Failed).await;
        let details = "Job exited with exit code 3 (user program failure). To see the details, run: sky jobs logs --controller 1";
        assert_eq!(job.details.as_deref(), Some(details));
        let job = fixture.until(restarts, ManagedJobStatus::Failed).await;
        assert_eq!(job.recoveries, 1);
        fixture.clock.sleep(Duration::from_secs(10)).await;
        assert_eq!(fixture.pod_count().await, 0);
    });
}

#[test]
fn a_cancelled_job_is_cleaned_up() {
    run_in_virtual_time(|| async {
        let fixture = ManagedJobsFixture::new().await;
        let id = fixture
            .launch("job1", "num_nodes: 2\nrun: sleep infinity\n")
            .await;
        fixture.until(id, ManagedJobStatus::Running).await;
        assert_eq!(fixture.pod_count().await, 2);
        assert!(fixture.jobs.cancel(id));
        assert!(!fixture.jobs.cancel(id));
        fixture.until(id, ManagedJobStatus::Cancelled).await;
        assert_eq!(fixture.pod_count().await, 0);
    });
}

#[test]
fn an_invalid_name_or_size_is_rejected() {
    run_in_virtual_time(|| async {
        let fixture = ManagedJobsFixture::new().await;
        let task = Task::parse("resources: {cpus: 64}").unwrap();
        let rejected = fixture
            .jobs
            .launch(task, Some("big"))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            rejected.starts_with("no node is large enough for 64 CPUs"),
            "{rejected}"
        );
        assert!(fixture.jobs.jobs().is_empty());
    });
}
