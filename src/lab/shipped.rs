//! The files embedded in the binary: presets, scenarios and SkyPilot tasks.
//!
//! A test compares these lists with the folders.

use kueue_lab_presets::BuiltInFile;

macro_rules! files {
    ($base:literal: $($path:literal),+ $(,)?) => {
        &[$(BuiltInFile {
            path: $path,
            text: include_str!(concat!("../../", $base, "/", $path)),
        }),+]
    };
}

/// The presets folder.
pub const PRESETS: &[BuiltInFile] = files![
    "presets":
    "rayjob-gang/kueue-resources.yaml",
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
    "team-cohort/10-shared.yaml",
    "team-cohort/20-team-a.yaml",
    "team-cohort/20-team-b.yaml",
    "team-cohort/samples/team-a-train.yaml",
    "team-cohort/samples/team-b-train.yaml",
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
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;
    use kueue_lab_api::config::FeatureGates;
    use kueue_lab_presets::{list, parse, read};
    use kueue_lab_skypilot::Task;

    fn root() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
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
        for (base, files) in [("presets", PRESETS), ("lab", LAB_FILES)] {
            let base = root().join(base);
            let mut found = Vec::new();
            walk(&base, &mut found);
            // The files for running the controller in a cluster are not embedded.
            let on_disk: BTreeSet<_> = found
                .iter()
                .map(|p| p.strip_prefix(&base).unwrap())
                .filter(|p| !p.starts_with("deploy"))
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
                "rayjob-gang",
                "skypilot",
                "skypilot-priority",
                "spot-and-on-demand",
                "team-cohort"
            ]
        );
        for name in names {
            let source = read(&folder, &name).unwrap();
            assert!(
                source.description.lines().count() > 3,
                "{name} teaches nothing"
            );
            assert!(!source.samples.is_empty(), "{name} has no samples");
            let parsed = parse(&source.files, &FeatureGates::default());
            let findings: Vec<_> = parsed.findings.iter().map(ToString::to_string).collect();
            assert_eq!(findings, Vec::<String>::new(), "{name}");
            for sample in source.samples.iter().filter(|s| s.is_task) {
                Task::parse(&sample.text).unwrap();
            }
        }
    }
}
