//! The process is killed within the first second after its start.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};

use crate::lab_process::{RunningLab, WorkDir, wait_for};
use crate::requests::{client, create, get, has_condition, job, send};

const UP: [&str; 6] = [
    "up",
    "--headless",
    "--preset",
    "skypilot-priority",
    "--data-dir",
    "data",
];
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const WORKLOADS: &str = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The number of kills within the first second.
fn early_kills() -> u32 {
    let count = std::env::var("KUEUE_LAB_EARLY_KILLS").ok();
    count.map_or(12, |count| count.parse().unwrap())
}

/// The acknowledged writes.
#[derive(Default)]
struct Written {
    maps: BTreeSet<String>,
    jobs: BTreeSet<String>,
    deleted_jobs: BTreeSet<String>,
}

impl Written {
    async fn create_map(&mut self, client: &Client) {
        let name = format!("m{}", self.maps.len());
        create(client, MAPS, &json!({"metadata": {"name": name}})).await;
        self.maps.insert(name);
    }

    async fn create_job(&mut self, client: &Client) -> String {
        let name = format!("j{}", self.jobs.len() + self.deleted_jobs.len());
        create(client, JOBS, &job(&name, 0)).await;
        self.jobs.insert(name.clone());
        name
    }

    /// Deletes the Jobs except one, so that each start has as many objects as the one before.
    async fn delete_other_jobs(&mut self, client: &Client, kept: &str) {
        while let Some(name) = self.jobs.iter().find(|name| *name != kept).cloned() {
            let path = format!("{JOBS}/{name}?propagationPolicy=Background");
            send(client, "DELETE", &path, &Value::Null).await.unwrap();
            self.jobs.remove(&name);
            self.deleted_jobs.insert(name);
        }
    }

    async fn check(&self, client: &Client) {
        let none = BTreeSet::new();
        let expected = [
            (MAPS, &self.maps, &none),
            (JOBS, &self.jobs, &self.deleted_jobs),
        ];
        for (path, written, deleted) in expected {
            let list = get(client, path).await;
            let items = list["items"].as_array().unwrap().iter();
            let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
            let found: BTreeSet<_> = items.map(name).collect();
            assert!(found.is_superset(written), "{found:?} {written:?}");
            assert!(found.is_disjoint(deleted), "{found:?} {deleted:?}");
        }
    }
}

/// Waits until the Workload of a Job is admitted.
async fn wait_for_admission(lab: &RunningLab, client: &Client, job: &str) {
    wait_for("the Job is admitted", || async {
        assert!(!lab.log().contains("the controller waits"), "{}", lab.log());
        let list = get(client, WORKLOADS).await;
        let of_job = |w: &&Value| w["metadata"]["ownerReferences"][0]["name"] == job;
        let workload = list["items"].as_array().unwrap().iter().find(of_job);
        workload.filter(|w| has_condition(w, "Admitted")).map(drop)
    })
    .await;
}

/// The Lease of a process that is killed before its Pod runs is recognized as that of an ended process, as are those
/// of later kills.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_after_an_early_kill_waits_for_no_lease() {
    let dir = WorkDir::new();
    let mut written = Written::default();
    for kill in 0..early_kills() {
        let lab = dir.start(&UP).await;
        let early = client(&lab).await;
        written.check(&early).await;
        let queued = written.create_job(&early).await;
        tokio::time::sleep(Duration::from_millis(u64::from(kill * 17 % 200))).await;
        written.create_map(&early).await;
        lab.kill();

        let lab = dir.start(&UP).await;
        let after = client(&lab).await;
        written.check(&after).await;
        wait_for_admission(&lab, &after, &queued).await;
        let new = written.create_job(&after).await;
        wait_for_admission(&lab, &after, &new).await;
        written.delete_other_jobs(&after, &new).await;
        lab.kill();
    }
}
