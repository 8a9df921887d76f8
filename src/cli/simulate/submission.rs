//! [`Submission`]: the objects or tasks of a file.

use std::path::Path;

use kueue_lab_skypilot::Task;
use kueue_lab_yaml::{Limits, Node, parse};
use serde_json::{Value, json};

use crate::cli::CliError;

/// The largest file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// What is submitted.
pub(super) enum Submission {
    /// Objects of any kind.
    Objects(Vec<Value>),
    /// SkyPilot tasks, the same one several times.
    Tasks(Vec<Task>),
}

impl Submission {
    /// The objects of a file, `count` times, in a namespace unless they have one.
    ///
    /// # Errors
    /// The file cannot be read, or it is neither objects nor a task.
    pub(super) fn read(path: &Path, count: usize, namespace: &str) -> Result<Self, CliError> {
        let file = path.display();
        let invalid = |message: &str| CliError::Usage(format!("{file}: {message}"));
        let unreadable = |e: std::io::Error| invalid(&format!("cannot be read: {e}"));
        let size = std::fs::metadata(path).map_err(unreadable)?.len();
        if size > MAX_FILE {
            return Err(invalid(&format!("is larger than {MAX_FILE} bytes")));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let documents = parse(&text, Limits::default())
            .map_err(|error| CliError::Usage(format!("{file}:{error}")))?;
        let documents: Vec<&Node> = documents.iter().filter(|d| !d.is_null()).collect();
        let Some(first) = documents.first() else {
            return Err(invalid("has no objects"));
        };
        if first.get("kind").is_none() && first.get("apiVersion").is_none() {
            let task =
                Task::parse(&text).map_err(|e| invalid(&format!("is no SkyPilot task: {e}")))?;
            return Ok(Self::Tasks(vec![task; count]));
        }
        let mut objects = Vec::new();
        for document in documents {
            let object = document.to_json();
            let at = document.at;
            let text = |field: &str| object[field].as_str().unwrap_or_default();
            if text("kind").is_empty() || text("apiVersion").is_empty() {
                let message = "an object needs apiVersion and kind";
                return Err(CliError::Usage(format!("{file}:{at}: {message}")));
            }
            if is_queue_configuration(text("apiVersion"), text("kind")) {
                let kind = text("kind");
                let message = format!(
                    "a {kind} is part of the queue configuration; `kueue-lab plan DIR` shows what a change of it does"
                );
                return Err(CliError::Usage(format!("{file}:{at}: {message}")));
            }
            let items = match object["items"].as_array() {
                Some(items) if text("kind").ends_with("List") => items.clone(),
                _ => vec![object],
            };
            objects.extend(items);
        }
        for object in &mut objects {
            if object["metadata"]["namespace"]
                .as_str()
                .is_none_or(str::is_empty)
            {
                object["metadata"]["namespace"] = json!(namespace);
            }
        }
        Ok(Self::Objects(repeated(&objects, count)))
    }
}

/// Whether a kind is one of Kueue's other than Workload.
fn is_queue_configuration(api_version: &str, kind: &str) -> bool {
    api_version.starts_with("kueue.x-k8s.io/") && kind != "Workload" && !kind.ends_with("List")
}

/// The objects `count` times, with a number in their names.
fn repeated(objects: &[Value], count: usize) -> Vec<Value> {
    if count == 1 {
        return objects.to_vec();
    }
    let copies = (1..=count).flat_map(|number| {
        objects.iter().map(move |object| {
            let mut object = object.clone();
            if let Some(name) = object["metadata"]["name"].as_str() {
                object["metadata"]["name"] = json!(format!("{name}-{number}"));
            }
            object
        })
    });
    copies.collect()
}
