//! Replays of generated traces: 8,152 pods over 149 days, and 100,000 jobs, through the queues of two teams
//! in a cohort. `cargo bench -p kueue-lab-simulation`.

use std::fmt::Write;

use divan::Bencher;
use kueue_lab_simulation::replay::{ReplayConfiguration, ReplayOptions, replay};
use kueue_lab_simulation::trace::{ReadOptions, Trace, read_trace};
use serde_json::json;

fn main() {
    divan::main();
}

/// A linear congruential generator: the same trace in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A trace in the columns of openb_pod_list. Durations have a long tail; a quarter of the pods is submitted
/// in bursts.
fn trace(jobs: u64, days: u64) -> Trace {
    let mut random = Random(jobs);
    let mut text = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n".to_owned();
    let gap = days * 86_400 / jobs;
    let mut now = 0;
    for job in 0..jobs {
        now += match random.below(4) {
            0 => 0,
            _ => random.below(gap * 8 / 3 + 1),
        };
        let gpus = [0, 1, 1, 1, 2, 4, 8][random.below(7) as usize];
        let cpus = 1_000 * (1 + random.below(16)) * (1 + gpus);
        let duration = 60 << random.below(11);
        let qos = ["LS", "BE"][random.below(2) as usize];
        let _ = writeln!(
            text,
            "pod-{job},{cpus},{},{gpus},1000,,{qos},Succeeded,{now},{},{now}",
            cpus * 4,
            now + duration + random.below(duration),
        );
    }
    read_trace("generated", &text, &ReadOptions::default()).unwrap_or_default()
}

/// Two teams that borrow from each other and reclaim.
fn configuration(gpus: u64) -> ReplayConfiguration {
    let mut objects =
        vec![json!({"kind": "ResourceFlavor", "metadata": {"name": "f"}, "spec": {}})];
    for team in ["LS", "BE"] {
        let quota = |name: &str, quota: String| json!({"name": name, "nominalQuota": quota});
        let resources = [
            quota("nvidia.com/gpu", gpus.to_string()),
            quota("cpu", (gpus * 40).to_string()),
            quota("memory", format!("{}Gi", gpus * 160)),
        ];
        objects.push(json!({"kind": "ClusterQueue", "metadata": {"name": team}, "spec": {
            "cohortName": "teams", "namespaceSelector": {}, "queueingStrategy": "BestEffortFIFO",
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "resourceGroups": [{
                "coveredResources": ["nvidia.com/gpu", "cpu", "memory"],
                "flavors": [{"name": "f", "resources": resources}],
            }],
        }}));
        objects.push(
            json!({"kind": "LocalQueue", "metadata": {"name": team, "namespace": "ns"},
            "spec": {"clusterQueue": team}}),
        );
    }
    ReplayConfiguration {
        name: "teams".to_owned(),
        objects,
        ..ReplayConfiguration::default()
    }
}

fn bench(bencher: Bencher<'_, '_>, jobs: u64, days: u64, gpus: u64) {
    let (trace, configuration) = (trace(jobs, days), configuration(gpus));
    let options = ReplayOptions::default();
    bencher.bench_local(|| {
        let outcome = replay(&trace, &configuration, &options);
        assert!(
            outcome.is_ok_and(|outcome| outcome.jobs as u64 == jobs && outcome.stopped.is_none())
        );
    });
}

/// About two thirds of the GPUs are used.
#[divan::bench(sample_count = 1)]
fn pods_8152_over_149_days(bencher: Bencher<'_, '_>) {
    bench(bencher, 8_152, 149, 20);
}

#[divan::bench(sample_count = 1)]
fn jobs_100_000_over_149_days(bencher: Bencher<'_, '_>) {
    bench(bencher, 100_000, 149, 240);
}

/// More than nine tenths of the GPUs are used, so that hundreds of jobs wait at times.
#[divan::bench(sample_count = 1)]
fn jobs_100_000_with_a_backlog(bencher: Bencher<'_, '_>) {
    bench(bencher, 100_000, 149, 170);
}
