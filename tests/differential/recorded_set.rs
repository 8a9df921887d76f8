//! [`RecordedSet`]: the folders of a set of recordings.

use std::path::PathBuf;

use kueue_lab_testing::recordings;
use serde_json::Value;

/// A set of scenarios and their outcomes with upstream Kueue.
pub(crate) struct RecordedSet {
    scenarios: PathBuf,
    outcomes: PathBuf,
    /// The folder to which names of configurations are relative.
    configurations: PathBuf,
}

impl RecordedSet {
    /// Both sets: those in `KUEUE_LAB_DIFFERENTIAL`, or else the packed ones.
    pub(crate) fn all() -> [Self; 2] {
        let set = |folder: PathBuf, number: &str, configurations: PathBuf| Self {
            scenarios: folder.join(format!("scenarios{number}")),
            outcomes: folder.join(format!("outcomes{number}")),
            configurations,
        };
        match std::env::var_os("KUEUE_LAB_DIFFERENTIAL").map(PathBuf::from) {
            Some(folder) => ["", "2"].map(|n| set(folder.clone(), n, folder.clone())),
            None => {
                let first = recordings("differential");
                let second = recordings("differential2");
                [
                    set(first.clone(), "", first.clone()),
                    set(second, "2", first),
                ]
            }
        }
    }

    /// The names of the scenarios that have an outcome, in order.
    pub(crate) fn names(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.scenarios).into_iter().flatten();
        let names = files.filter_map(|file| {
            let path = file.unwrap().path();
            let name = path.file_stem()?.to_str()?.to_owned();
            path.extension()
                .is_some_and(|e| e == "yaml")
                .then_some(name)
        });
        let mut names: Vec<String> = names
            .filter(|name| self.outcomes.join(format!("{name}.json")).is_file())
            .collect();
        names.sort();
        names
    }

    /// The inputs of a scenario.
    pub(crate) fn scenario(&self, name: &str) -> Value {
        let path = self.scenarios.join(format!("{name}.yaml"));
        serde_yaml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// Upstream's outcome of a scenario.
    pub(crate) fn outcome(&self, name: &str) -> Value {
        let path = self.outcomes.join(format!("{name}.json"));
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// The Configuration of Kueue in the recording of a scenario.
    pub(crate) fn configuration(&self, scenario: &Value) -> String {
        let config = &scenario["config"];
        let file = config["file"].as_str().unwrap_or("kueue-config.yaml");
        let mut text = std::fs::read_to_string(self.configurations.join(file)).unwrap();
        if config["fairSharing"] == true {
            text.push_str("\nfairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}\n");
        }
        text
    }
}
