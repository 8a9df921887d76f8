//! Fields of a task that flags of `sky` override.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::parse::TaskError;
use kueue_lab_yaml::{Limits, Problem, from_node, parse_one};

/// The flags of `sky launch` and `sky jobs launch` that change a task.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TaskOverrides {
    /// `--num-nodes`
    pub num_nodes: Option<u32>,
    /// `--cpus`, such as `4` or `4+`
    pub cpus: Option<String>,
    /// `--memory` in GB, such as `16` or `16+`
    pub memory: Option<String>,
    /// `--gpus`, such as `H100:8`
    pub gpus: Option<String>,
    /// `--priority`: that of SkyPilot's own queue
    pub priority: Option<i32>,
    /// `--env`
    pub envs: BTreeMap<String, String>,
}

impl TaskOverrides {
    /// Replaces the fields in the text of a task; those of resources in all alternatives. The text is
    /// unchanged without overrides.
    ///
    /// # Errors
    /// The text is no YAML mapping.
    pub fn apply(&self, text: &str) -> Result<String, TaskError> {
        if *self == Self::default() {
            return Ok(text.to_owned());
        }
        let document = parse_one(text, Limits::default())?;
        let Value::Object(mut task) = from_node::<Value>(&document)? else {
            return Err(Problem::new(document.at, "a task is a mapping").into());
        };
        if let Some(nodes) = self.num_nodes {
            task.insert("num_nodes".to_owned(), json!(nodes));
        }
        for (name, value) in &self.envs {
            set(&mut task, "envs", name, json!(value));
        }
        let resources = [
            ("cpus", self.cpus.as_ref().map(|value| json!(value))),
            ("memory", self.memory.as_ref().map(|value| json!(value))),
            ("accelerators", self.gpus.as_ref().map(|value| json!(value))),
            ("priority", self.priority.map(|value| json!(value))),
        ];
        for (field, value) in resources {
            let Some(value) = value else { continue };
            set(&mut task, "resources", field, value);
            for list in ["any_of", "ordered"] {
                let resources = task.get_mut("resources");
                let alternatives = resources.and_then(|r| r.get_mut(list)?.as_array_mut());
                for alternative in alternatives.into_iter().flatten() {
                    if let Some(alternative) = alternative.as_object_mut() {
                        alternative.remove(field);
                    }
                }
            }
        }
        Ok(Value::Object(task).to_string())
    }
}

/// Sets an entry of the mapping in a field, which is created if it is absent.
fn set(task: &mut Map<String, Value>, field: &str, key: &str, value: Value) {
    match task.get_mut(field) {
        Some(Value::Object(mapping)) => {
            mapping.insert(key.to_owned(), value);
        }
        _ => {
            task.insert(field.to_owned(), json!({key: value}));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Task;

    const TASK: &str = "name: train
num_nodes: 1
envs: {A: '1', B: '2'}
resources:
  labels: {team: a}
  any_of:
  - {cpus: 2, accelerators: 'T4:1'}
  - {cpus: 4, accelerators: 'H100:1'}
run: sleep 5
";

    #[test]
    fn flags_replace_fields_in_all_alternatives() {
        let overrides = TaskOverrides {
            num_nodes: Some(3),
            cpus: Some("8+".to_owned()),
            memory: Some("32".to_owned()),
            gpus: Some("H100:8".to_owned()),
            priority: Some(10),
            envs: [("B".to_owned(), "3".to_owned())].into(),
        };
        let task = Task::parse(&overrides.apply(TASK).unwrap()).unwrap();
        assert_eq!((task.name.as_deref(), task.num_nodes), (Some("train"), 3));
        let envs = [("A", "1"), ("B", "3")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        assert_eq!(task.envs, envs.into());
        assert_eq!(task.resources.len(), 2);
        for resources in &task.resources {
            assert_eq!((resources.cpus, resources.priority), (Some(8.0), 10));
            let accelerator = resources.accelerator.as_ref().unwrap();
            assert!(format!("{accelerator:?}").contains("H100"));
            assert_eq!(resources.labels["team"], "a");
        }
    }

    #[test]
    fn a_task_without_overrides_keeps_its_text() {
        assert_eq!(TaskOverrides::default().apply(TASK).unwrap(), TASK);
    }

    #[test]
    fn invalid_values_are_those_of_a_file() {
        let overrides = TaskOverrides {
            cpus: Some("many".to_owned()),
            ..TaskOverrides::default()
        };
        assert!(Task::parse(&overrides.apply(TASK).unwrap()).is_err());
        assert!(overrides.apply("- a\n").is_err());
    }
}
