//! Loads a demo: a scenario in a file of its own.

use std::path::Path;
use std::time::Duration;

use kueue_lab_lab::FileSource;
use kueue_lab_yaml::{Limits, Problem, from_node, leading_comment, parse_one};

use super::load_scenario::{StepsOfFile, load_scenario};
use crate::raw::RawDemo;
use crate::scenario::{Scenario, ScenarioError};

/// The default timeout of a demo, in lab time.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The default of `pace`, in lab seconds per second.
const DEFAULT_PACE: f64 = 1.0;

impl Scenario {
    /// Loads a demo and every file that it references.
    ///
    /// # Errors
    /// The first problem in any of the files.
    pub fn load(files: &FileSource, path: &Path) -> Result<Self, ScenarioError> {
        let file = files.display(path);
        let text = files.read(path).map_err(ScenarioError::file)?;
        let in_file = |problem| ScenarioError::In {
            file: file.clone(),
            problem,
        };
        let node = parse_one(&text, Limits::default()).map_err(in_file)?;
        let raw: RawDemo = from_node(&node).map_err(in_file)?;
        let pace = match raw.pace {
            None => DEFAULT_PACE,
            Some(pace) if kueue_lab_clock::SPEED_RANGE.contains(&pace.value) => pace.value,
            Some(pace) => {
                let message = "pace is a number of lab seconds per second, from 0.01 to 10000";
                return Err(in_file(Problem::new(pace.at, message)));
            }
        };
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        let comment = leading_comment(&text);
        let first_line = || comment.lines().next().unwrap_or_default().to_owned();
        let scenario = Self {
            name: match raw.name {
                Some(name) => name,
                None => stem.unwrap_or_default().to_owned(),
            },
            summary: raw.summary.unwrap_or_else(first_line),
            preset: raw.preset,
            timeout: raw.limit.map_or(DEFAULT_TIMEOUT, |limit| limit.0),
            pace,
            steps: Vec::new(),
            file: file.clone(),
        };
        let steps = StepsOfFile {
            kind: "scenario",
            at: node.entry("steps").map_or(node.at, |entry| entry.at),
            raw: raw.steps,
            nodes: node.get("steps"),
            document: &node,
            names: None,
        };
        load_scenario(files, path, scenario, steps)
    }
}
