//! Checks the names in a scenario before its first step, against the objects of the cluster and the presets.

use std::path::Path;

use kube::api::ListParams;
use kueue_lab_api::v1beta2::API_VERSION;
use kueue_lab_lab::pool_nodes;
use kueue_lab_yaml::{Limits, Problem, parse_one};
use serde_json::Value;

use super::names::KnownNames;
use super::run::ScenarioRun;
use super::scenario::Scenario;

/// The kinds of objects that steps and expectations name.
const NAMED_KINDS: [(&str, &str); 7] = [
    (API_VERSION, "LocalQueue"),
    (API_VERSION, "ClusterQueue"),
    (API_VERSION, "Cohort"),
    (API_VERSION, "ResourceFlavor"),
    (API_VERSION, "WorkloadPriorityClass"),
    (API_VERSION, "AdmissionCheck"),
    ("v1", "Node"),
];

/// A name of a scenario that is not known, at its position in the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{problem}")]
pub struct UnknownNameError {
    /// The file.
    file: String,
    /// The name, and its position.
    problem: Problem,
}

impl ScenarioRun<'_> {
    /// Checks the names in a scenario. Those of a test are checked when it is loaded.
    ///
    /// # Errors
    /// The first unknown one.
    pub(super) async fn check_names(
        &mut self,
        scenario: &Scenario,
    ) -> Result<(), UnknownNameError> {
        let Some(presets) = self.environment.presets.as_ref() else {
            return Ok(());
        };
        let state = presets.state();
        let active = state.presets.iter();
        let active = active
            .clone()
            .find(|p| Some(&p.name) == state.active.as_ref());
        let (None, Some(active)) = (self.activity, active) else {
            return Ok(());
        };
        let mut objects = Vec::new();
        for (api_version, kind) in NAMED_KINDS {
            let api = self.api(&(api_version.to_owned(), kind.to_owned()), None);
            // Without the right to list them, or without Kueue, names are not known.
            let Ok(list) = api.list(&ListParams::default()).await else {
                return Ok(());
            };
            objects.extend(list.items.into_iter().filter_map(|object| {
                let mut object: Value = serde_json::to_value(object).ok()?;
                object["kind"] = kind.into();
                Some(object)
            }));
        }
        let machines = self.environment.machines.as_ref();
        let nodes = machines.map(|machines| pool_nodes(&machines.pools()));
        let folder = Path::new(&active.folder).parent();
        let others = folder.and_then(|folder| kueue_lab_presets::list(folder).ok());
        let known = state.presets.iter().map(|preset| preset.name.clone());
        let known = known.chain(others.unwrap_or_default());
        // Whether fair sharing is enabled is not known.
        let names = KnownNames::of(objects.iter(), &nodes.unwrap_or_default(), true);
        let names = names.with_presets(known, active.samples.clone());
        let Some(unknown) = names.check(scenario) else {
            return Ok(());
        };
        let text = kueue_lab_host::read_to_string(&scenario.file, kueue_lab_host::FILE_LIMIT)
            .unwrap_or_default();
        let problem = match parse_one(&text, Limits::default()) {
            Ok(document) => unknown.problem(&document),
            Err(_) => unknown.at_its_start(),
        };
        let file = scenario.file.clone();
        Err(UnknownNameError { file, problem })
    }
}
