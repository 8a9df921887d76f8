//! The configuration of the controller manager, as its container reads it.

use super::CONFIG_MAP;
use kueue_lab_api::config::{CONFIG_MAP_KEY, load, resolve_gates};
use kueue_lab_api::load::Problem;
use kueue_lab_controller::ControllerConfig;

/// A configuration that can be run, and its warnings.
pub(super) struct ManagerConfig {
    /// The configuration.
    pub(super) config: ControllerConfig,
    /// One line for each warning.
    pub(super) warnings: Vec<String>,
}

/// Loads the configuration with the arguments of the container.
///
/// # Errors
/// One line for each problem.
pub(super) fn load_manager_config(
    text: Option<&str>,
    arguments: &[String],
) -> Result<ManagerConfig, Vec<String>> {
    let Some(text) = text else {
        let message = format!("ConfigMap {CONFIG_MAP:?} has no key {CONFIG_MAP_KEY:?}");
        return Err(vec![message]);
    };
    let lines = |problems: &[Problem]| problems.iter().map(problem_line).collect::<Vec<_>>();
    let mut loaded = load(text).map_err(|problems| lines(&problems))?;
    if let Some(gates) = feature_gates(arguments) {
        loaded.gates = resolve_gates(Some(gates), &loaded.configuration)
            .map_err(|error| vec![format!("{}: {}", error.path.as_str(), error.message())])?;
    }
    let warnings = lines(&loaded.warnings);
    Ok(ManagerConfig {
        config: ControllerConfig::from(loaded),
        warnings,
    })
}

/// The value of the argument `--feature-gates`.
pub(super) fn feature_gates(arguments: &[String]) -> Option<&str> {
    arguments.iter().find_map(|argument| {
        argument
            .trim_start_matches('-')
            .strip_prefix("feature-gates=")
    })
}

/// A problem with its position in the file.
pub(super) fn problem_line(problem: &Problem) -> String {
    let field = match problem.path.as_str() {
        "" => String::new(),
        path => format!("{path}: "),
    };
    let remedy = problem.remedy.as_ref();
    let remedy = remedy.map_or(String::new(), |remedy| format!("; {remedy}"));
    let (line, column) = (problem.at.line, problem.at.column);
    format!(
        "{CONFIG_MAP_KEY}:{line}:{column}: {field}{}{remedy}",
        problem.message
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_api::config::Feature;

    const HEAD: &str = "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n";

    #[test]
    fn arguments_set_feature_gates() {
        let arguments = [
            "--config=/controller_manager_config.yaml".to_owned(),
            "--feature-gates=VisibilityOnDemand=false".to_owned(),
        ];
        let loaded = load_manager_config(Some(HEAD), &arguments).ok().unwrap();
        assert!(!loaded.config.gates.enabled(Feature::VisibilityOnDemand));
    }

    #[test]
    fn a_duplicate_framework_is_a_warning_and_an_unknown_field_an_error() {
        let twice = format!("{HEAD}integrations:\n  frameworks: [pod, pod]\n");
        let loaded = load_manager_config(Some(&twice), &[]).ok().unwrap();
        assert_eq!(loaded.config.configuration.frameworks(), ["pod"]);
        assert_eq!(
            loaded.warnings,
            [
                "controller_manager_config.yaml:4:21: integrations.frameworks[1]: \"pod\" is a \
              duplicate; Kueue fails to start with a duplicate framework"
            ]
        );
        let wrong = format!("{HEAD}integration: {{}}\n");
        let errors = load_manager_config(Some(&wrong), &[]).err().unwrap();
        assert!(errors[0].starts_with("controller_manager_config.yaml:3:1: integration"));
        assert!(load_manager_config(None, &[]).is_err());
    }
}
