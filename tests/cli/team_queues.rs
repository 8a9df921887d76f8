//! A lab with the ClusterQueues `red` and `blue` of one cohort, and Jobs in them.

use std::time::{Duration, Instant};

use k8s_openapi::api::batch::v1::Job;
use kube::api::{Api, ListParams, PostParams};
use kueue_lab_api::v1beta2::Workload;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::work_dir::{RunningLab, WorkDir};

/// The folder of the preset in the working directory.
pub(crate) const PRESETS: &str = "presets";

/// The preset: each ClusterQueue with a number of CPUs.
pub(crate) fn preset(red: u32, blue: u32) -> String {
    let mut text = "apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 100
"
    .to_owned();
    for (name, quota) in [("red", red), ("blue", blue)] {
        text += &format!(
            "---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  namespaceSelector: {{}}
  cohortName: all
  preemption: {{withinClusterQueue: LowerPriority, reclaimWithinCohort: Any}}
  resourceGroups:
  - coveredResources: [cpu, memory]
    flavors:
    - name: plain
      resources: [{{name: cpu, nominalQuota: {quota}}}, {{name: memory, nominalQuota: 64Gi}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: {name}, namespace: default}}
spec: {{clusterQueue: {name}}}
"
        );
    }
    text
}

/// A Job of one pod that runs for a number of seconds.
pub(crate) fn job(name: &str, queue: &str, cpu: &str, seconds: u32) -> Value {
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": "default", "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "c", "image": "busybox", "command": ["sleep", seconds.to_string()],
                "resources": {"requests": {"cpu": cpu}}}],
        }}},
    })
}

/// A running lab with the preset, at 20 times the speed.
pub(crate) struct TeamLab {
    pub(crate) dir: WorkDir,
    pub(crate) lab: RunningLab,
    runtime: Runtime,
}

impl TeamLab {
    /// Starts it.
    pub(crate) fn start(red: u32, blue: u32) -> Self {
        let dir = WorkDir::new();
        dir.write("presets/team/queues.yaml", &preset(red, blue));
        let up = [
            "up",
            "--headless",
            "--speed=20",
            "--presets-dir",
            PRESETS,
            "--preset=team",
        ];
        let lab = RunningLab::start(dir.command(&up));
        Self {
            dir,
            ..Self::with_lab(lab)
        }
    }

    /// A lab with a shipped preset.
    pub(crate) fn with_preset(name: &str) -> Self {
        let dir = WorkDir::new();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/presets");
        let preset = format!("--preset={name}");
        let up = [
            "up",
            "--headless",
            "--speed=20",
            "--presets-dir",
            folder,
            &preset,
        ];
        let lab = RunningLab::start(dir.command(&up));
        Self {
            dir,
            ..Self::with_lab(lab)
        }
    }

    /// Another lab, with a working directory of its own.
    pub(crate) fn with_lab(lab: RunningLab) -> Self {
        Self {
            dir: WorkDir::new(),
            lab,
            runtime: Runtime::new().unwrap(),
        }
    }

    /// The response to a request.
    fn send(&self, request: http::request::Builder, body: &Value) -> Value {
        let request = request.header("content-type", "application/json");
        let request = request.body(body.to_string().into_bytes()).unwrap();
        let send = async { self.lab.client().await.request(request).await.unwrap() };
        self.runtime.block_on(send)
    }

    /// The object of a path.
    pub(crate) fn get(&self, path: &str) -> Value {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let get = async { self.lab.client().await.request(request).await.unwrap() };
        self.runtime.block_on(get)
    }

    /// The object of a path for another user.
    pub(crate) fn get_as(&self, user: &str, path: &str) -> Result<Value, kube::Error> {
        let request = http::Request::get(path).header("Impersonate-User", user);
        let request = request.body(Vec::new()).unwrap();
        let get = async { self.lab.client().await.request(request).await };
        self.runtime.block_on(get)
    }

    /// Creates an object.
    pub(crate) fn post(&self, path: &str, object: &Value) -> Value {
        self.send(http::Request::post(path), object)
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, path: &str) {
        self.send(http::Request::delete(path), &json!({}));
    }

    /// Creates a Job.
    pub(crate) fn create(&self, job: Value) {
        let job: Job = serde_json::from_value(job).unwrap();
        let created = async {
            let jobs: Api<Job> = Api::default_namespaced(self.lab.client().await);
            jobs.create(&PostParams::default(), &job).await.unwrap();
        };
        self.runtime.block_on(created);
    }

    /// Waits until the Workload of a Job has a condition, and returns it.
    pub(crate) fn wait_for(&self, job: &str, condition: &str) -> Workload {
        self.wait_until(job, condition, "True")
    }

    /// Waits until the scheduler has decided on the Workload of a Job that does not fit.
    pub(crate) fn wait_for_refusal(&self, job: &str) {
        self.wait_until(job, "QuotaReserved", "False");
    }

    fn wait_until(&self, job: &str, condition: &str, status: &str) -> Workload {
        let start = Instant::now();
        self.runtime.block_on(async {
            let workloads: Api<Workload> = Api::default_namespaced(self.lab.client().await);
            loop {
                let all = workloads.list(&ListParams::default()).await.unwrap();
                let found = all.items.into_iter().find(|wl| {
                    let owners = wl.metadata.owner_references.iter().flatten();
                    let is_met = wl.condition(condition).is_some_and(|c| c.status == status);
                    is_met && owners.into_iter().any(|owner| owner.name == job)
                });
                if let Some(found) = found {
                    return found;
                }
                assert!(start.elapsed().as_secs() < 120, "{job} is not {condition}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
    }

    /// Waits until the object of a path is as wanted.
    pub(crate) fn wait_until_found(&self, path: &str, is_wanted: impl Fn(&Value) -> bool) {
        let start = Instant::now();
        self.runtime.block_on(async {
            loop {
                let request = http::Request::get(path).body(Vec::new()).unwrap();
                let object: Value = self.lab.client().await.request(request).await.unwrap();
                if is_wanted(&object) {
                    return;
                }
                assert!(start.elapsed().as_secs() < 120, "{object}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        })
    }

    /// Creates a Job and waits until it is admitted.
    pub(crate) fn admit(&self, job: Value) {
        let name = job["metadata"]["name"].as_str().unwrap().to_owned();
        self.create(job);
        self.wait_for(&name, "Admitted");
    }

    /// The Workloads as `kubectl get workloads -A -o json` prints them.
    pub(crate) fn workloads(&self) -> Value {
        self.runtime.block_on(async {
            let path = "/apis/kueue.x-k8s.io/v1beta2/workloads";
            let request = http::Request::get(path).body(Vec::new()).unwrap();
            let mut list: Value = self.lab.client().await.request(request).await.unwrap();
            for item in list["items"].as_array_mut().unwrap() {
                item["apiVersion"] = "kueue.x-k8s.io/v1beta2".into();
                item["kind"] = "Workload".into();
            }
            json!({"apiVersion": "v1", "kind": "List", "items": list["items"]})
        })
    }

    /// The standard output of a command that succeeds.
    pub(crate) fn output(&self, args: &[&str]) -> String {
        let output = self.dir.run(args);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The standard output of a command that succeeds, as soon as it contains a text.
    pub(crate) fn wait_for_output(&self, args: &[&str], text: &str) -> String {
        let start = Instant::now();
        loop {
            let output = self.output(args);
            if output.contains(text) {
                return output;
            }
            assert!(start.elapsed().as_secs() < 120, "no {text:?} in {output}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The standard output as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.output(args)).unwrap()
    }
}
