//! The tasks of a pipeline: dependencies and conditions.

use serde_json::Value;

use super::super::child_objects::{items, text_of};

/// A task of a pipeline.
pub(super) struct PipelineTask<'a> {
    /// Its definition.
    pub spec: &'a Value,
    /// Its name.
    pub name: &'a str,
    /// Whether it runs after all others.
    pub finally: bool,
}

/// The tasks of a pipeline, those of `finally` last.
pub(super) fn tasks(pipeline: &Value) -> Vec<PipelineTask<'_>> {
    let of = |field: &str, finally: bool| {
        items(&pipeline[field])
            .iter()
            .map(move |spec| PipelineTask {
                spec,
                name: spec["name"].as_str().unwrap_or_default(),
                finally,
            })
    };
    of("tasks", false).chain(of("finally", true)).collect()
}

impl PipelineTask<'_> {
    /// Whether the task runs after the task with that name: by `runAfter`, or by a reference to its
    /// results.
    pub(super) fn runs_after(&self, name: &str) -> bool {
        let after = items(&self.spec["runAfter"]);
        let results = format!("$(tasks.{name}.results.");
        after.iter().any(|other| other == name)
            || self.spec["params"].to_string().contains(&results)
            || self.spec["when"].to_string().contains(&results)
    }

    /// The reason that the task cannot be simulated.
    pub(super) fn unsupported(&self) -> Option<&'static str> {
        let reference = &self.spec["taskRef"];
        let version = reference["apiVersion"].as_str().unwrap_or_default();
        let kind = reference["kind"].as_str().unwrap_or("Task");
        if !self.spec["matrix"].is_null() {
            Some("matrix")
        } else if !reference["resolver"].is_null() || !reference["bundle"].is_null() {
            Some("taskRef.resolver")
        } else if !self.spec["pipelineRef"].is_null() || !self.spec["pipelineSpec"].is_null() {
            Some("a pipeline in a pipeline")
        } else if !version.is_empty() && !version.starts_with("tekton.dev/") || kind != "Task" {
            Some("a custom task")
        } else if items(&self.spec["when"])
            .iter()
            .any(|when| !when["cel"].is_null())
        {
            Some("when.cel")
        } else {
            None
        }
    }
}

/// Whether all `when` expressions are true, after substitution.
pub(super) fn is_selected(when: &Value) -> bool {
    items(when).iter().all(|expression| {
        let input = text_of(&expression["input"]);
        let found = items(&expression["values"])
            .iter()
            .any(|value| text_of(value) == input);
        found == (expression["operator"] == "in")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn order_and_conditions_of_tasks() {
        let pipeline = json!({
            "tasks": [
                {"name": "a"},
                {"name": "b", "runAfter": ["a"]},
                {"name": "c", "params": [{"name": "p", "value": "$(tasks.b.results.r)"}]},
                {"name": "d", "matrix": {}},
            ],
            "finally": [{"name": "e"}],
        });
        let all = tasks(&pipeline);
        assert_eq!(all.iter().filter(|t| t.finally).count(), 1);
        assert!(all[1].runs_after("a") && !all[1].runs_after("c"));
        assert!(all[2].runs_after("b") && !all[2].runs_after("a"));
        assert_eq!(all[3].unsupported(), Some("matrix"));
        assert_eq!(all[0].unsupported(), None);
        let when = |operator: &str| json!([{"input": "x", "operator": operator, "values": ["x"]}]);
        assert!(is_selected(&when("in")) && !is_selected(&when("notin")));
        assert!(is_selected(&Value::Null));
    }
}
