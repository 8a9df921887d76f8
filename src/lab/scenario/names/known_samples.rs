//! [`KnownSamples`]: the samples of a preset, and which of them a case submits.

use std::collections::{BTreeMap, BTreeSet};

use kueue_lab_presets::Sample;
use kueue_lab_yaml::{Limits, parse};

use super::unknown_name::UnknownName;
use crate::delete_step::delete_step;
use crate::expect::Expected;
use crate::scenario::{Step, StepAction};

/// The samples of a preset.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownSamples {
    names: BTreeSet<String>,
    /// The kinds of the samples that are no SkyPilot tasks, by name.
    kinds: BTreeMap<String, String>,
    /// The kinds of submitted objects, by the names that steps give them.
    submitted: BTreeMap<String, String>,
}

impl KnownSamples {
    pub(super) fn of(samples: Vec<Sample>) -> Self {
        let objects = samples.iter().filter(|sample| !sample.is_task);
        Self {
            kinds: objects.map(|s| (s.name.clone(), kind_of(s))).collect(),
            names: samples.into_iter().map(|sample| sample.name).collect(),
            submitted: BTreeMap::new(),
        }
    }

    pub(super) fn names(&self) -> &BTreeSet<String> {
        &self.names
    }

    /// Records the sample that an action submits.
    pub(super) fn submit(&mut self, action: &StepAction) {
        if let StepAction::Sample { sample, name } = action
            && let Some(kind) = self.kinds.get(sample)
        {
            self.submitted.insert(name.clone(), kind.clone());
        }
    }

    /// A name in a step that must be that of a managed job and is that of another sample.
    pub(super) fn check(&self, step: &Step) -> Option<UnknownName> {
        if let StepAction::Cancel(name) = &step.action {
            let kind = self.submitted.get(name)?;
            let message = format!(
                "{name} is a {kind} and no managed job; use {}",
                delete_step(kind, name)
            );
            return Some(UnknownName::new(step.at, name, message));
        }
        step.expect.iter().find_map(|expectation| {
            let Expected::Job { name, .. } = &expectation.expected else {
                return None;
            };
            let kind = self.submitted.get(name)?;
            let message = format!(
                "{name} is a {kind} and no managed job; expect `admitted: {name}` or `object: {{kind: {kind}, name: {name}}}`"
            );
            Some(UnknownName::new(expectation.position, name, message))
        })
    }
}

/// The kind of the first object of a sample.
fn kind_of(sample: &Sample) -> String {
    let documents = parse(&sample.text, Limits::default()).unwrap_or_default();
    let mut kinds = documents.iter().filter_map(|d| d.get("kind")?.as_str());
    kinds.next().unwrap_or("Job").to_owned()
}
