//! The files embedded in the binary: presets, scenarios and SkyPilot tasks.
//!
//! A test compares these lists with the folders.

use kueue_lab_presets::BuiltInFile;

macro_rules! files {
    ($base:literal: $($path:literal),+ $(,)?) => {
        &[$(BuiltInFile {
            path: $path,
            text: include_str!(concat!("../../../", $base, "/", $path)),
        }),+]
    };
}

/// The presets folder.
pub const PRESETS: &[BuiltInFile] = files![
    "presets":
    "admission-check/nodes.yaml",
    "admission-check/queues.yaml",
    "admission-check/samples/approved.yaml",
    "admission-check/samples/rejected.yaml",
    "admission-fair-sharing/kueue.yaml",
    "admission-fair-sharing/nodes.yaml",
    "admission-fair-sharing/queues.yaml",
    "admission-fair-sharing/samples/busy.yaml",
    "admission-fair-sharing/samples/rare.yaml",
    "borrow-within-cohort/nodes.yaml",
    "borrow-within-cohort/queues.yaml",
    "borrow-within-cohort/samples/batch.yaml",
    "borrow-within-cohort/samples/production.yaml",
    "borrow-within-cohort/samples/urgent.yaml",
    "borrowing-limits/nodes.yaml",
    "borrowing-limits/queues.yaml",
    "borrowing-limits/samples/borrower.yaml",
    "borrowing-limits/samples/lender.yaml",
    "concurrent-admission/kueue.yaml",
    "concurrent-admission/nodes.yaml",
    "concurrent-admission/queues.yaml",
    "concurrent-admission/samples/first.yaml",
    "concurrent-admission/samples/second.yaml",
    "dynamic-resource-allocation/kueue.yaml",
    "dynamic-resource-allocation/nodes.yaml",
    "dynamic-resource-allocation/queues.yaml",
    "dynamic-resource-allocation/samples/one-gpu.yaml",
    "dynamic-resource-allocation/samples/two-gpus.yaml",
    "elastic-jobs/nodes.yaml",
    "elastic-jobs/queues.yaml",
    "elastic-jobs/samples/elastic.yaml",
    "fair-sharing/kueue.yaml",
    "fair-sharing/nodes.yaml",
    "fair-sharing/queues.yaml",
    "fair-sharing/samples/heavy.yaml",
    "fair-sharing/samples/light.yaml",
    "flavor-fungibility/nodes.yaml",
    "flavor-fungibility/queues.yaml",
    "flavor-fungibility/samples/next-flavor-high.yaml",
    "flavor-fungibility/samples/next-flavor-low.yaml",
    "flavor-fungibility/samples/preempt-high.yaml",
    "flavor-fungibility/samples/preempt-low.yaml",
    "hierarchical-cohorts/nodes.yaml",
    "hierarchical-cohorts/queues.yaml",
    "hierarchical-cohorts/samples/shop.yaml",
    "hierarchical-cohorts/samples/speech.yaml",
    "hierarchical-cohorts/samples/vision.yaml",
    "maximum-execution-time/nodes.yaml",
    "maximum-execution-time/queues.yaml",
    "maximum-execution-time/samples/in-time.yaml",
    "maximum-execution-time/samples/too-long.yaml",
    "multikueue/clusters.yaml",
    "multikueue/kueue-resources.yaml",
    "multikueue/samples/train.yaml",
    "partial-admission/nodes.yaml",
    "partial-admission/queues.yaml",
    "partial-admission/samples/complete.yaml",
    "partial-admission/samples/partial.yaml",
    "pod-groups/nodes.yaml",
    "pod-groups/queues.yaml",
    "pod-groups/samples/evaluation-last.yaml",
    "pod-groups/samples/evaluation.yaml",
    "pod-groups/samples/training.yaml",
    "provisioning-request/nodes.yaml",
    "provisioning-request/queues.yaml",
    "provisioning-request/samples/fits.yaml",
    "provisioning-request/samples/too-large.yaml",
    "queueing-strategy/nodes.yaml",
    "queueing-strategy/queues.yaml",
    "queueing-strategy/samples/best-effort-large.yaml",
    "queueing-strategy/samples/best-effort-running.yaml",
    "queueing-strategy/samples/best-effort-small.yaml",
    "queueing-strategy/samples/strict-large.yaml",
    "queueing-strategy/samples/strict-running.yaml",
    "queueing-strategy/samples/strict-small.yaml",
    "rayjob-gang/kueue-resources.yaml",
    "rayjob-gang/nodes.yaml",
    "rayjob-gang/samples/pytorch-text-classifier.yaml",
    "skypilot-priority/10-single-clusterqueue-setup.yaml",
    "skypilot-priority/20-priority-classes.yaml",
    "skypilot-priority/samples/batch.yaml",
    "skypilot-priority/samples/job1.task.yaml",
    "skypilot-priority/samples/job2.task.yaml",
    "skypilot/kueue-admission-check.yaml",
    "skypilot/kueue-resource-flavor.yaml",
    "skypilot/kueue.yaml",
    "skypilot/samples/train.yaml",
    "spot-and-on-demand/10-flavors.yaml",
    "spot-and-on-demand/20-queues.yaml",
    "spot-and-on-demand/samples/sample-job.yaml",
    "starvation/nodes.yaml",
    "starvation/queues.yaml",
    "starvation/samples/large.yaml",
    "starvation/samples/small.yaml",
    "stop-policy/nodes.yaml",
    "stop-policy/queues.yaml",
    "stop-policy/samples/first.yaml",
    "stop-policy/samples/second.yaml",
    "team-cohort/10-shared.yaml",
    "team-cohort/20-team-a.yaml",
    "team-cohort/20-team-b.yaml",
    "team-cohort/samples/team-a-train.yaml",
    "team-cohort/samples/team-b-train.yaml",
    "topology-aware/nodes.yaml",
    "topology-aware/queues.yaml",
    "topology-aware/samples/preferred.yaml",
    "topology-aware/samples/required.yaml",
    "topology-aware/samples/slices.yaml",
    "topology-aware/samples/too-large.yaml",
    "topology-node-failure/nodes.yaml",
    "topology-node-failure/queues.yaml",
    "topology-node-failure/samples/three-nodes.yaml",
    "topology-node-failure/samples/two-nodes.yaml",
    "wait-for-pods-ready/kueue.yaml",
    "wait-for-pods-ready/nodes.yaml",
    "wait-for-pods-ready/queues.yaml",
    "wait-for-pods-ready/samples/ready.yaml",
    "wait-for-pods-ready/samples/stuck.yaml",
];

/// The lab folder.
pub const LAB_FILES: &[BuiltInFile] = files![
    "lab":
    "nodes.yaml",
    "nodes-gke.yaml",
    "nodes-kind.yaml",
    "kind.yaml",
    "k3d.yaml",
    "tour/low.yaml",
    "tour/high.yaml",
    "skypilot/job1.task.yaml",
    "skypilot/job2.task.yaml",
    "scenarios/skypilot-priority-preemption.yaml",
    "scenarios/cohort-borrow-and-reclaim.yaml",
    "scenarios/admission-check.yaml",
    "scenarios/admission-fair-sharing.yaml",
    "scenarios/borrow-within-cohort.yaml",
    "scenarios/borrowing-limits.yaml",
    "scenarios/concurrent-admission.yaml",
    "scenarios/dynamic-resource-allocation.yaml",
    "scenarios/elastic-jobs.yaml",
    "scenarios/fair-sharing.yaml",
    "scenarios/flavor-fungibility.yaml",
    "scenarios/hierarchical-cohorts.yaml",
    "scenarios/maximum-execution-time.yaml",
    "scenarios/multikueue.yaml",
    "scenarios/partial-admission.yaml",
    "scenarios/pod-groups.yaml",
    "scenarios/provisioning-request.yaml",
    "scenarios/queueing-strategy.yaml",
    "scenarios/rayjob-gang.yaml",
    "scenarios/spot-and-on-demand.yaml",
    "scenarios/starvation.yaml",
    "scenarios/stop-policy.yaml",
    "scenarios/topology-aware.yaml",
    "scenarios/topology-node-failure.yaml",
    "scenarios/wait-for-pods-ready.yaml",
];

/// A folder for each warning about queue configurations: one that causes it, and a test file that shows the
/// effect.
pub const WARNING_SCENARIOS: &[BuiltInFile] = files![
    "lab/tests/warnings":
    "cohort-of-one/cohort-of-one.test.yaml",
    "cohort-of-one/queues.yaml",
    "equal-priorities/equal-priorities.test.yaml",
    "equal-priorities/queues.yaml",
    "flavor-without-nodes/flavor-without-nodes.test.yaml",
    "flavor-without-nodes/nodes.yaml",
    "flavor-without-nodes/queues.yaml",
    "old-api/old-api.test.yaml",
    "old-api/queues.yaml",
    "partial-admission-loop/partial-admission-loop.test.yaml",
    "partial-admission-loop/queues.yaml",
    "partial-admission-loop/samples/partial.yaml",
    "policy-without-victims/policy-without-victims.test.yaml",
    "policy-without-victims/queues.yaml",
    "preemption-loop/kueue.yaml",
    "preemption-loop/preemption-loop.test.yaml",
    "preemption-loop/queues.yaml",
    "queue-without-quota/queue-without-quota.test.yaml",
    "queue-without-quota/queues.yaml",
    "quota-above-capacity/nodes.yaml",
    "quota-above-capacity/queues.yaml",
    "quota-above-capacity/quota-above-capacity.test.yaml",
    "reclamation-loop/queues.yaml",
    "reclamation-loop/reclamation-loop.test.yaml",
    "starving-queue/queues.yaml",
    "starving-queue/starving-queue.test.yaml",
    "unreachable-lending-limit/queues.yaml",
    "unreachable-lending-limit/unreachable-lending-limit.test.yaml",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::lint_nodes::pool_nodes;
    use crate::preset_lab_settings::read_pools;
    use kueue_lab_controller::ControllerConfig;
    use kueue_lab_nodes::NodePools;
    use kueue_lab_presets::{BaseConfiguration, check_preset, list, read};
    use kueue_lab_skypilot::Task;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))
    }

    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => walk(&path, found),
                false => found.push(path),
            }
        }
    }

    #[test]
    fn embedded_files_match_the_folders() {
        for (base, files) in [
            ("presets", PRESETS),
            ("lab", LAB_FILES),
            ("lab/tests/warnings", WARNING_SCENARIOS),
        ] {
            let base = root().join(base);
            let mut found = Vec::new();
            walk(&base, &mut found);
            // The files for running the controller in a cluster, and test files, are not embedded.
            let on_disk: BTreeSet<_> = found
                .iter()
                .map(|p| p.strip_prefix(&base).unwrap())
                .filter(|p| !p.starts_with("deploy") && !p.starts_with("tests"))
                .collect();
            let inside: BTreeSet<_> = files.iter().map(|f| Path::new(f.path)).collect();
            assert_eq!(on_disk, inside);
        }
    }

    #[test]
    fn presets_are_complete_and_documented() {
        let folder = root().join("presets");
        let names = list(&folder).unwrap();
        assert_eq!(
            names,
            [
                "admission-check",
                "admission-fair-sharing",
                "borrow-within-cohort",
                "borrowing-limits",
                "concurrent-admission",
                "dynamic-resource-allocation",
                "elastic-jobs",
                "fair-sharing",
                "flavor-fungibility",
                "hierarchical-cohorts",
                "maximum-execution-time",
                "multikueue",
                "partial-admission",
                "pod-groups",
                "provisioning-request",
                "queueing-strategy",
                "rayjob-gang",
                "skypilot",
                "skypilot-priority",
                "spot-and-on-demand",
                "starvation",
                "stop-policy",
                "team-cohort",
                "topology-aware",
                "topology-node-failure",
                "wait-for-pods-ready",
            ]
        );
        let own = ControllerConfig::default();
        let base = BaseConfiguration {
            configuration: own.configuration,
            gates: own.gates,
        };
        for name in names {
            let source = read(&folder, &name).unwrap();
            assert!(
                source.description.lines().count() > 3,
                "{name} teaches nothing"
            );
            assert!(!source.samples.is_empty(), "{name} has no samples");
            let nodes = match &source.settings.nodes {
                Some(file) => read_pools(file).unwrap(),
                None => NodePools::built_in(),
            };
            let parsed = check_preset(&source, &base, None, &pool_nodes(&nodes));
            let findings: Vec<_> = parsed.findings.iter().map(ToString::to_string).collect();
            assert_eq!(findings, Vec::<String>::new(), "{name}");
            for sample in source.samples.iter().filter(|s| s.is_task) {
                Task::parse(&sample.text).unwrap();
            }
        }
    }
}
