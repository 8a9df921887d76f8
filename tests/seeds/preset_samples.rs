//! The shipped presets: every sample is submitted and does what its comment and that of its preset say.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::path::Path;

use kueue_lab_presets::Sample;
use kueue_lab_skypilot::Task;
use kueue_lab_skypilot::jobs::ManagedJobStatus;
use serde_json::{Value, json};

use super::seed_lab::{SeedLab, on_a_lab_with_preset};
use super::workloads::{condition, flavors};

const PRESETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/presets");
const NODES: &str = include_str!("../../lab/nodes.yaml");
const NODES_GKE: &str = include_str!("../../lab/nodes-gke.yaml");
/// The presets with a test here; scenarios submit the samples of the others.
const TESTED: [&str; 5] = [
    "rayjob-gang",
    "skypilot",
    "skypilot-priority",
    "spot-and-on-demand",
    "team-cohort",
];

/// A lab with a shipped preset.
struct PresetLab {
    seed: SeedLab,
    samples: BTreeMap<String, Sample>,
    submitted: RefCell<BTreeSet<String>>,
}

/// Runs `walk` on a new lab with the preset; the names of the samples that it submitted.
fn on_the_preset<F: Future<Output = PresetLab>>(
    preset: &str,
    nodes: &str,
    walk: impl FnOnce(PresetLab) -> F,
) -> BTreeSet<String> {
    let source = kueue_lab_presets::read(Path::new(PRESETS), preset).unwrap();
    let samples = source.samples.into_iter();
    let samples = samples
        .map(|sample| (sample.name.clone(), sample))
        .collect();
    let mut submitted = BTreeSet::new();
    on_a_lab_with_preset(nodes, preset, |seed| async {
        let lab = walk(PresetLab {
            seed,
            samples,
            submitted: RefCell::default(),
        });
        submitted = lab.await.submitted.into_inner();
    });
    submitted
}

/// Fails unless all samples of a preset were submitted.
fn assert_all_submitted(preset: &str, submitted: &BTreeSet<String>) {
    let source = kueue_lab_presets::read(Path::new(PRESETS), preset).unwrap();
    let samples: BTreeSet<String> = source.samples.into_iter().map(|s| s.name).collect();
    assert_eq!(submitted, &samples, "{preset}");
}

impl PresetLab {
    fn text(&self, sample: &str) -> String {
        self.submitted.borrow_mut().insert(sample.to_owned());
        self.samples[sample].text.clone()
    }

    /// Submits a sample; the name of the object.
    async fn submit(&self, sample: &str) -> String {
        let created = self.seed.kubectl.create(&self.text(sample)).await.unwrap();
        let name = created.object["metadata"]["name"].as_str();
        name.unwrap().to_owned()
    }

    /// Submits a sample under another name, with a replacement of its text.
    async fn submit_changed(&self, sample: &str, name: &str, changes: &[(&str, &str)]) {
        let mut text = self.text(sample).replacen(
            &format!("  name: {sample}\n"),
            &format!("  name: {name}\n"),
            1,
        );
        for (from, to) in changes {
            assert!(text.contains(from), "{from} in {sample}");
            text = text.replace(from, to);
        }
        let created = self.seed.kubectl.create(&text).await.unwrap().object;
        assert_eq!(created["metadata"]["name"], name);
    }

    /// Submits a SkyPilot task.
    async fn launch(&self, sample: &str) -> u64 {
        let task = Task::parse(&self.text(sample)).unwrap();
        self.seed.lab.jobs().launch(task, None).await.unwrap()
    }

    /// Submits a SkyPilot task with another priority class.
    async fn launch_with_priority(&self, sample: &str, class: &str) -> u64 {
        let mut task = Task::parse(&self.text(sample)).unwrap();
        let key = "kueue.x-k8s.io/priority-class".to_owned();
        task.resources[0].labels.insert(key, class.to_owned());
        self.seed.lab.jobs().launch(task, None).await.unwrap()
    }

    async fn until_job_status(&self, id: u64, status: ManagedJobStatus) {
        let what = format!("job {id} is {status}");
        let jobs = self.seed.lab.jobs();
        self.seed
            .until(&what, async || {
                (jobs.job(id)?.status == status).then_some(())
            })
            .await;
    }

    /// Edits a ClusterQueue.
    async fn edit(&self, queue: &str, change: impl FnOnce(&mut Value)) {
        let path = format!("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{queue}");
        let mut object = self.seed.kubectl.get(&path).await.unwrap();
        change(&mut object["spec"]);
        let patch = json!({"spec": object["spec"]});
        self.seed.kubectl.patch(&path, patch).await.unwrap();
    }

    /// Waits until a Job has run for that long.
    async fn until_complete(&self, namespace: &str, job: &str, seconds: f64) {
        let path = format!("/apis/batch/v1/namespaces/{namespace}/jobs/{job}");
        self.seed.until_condition(&path, "Complete", "True").await;
        let status = &self.seed.kubectl.get(&path).await.unwrap()["status"];
        let time =
            |field: &str| -> jiff::Timestamp { status[field].as_str().unwrap().parse().unwrap() };
        let took = time("completionTime").duration_since(time("startTime"));
        let took = took.as_secs_f64();
        // Pods are scheduled and started first.
        assert!((seconds..seconds + 15.0).contains(&took), "{job}: {took} s");
    }
}

#[test]
fn every_preset_and_sample_is_described_and_tested() {
    let names = kueue_lab_presets::list(Path::new(PRESETS)).unwrap();
    for name in TESTED {
        assert!(names.iter().any(|n| n == name), "{name}");
    }
    for name in names {
        let source = kueue_lab_presets::read(Path::new(PRESETS), &name).unwrap();
        assert!(!source.description.is_empty(), "{name}");
        assert!(!source.samples.is_empty(), "{name}");
        for sample in source.samples {
            assert!(!sample.description.is_empty(), "{name}/{}", sample.name);
        }
    }
}

#[test]
fn skypilot_priority() {
    async fn preemption(lab: PresetLab) -> PresetLab {
        let low = lab.launch("job1").await;
        lab.until_job_status(low, ManagedJobStatus::Running).await;
        let high = lab.launch("job2").await;
        lab.until_job_status(high, ManagedJobStatus::Running).await;
        let preempted = lab.seed.now();
        lab.until_job_status(low, ManagedJobStatus::Recovering)
            .await;
        let detected = lab.seed.now().duration_since(preempted).as_secs();
        assert!(detected < 60, "{detected} s");
        lab.until_job_status(high, ManagedJobStatus::Succeeded)
            .await;
        lab.until_job_status(low, ManagedJobStatus::Running).await;
        let jobs = lab.seed.lab.jobs();
        let seconds = |id| {
            let job = jobs.job(id).unwrap();
            let ended = job.ended_at.unwrap();
            ended.duration_since(job.started_at.unwrap()).as_secs()
        };
        assert!((60..90).contains(&seconds(high)), "{}", seconds(high));
        lab.seed.sleep(540).await;
        assert_eq!(jobs.job(low).unwrap().status, ManagedJobStatus::Running);
        lab.until_job_status(low, ManagedJobStatus::Succeeded).await;
        lab
    }
    async fn equal_priorities(lab: PresetLab) -> PresetLab {
        let first = lab.launch("job1").await;
        lab.until_job_status(first, ManagedJobStatus::Running).await;
        let second = lab.launch_with_priority("job2", "low-priority").await;
        lab.seed.sleep(120).await;
        let jobs = lab.seed.lab.jobs();
        let status = |id| jobs.job(id).unwrap().status;
        assert_eq!(status(first), ManagedJobStatus::Running);
        assert_eq!(status(second), ManagedJobStatus::Starting);
        lab.edit("cluster-queue", |spec| {
            spec["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = json!(12);
        })
        .await;
        lab.until_job_status(second, ManagedJobStatus::Running)
            .await;
        assert_eq!(status(first), ManagedJobStatus::Running);
        lab
    }
    async fn without_preemption(lab: PresetLab) -> PresetLab {
        lab.edit("cluster-queue", |spec| {
            spec["preemption"]["withinClusterQueue"] = json!("Never");
        })
        .await;
        let low = lab.launch("job1").await;
        lab.until_job_status(low, ManagedJobStatus::Running).await;
        let high = lab.launch("job2").await;
        lab.seed.sleep(120).await;
        let jobs = lab.seed.lab.jobs();
        assert_eq!(jobs.job(low).unwrap().status, ManagedJobStatus::Running);
        assert_eq!(jobs.job(high).unwrap().status, ManagedJobStatus::Starting);
        lab
    }
    async fn batch(lab: PresetLab) -> PresetLab {
        lab.submit("batch").await;
        let workload = lab
            .seed
            .until_workload("default", "batch", "Admitted", "True")
            .await;
        let pods = &workload["status"]["admission"]["podSetAssignments"][0];
        assert_eq!(pods["count"], 3);
        assert_eq!(pods["resourceUsage"]["cpu"], "6");
        lab.until_complete("default", "batch", 30.0).await;
        // A resource that the queue does not cover.
        let change = [("memory: 1Gi", "memory: 1Gi, ephemeral-storage: 1Gi")];
        lab.submit_changed("batch", "uncovered", &change).await;
        let workload = lab
            .seed
            .until_workload("default", "uncovered", "QuotaReserved", "False")
            .await;
        let (_, message) = condition(&workload, "QuotaReserved").unwrap();
        let reason = "resource ephemeral-storage unavailable in ClusterQueue";
        assert!(message.contains(reason), "{message}");
        lab
    }
    let preset = "skypilot-priority";
    let mut submitted = on_the_preset(preset, NODES, preemption);
    submitted.extend(on_the_preset(preset, NODES, equal_priorities));
    submitted.extend(on_the_preset(preset, NODES, without_preemption));
    submitted.extend(on_the_preset(preset, NODES, batch));
    assert_all_submitted(preset, &submitted);
}

#[test]
fn skypilot() {
    const REQUESTS: &str = "/apis/autoscaling.x-k8s.io/v1/namespaces/skypilot/provisioningrequests";
    async fn walk(lab: PresetLab) -> PresetLab {
        lab.submit("train").await;
        let admitted = lab
            .seed
            .until_workload("skypilot", "train", "Admitted", "True")
            .await;
        assert_eq!(admitted["status"]["admissionChecks"][0]["state"], "Ready");
        let usage = &admitted["status"]["admission"]["podSetAssignments"][0]["resourceUsage"];
        assert_eq!(usage["nvidia.com/gpu"], "8");
        let requests = lab.seed.kubectl.table(REQUESTS, false).await;
        let headings = ["ACCEPTED", "PROVISIONED", "FAILED"];
        assert_eq!(requests.cells(0, headings), ["True", "True", ""]);
        lab.until_complete("skypilot", "train", 60.0).await;
        // More GPUs than the nodes have.
        let change = [("nvidia.com/gpu: \"4\"", "nvidia.com/gpu: \"9\"")];
        lab.submit_changed("train", "too-large", &change).await;
        lab.seed
            .until_workload("skypilot", "too-large", "QuotaReserved", "True")
            .await;
        lab.seed.sleep(1200).await;
        let workload = lab.seed.workload("skypilot", "too-large").await.unwrap();
        assert_eq!(condition(&workload, "QuotaReserved").unwrap().0, "True");
        assert_eq!(workload["status"]["admissionChecks"][0]["state"], "Pending");
        assert!(condition(&workload, "Admitted").is_none_or(|(status, _)| status == "False"));
        lab
    }
    let submitted = on_the_preset("skypilot", NODES, walk);
    assert_all_submitted("skypilot", &submitted);
}

#[test]
fn rayjob_gang() {
    const NAMESPACE: &str = "/apis/ray.io/v1/namespaces/default/rayjobs";
    async fn walk(lab: PresetLab) -> PresetLab {
        let seed = &lab.seed;
        let name = lab.submit("pytorch-text-classifier").await;
        let path = format!("{NAMESPACE}/{name}");
        let gpu_nodes = async || {
            let nodes = seed.kubectl.list("/api/v1/nodes").await;
            let name = |node: &Value| node["metadata"]["name"].as_str().unwrap().to_owned();
            let gpu = nodes.iter().map(name);
            gpu.filter(|name| name.starts_with("gpu-node-pool-"))
                .count()
        };
        let until_status = async |status: &str| {
            seed.until(&format!("{name} is {status}"), async || {
                let job = seed.kubectl.get(&path).await?;
                (job["status"]["jobDeploymentStatus"] == status).then_some(())
            })
            .await;
        };
        until_status("Suspended").await;
        seed.sleep(20).await;
        until_status("Suspended").await;
        assert_eq!(gpu_nodes().await, 0);
        let pods = "/api/v1/namespaces/default/pods";
        assert!(seed.kubectl.list(pods).await.is_empty());
        until_status("Running").await;
        assert_eq!(gpu_nodes().await, 1);
        let pods = seed.kubectl.list(pods).await;
        let of_type = |value: &str| {
            let typed = |pod: &&Value| pod["metadata"]["labels"]["ray.io/node-type"] == value;
            pods.iter().filter(typed).count()
        };
        assert_eq!((of_type("head"), of_type("worker")), (1, 1));
        until_status("Complete").await;
        let job = seed.kubectl.get(&path).await.unwrap();
        assert_eq!(job["status"]["jobStatus"], "SUCCEEDED");
        lab
    }
    let submitted = on_the_preset("rayjob-gang", NODES_GKE, walk);
    assert_all_submitted("rayjob-gang", &submitted);
}

#[test]
fn spot_and_on_demand() {
    async fn walk(lab: PresetLab) -> PresetLab {
        let seed = &lab.seed;
        for name in ["sample-job-1", "sample-job-2", "sample-job-3"] {
            lab.submit_changed("sample-job", name, &[]).await;
        }
        for (name, flavor, instance_type) in [
            ("sample-job-1", "ondemand", "on-demand"),
            ("sample-job-2", "spot", "spot"),
            ("sample-job-3", "spot", "spot"),
        ] {
            let workload = seed
                .until_workload("team-a", name, "Admitted", "True")
                .await;
            let expected = json!({"cpu": flavor, "memory": flavor, "pods": flavor});
            assert_eq!(flavors(&workload), &expected, "{name}");
            let job = format!("/apis/batch/v1/namespaces/team-a/jobs/{name}");
            let job = seed.kubectl.get(&job).await.unwrap();
            let selector = &job["spec"]["template"]["spec"]["nodeSelector"];
            assert_eq!(selector["instance-type"], instance_type, "{name}");
            lab.until_complete("team-a", name, 30.0).await;
        }
        lab
    }
    /// The errors of the comment.
    async fn errors(lab: PresetLab) -> PresetLab {
        let seed = &lab.seed;
        let flavor = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors/spot";
        let toleration = json!({"key": "spot-taint", "operator": "Exists", "effect": "NoSchedule"});
        let patch = json!({"spec": {"tolerations": [toleration]}});
        seed.kubectl.patch(flavor, patch).await.unwrap();
        lab.submit_changed("sample-job", "first", &[]).await;
        seed.until_workload("team-a", "first", "Admitted", "True")
            .await;
        lab.submit_changed("sample-job", "second", &[]).await;
        let pending = seed
            .until_workload("team-a", "second", "QuotaReserved", "False")
            .await;
        let (_, message) = condition(&pending, "QuotaReserved").unwrap();
        let reason = "untolerated taint {spot true NoSchedule <nil>} in flavor spot";
        assert!(message.contains(reason), "{message}");

        lab.edit("research-pool", |spec| {
            spec["resourceGroups"][0]["flavors"][0]["name"] = json!("on-demand");
        })
        .await;
        let queue = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/research-pool";
        seed.until_condition(queue, "Active", "False").await;
        let queue = seed.kubectl.get(queue).await.unwrap();
        let message = "Can't admit new workloads: references missing ResourceFlavor(s): on-demand.";
        assert_eq!(condition(&queue, "Active").unwrap().1, message);
        lab
    }
    let mut submitted = on_the_preset("spot-and-on-demand", NODES, walk);
    submitted.extend(on_the_preset("spot-and-on-demand", NODES, errors));
    assert_all_submitted("spot-and-on-demand", &submitted);
}

/// The GPUs that a ClusterQueue reserves, and those of them that it borrows.
async fn gpus(seed: &SeedLab, queue: &str) -> (String, String) {
    let path = format!("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{queue}");
    let queue = seed.kubectl.get(&path).await.unwrap();
    let resources = queue["status"]["flavorsReservation"][0]["resources"].as_array();
    let gpus = resources.unwrap().iter();
    let gpus = gpus.into_iter().find(|r| r["name"] == "nvidia.com/gpu");
    let text = |field: &str| {
        let value = gpus.unwrap()[field].as_str();
        value.unwrap_or("0").to_owned()
    };
    (text("total"), text("borrowed"))
}

/// Submits `count` Jobs of team-a one after the other: `team-a-train-1` and so on.
async fn submit_of_team_a(lab: &PresetLab, count: u32) {
    for i in 1..=count {
        let name = format!("team-a-train-{i}");
        lab.submit_changed("team-a-train", &name, &[]).await;
        lab.seed.sleep(2).await;
    }
}

fn limit(spec: &mut Value, field: &str, gpus: u32) {
    spec["resourceGroups"][0]["flavors"][0]["resources"][2][field] = json!(gpus.to_string());
}

#[test]
fn team_cohort() {
    async fn reclamation(lab: PresetLab) -> PresetLab {
        let seed = &lab.seed;
        submit_of_team_a(&lab, 3).await;
        assert_eq!(gpus(seed, "team-a").await, ("12".into(), "4".into()));
        lab.submit_changed("team-a-train", "team-a-train-4", &[])
            .await;
        seed.until_workload("team-a", "team-a-train-4", "Admitted", "True")
            .await;
        seed.sleep(2).await;
        assert_eq!(gpus(seed, "team-a").await, ("16".into(), "8".into()));
        // The latest admitted is preempted, and no more than needed.
        lab.submit("team-b-train").await;
        let preempted = seed
            .until_workload("team-a", "team-a-train-4", "Preempted", "True")
            .await;
        let (_, message) = condition(&preempted, "Preempted").unwrap();
        assert!(
            message.contains("reclamation within the cohort"),
            "{message}"
        );
        seed.until_workload("team-b", "team-b-train", "Admitted", "True")
            .await;
        seed.sleep(2).await;
        assert_eq!(gpus(seed, "team-a").await, ("12".into(), "4".into()));
        for i in 1..=3 {
            lab.until_complete("team-a", &format!("team-a-train-{i}"), 120.0)
                .await;
        }
        lab.until_complete("team-b", "team-b-train", 120.0).await;
        lab.until_complete("team-a", "team-a-train-4", 120.0).await;
        lab
    }
    async fn limits(lab: PresetLab) -> PresetLab {
        let seed = &lab.seed;
        lab.edit("team-b", |spec| limit(spec, "lendingLimit", 4))
            .await;
        submit_of_team_a(&lab, 4).await;
        assert_eq!(gpus(seed, "team-a").await, ("12".into(), "4".into()));
        lab.edit("team-a", |spec| limit(spec, "borrowingLimit", 4))
            .await;
        lab.edit("team-b", |spec| limit(spec, "lendingLimit", 8))
            .await;
        seed.sleep(10).await;
        assert_eq!(gpus(seed, "team-a").await, ("12".into(), "4".into()));
        lab.edit("team-a", |spec| limit(spec, "borrowingLimit", 8))
            .await;
        seed.until_workload("team-a", "team-a-train-4", "Admitted", "True")
            .await;
        lab
    }
    async fn without_reclamation(lab: PresetLab) -> PresetLab {
        let seed = &lab.seed;
        lab.edit("team-b", |spec| {
            spec["preemption"]["reclaimWithinCohort"] = json!("Never");
        })
        .await;
        submit_of_team_a(&lab, 4).await;
        lab.submit("team-b-train").await;
        seed.sleep(30).await;
        let waiting = seed.workload("team-b", "team-b-train").await.unwrap();
        assert_eq!(condition(&waiting, "QuotaReserved").unwrap().0, "False");
        assert_eq!(gpus(seed, "team-a").await, ("16".into(), "8".into()));
        lab
    }
    let mut submitted = on_the_preset("team-cohort", NODES, reclamation);
    submitted.extend(on_the_preset("team-cohort", NODES, limits));
    submitted.extend(on_the_preset("team-cohort", NODES, without_reclamation));
    assert_all_submitted("team-cohort", &submitted);
}
