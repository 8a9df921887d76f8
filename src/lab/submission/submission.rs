//! [`Submission`]: the objects or tasks of a file.

use std::path::Path;

use kueue_lab_api::constants::POD_GROUP_NAME_LABEL;
use kueue_lab_skypilot::Task;
use kueue_lab_yaml::{Limits, Node, Position, parse, source_snippet};
use serde_json::{Value, json};

use super::submission_error::SubmissionError;

/// The largest file, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// A file, for messages about it.
#[derive(Debug)]
pub struct SourceFile {
    name: String,
    text: String,
}

impl SourceFile {
    /// Reads a file, or stdin (`-`).
    ///
    /// # Errors
    /// It cannot be read, or is too large.
    fn read(path: &Path) -> Result<Self, SubmissionError> {
        let is_stdin = path == Path::new("-");
        let name = match is_stdin {
            true => "stdin".to_owned(),
            false => path.display().to_string(),
        };
        let read = match is_stdin {
            true => kueue_lab_host::read_stdin(MAX_FILE),
            false => kueue_lab_host::read_argument(path, MAX_FILE),
        };
        let unreadable = |e: &dyn std::fmt::Display| {
            SubmissionError::Invalid(format!("{name}: cannot be read: {e}"))
        };
        let bytes = read.map_err(|e| unreadable(&e))?;
        let text = String::from_utf8(bytes).map_err(|e| unreadable(&e.utf8_error()))?;
        Ok(Self { name, text })
    }

    /// An error in the file.
    pub fn error(&self, message: &str) -> SubmissionError {
        SubmissionError::Invalid(format!("{}: {message}", self.name))
    }

    /// A message with a position and its line.
    pub fn at(&self, at: Position, message: &str) -> String {
        let text = format!("{}:{at}: {message}", self.name);
        match source_snippet(&self.text, at) {
            snippet if snippet.is_empty() => text,
            snippet => format!("{text}\n{snippet}"),
        }
    }
}

/// An object of a file.
#[derive(Clone, Debug)]
pub struct SubmittedObject {
    /// The object.
    pub value: Value,
    /// Its position in the file.
    pub node: Node,
}

/// The submitted object or task.
pub enum Submitted {
    /// Objects of any kind.
    Objects(Vec<SubmittedObject>),
    /// SkyPilot tasks, the same one several times.
    Tasks(Vec<Task>),
}

/// The content of a file.
pub struct Submission {
    /// The file.
    pub file: SourceFile,
    /// What it has.
    pub submitted: Submitted,
    /// The namespace of objects and tasks without one.
    pub namespace: String,
}

impl Submission {
    /// Whether pods request devices.
    pub fn uses_devices(&self) -> bool {
        fn has_claims(value: &Value) -> bool {
            match value {
                Value::Object(fields) => fields
                    .iter()
                    .any(|(name, value)| name == "resourceClaims" || has_claims(value)),
                Value::Array(items) => items.iter().any(has_claims),
                _ => false,
            }
        }
        self.objects()
            .iter()
            .any(|object| has_claims(&object.value))
    }

    /// The objects; none of tasks.
    pub fn objects(&self) -> &[SubmittedObject] {
        match &self.submitted {
            Submitted::Objects(objects) => objects,
            Submitted::Tasks(_) => &[],
        }
    }

    /// The objects of a file or of stdin (`-`), `count` times, in a namespace unless they have one.
    ///
    /// # Errors
    /// The file cannot be read, or it is neither objects nor a task.
    pub fn read(path: &Path, count: usize, namespace: &str) -> Result<Self, SubmissionError> {
        let file = SourceFile::read(path)?;
        let documents = parse(&file.text, Limits::default())
            .map_err(|error| SubmissionError::Invalid(format!("{}:{error}", file.name)))?;
        let documents: Vec<&Node> = documents.iter().filter(|d| !d.is_null()).collect();
        let Some(first) = documents.first() else {
            return Err(file.error("has no objects"));
        };
        let submitted = if first.get("kind").is_none() && first.get("apiVersion").is_none() {
            let task = Task::parse(&file.text);
            let task = task.map_err(|e| file.error(&format!("is no SkyPilot task: {e}")))?;
            Submitted::Tasks(vec![task; count])
        } else {
            let mut objects = Vec::new();
            for document in documents {
                read_object(document, &file, namespace, &mut objects)?;
            }
            Submitted::Objects(repeated(&objects, count))
        };
        Ok(Self {
            submitted,
            namespace: namespace.to_owned(),
            file,
        })
    }
}

/// Adds an object, or the items of a list.
fn read_object(
    node: &Node,
    file: &SourceFile,
    namespace: &str,
    objects: &mut Vec<SubmittedObject>,
) -> Result<(), SubmissionError> {
    let text = |field: &str| node.get(field).and_then(Node::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let error = |field: &str, message: &str| {
        let at = node.locate(field);
        Err(SubmissionError::Invalid(file.at(at, message)))
    };
    if kind.is_empty() || api_version.is_empty() {
        return error("", "an object needs apiVersion and kind");
    }
    if let Some(items) = node.get("items").filter(|_| kind.ends_with("List")) {
        let mut items = items.items().iter();
        return items.try_for_each(|item| read_object(item, file, namespace, objects));
    }
    if is_queue_configuration(api_version, kind) {
        let message = format!(
            "a {kind} is part of the queue configuration; `kueue-lab plan DIR` shows what a change of it does"
        );
        return error("kind", &message);
    }
    let mut value = node.to_json();
    let own = value["metadata"]["namespace"].as_str();
    if own.is_none_or(str::is_empty) {
        value["metadata"]["namespace"] = json!(namespace);
    }
    objects.push(SubmittedObject {
        value,
        node: node.clone(),
    });
    Ok(())
}

/// Whether a kind is one of Kueue's other than Workload.
fn is_queue_configuration(api_version: &str, kind: &str) -> bool {
    api_version.starts_with("kueue.x-k8s.io/") && kind != "Workload"
}

/// The objects `count` times, with a number in their names and in those of pod groups.
fn repeated(objects: &[SubmittedObject], count: usize) -> Vec<SubmittedObject> {
    if count == 1 {
        return objects.to_vec();
    }
    let copies = (1..=count).flat_map(|number| {
        objects.iter().map(move |object| {
            let mut object = object.clone();
            let metadata = &mut object.value["metadata"];
            let group = format!("/labels/{}", POD_GROUP_NAME_LABEL.replace('/', "~1"));
            for path in ["/name", &group] {
                if let Some(name) = metadata.pointer_mut(path)
                    && let Some(text) = name.as_str()
                {
                    *name = json!(format!("{text}-{number}"));
                }
            }
            object
        })
    });
    copies.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_pods_are_in_groups_of_their_own() {
        let value = json!({"metadata": {"name": "a", "labels": {POD_GROUP_NAME_LABEL: "g"}}});
        let node = Node::new(Position::START, kueue_lab_yaml::Kind::Null);
        let copies = repeated(&[SubmittedObject { value, node }], 2);
        let names = copies.iter().map(|copy| {
            let metadata = &copy.value["metadata"];
            (
                metadata["name"].as_str(),
                metadata["labels"][POD_GROUP_NAME_LABEL].as_str(),
            )
        });
        let names: Vec<_> = names.collect();
        assert_eq!(
            names,
            [(Some("a-1"), Some("g-1")), (Some("a-2"), Some("g-2"))]
        );
    }
}
