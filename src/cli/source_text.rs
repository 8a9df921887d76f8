//! Messages about files with the source line and a caret.

use kueue_lab_presets::Finding;
use kueue_lab_scenario::ScenarioError;
use kueue_lab_yaml::source_snippet;

use super::CommandError;

/// Findings about files as the user names them, each with its source line.
pub(super) fn with_sources(findings: &[Finding]) -> String {
    let findings = findings.iter().map(|finding| {
        let text = kueue_lab_host::read_to_string(&finding.file, kueue_lab_host::FILE_LIMIT)
            .unwrap_or_default();
        finding.with_source(&text)
    });
    findings.collect::<Vec<_>>().join("\n")
}

/// The error of a scenario, with the source line.
pub(super) fn scenario_error(error: ScenarioError) -> CommandError {
    let snippet = match &error {
        ScenarioError::In { file, problem } => {
            let text = kueue_lab_host::read_to_string(file, kueue_lab_host::FILE_LIMIT)
                .unwrap_or_default();
            source_snippet(&text, problem.at)
        }
        ScenarioError::File(_) => String::new(),
    };
    CommandError::usage(match snippet.is_empty() {
        true => error.to_string(),
        false => format!("{error}\n{snippet}"),
    })
}
