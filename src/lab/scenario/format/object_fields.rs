//! Finds unknown kinds and fields in the objects that steps apply or create, as far as their kinds are Kueue's.

use std::path::Path;

use crate::scenario::ScenarioError;
use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::load::object;
use kueue_lab_lab::FileSource;
use kueue_lab_yaml::{Limits, Node, Problem, documents};

/// Checks the objects of steps, which are inline or in files. Steps that the API must refuse are not checked.
///
/// # Errors
/// The first unknown kind or field.
pub(crate) fn check_objects(
    files: &FileSource,
    path: &Path,
    steps: &Node,
) -> Result<(), ScenarioError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let steps = steps.items().iter();
    for step in steps.filter(|step| step.get("refused").is_none()) {
        for objects in ["apply", "create"].iter().filter_map(|key| step.get(key)) {
            let Some(name) = objects.as_str() else {
                let list = match objects.items() {
                    [] => std::slice::from_ref(objects),
                    items => items,
                };
                check_all(&files.display(path), list)?;
                continue;
            };
            let path = folder.join(name);
            let Ok(text) = files.read(&path) else {
                continue;
            };
            let file = files.display(&path);
            let found = documents(&text, Limits::default());
            let found = found.map_err(|problem| ScenarioError::In {
                file: file.clone(),
                problem,
            })?;
            check_all(&file, &found)?;
        }
    }
    Ok(())
}

fn check_all(file: &str, objects: &[Node]) -> Result<(), ScenarioError> {
    let problem = objects.iter().find_map(|object| unknown(object.clone()));
    match problem {
        None => Ok(()),
        Some(problem) => Err(ScenarioError::In {
            file: file.to_owned(),
            problem,
        }),
    }
}

/// The first unknown kind or field of an object. Other errors depend on the objects of the cluster: an applied
/// object can be a part of one that exists.
fn unknown(node: Node) -> Option<Problem> {
    let problems = match object(node, &FeatureGates::default()) {
        Ok(loaded) => loaded.unknown_fields,
        Err(problems) => problems,
    };
    let mut problems = problems.into_iter();
    let found = problems.find(|problem| {
        problem.message == UNKNOWN_FIELD || matches!(problem.path.as_str(), "apiVersion" | "kind")
    })?;
    let remedy = found.remedy.map(|remedy| format!("; {remedy}"));
    let remedy = remedy.unwrap_or_default();
    let message = format!("{}: {}{remedy}", found.path, found.message);
    Some(Problem::new(found.at, message))
}

/// The message about an unknown field.
const UNKNOWN_FIELD: &str = "unknown field";
