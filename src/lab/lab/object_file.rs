//! The objects of a new cluster: the file of `up --from`, or an imported cluster.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use crate::kueue_manager::BASE_CONFIGURATION_ANNOTATION;
use kueue_lab_api::config::{
    CONFIG_MAP_KEY, DEFAULT_NAMESPACE, LoadedConfiguration, load as load_configuration,
};
use kueue_lab_cluster::{LoadObjectError, UnknownFields};
use kueue_lab_yaml::{Limits, Node, Position, documents, source_snippet, utf8};

/// Limits of the file: 512 MiB.
const LIMITS: Limits = Limits {
    bytes: 512 << 20,
    nodes: 50_000_000,
    depth: 100,
};

/// The ConfigMap of Kueue's configuration.
const CONFIG_MAP: &str = "kueue-manager-config";
/// The kind of the first document of a bundle that `kueue-lab import` wrote.
const BUNDLE: &str = "Bundle";
/// The last line of a bundle.
const BUNDLE_END: &str = "# end of the bundle";

/// A file whose objects cannot be used: the message has the file, the line and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ObjectFileError(String);

/// Objects with their positions in a file.
#[derive(Clone, Debug)]
pub struct ObjectFile {
    path: PathBuf,
    text: String,
    objects: Vec<Value>,
    positions: Vec<Position>,
    /// The time of the cluster when it was imported; `None` for an export.
    imported_at: Option<Timestamp>,
}

impl ObjectFile {
    /// Reads a file with one object in each YAML document.
    ///
    /// # Errors
    /// The file cannot be read, is cut off, or has no objects.
    pub fn read(path: &Path) -> Result<Self, ObjectFileError> {
        let (file, invalid) = (path.display(), |message| Err(ObjectFileError(message)));
        let bytes = match kueue_lab_host::read_argument(path, LIMITS.bytes as u64) {
            Ok(bytes) => bytes,
            Err(error) => return invalid(format!("cannot read {file}: {error}")),
        };
        let parsed = utf8(&bytes).and_then(|text| Ok((text, documents(text, LIMITS)?)));
        let (text, documents) =
            parsed.map_err(|problem| ObjectFileError(format!("{file}:{problem}")))?;
        if documents.is_empty() {
            return invalid(format!(
                "{file} has no objects; write one with `kueue-lab export`"
            ));
        }
        let mut positions: Vec<Position> = documents.iter().map(|d| d.at).collect();
        let mut objects: Vec<Value> = documents.iter().map(Node::to_json).collect();
        let mut imported_at = None;
        if objects
            .first()
            .is_some_and(|object| object["kind"] == BUNDLE)
        {
            let (at, head) = (positions.remove(0), objects.remove(0));
            if let Some(count) = head["objects"].as_u64() {
                check_complete(text, objects.len(), count).map_err(|problem| {
                    ObjectFileError(format!("{file}:{at}: Bundle: {problem}"))
                })?;
            }
            let time = head["time"].as_str().and_then(|time| time.parse().ok());
            imported_at = Some(time.ok_or_else(|| {
                ObjectFileError(format!("{file}:{at}: Bundle: time is missing or no time such as 2026-01-02T15:04:05Z; import the cluster again"))
            })?);
        }
        Ok(Self {
            path: path.to_owned(),
            positions,
            objects,
            text: text.to_owned(),
            imported_at,
        })
    }

    /// The objects of a cluster that was imported at `time`; `name` is in messages in place of a file.
    pub fn of_import(name: &str, objects: Vec<Value>, time: Timestamp) -> Self {
        Self {
            path: name.into(),
            text: String::new(),
            objects,
            positions: Vec::new(),
            imported_at: Some(time),
        }
    }

    /// The time at which lab time starts: when the cluster was imported, and not before the last change.
    /// `None` for an export, which continues now.
    pub fn start(&self) -> Option<Timestamp> {
        let imported = self.imported_at?;
        Some(self.last_time().map_or(imported, |last| last.max(imported)))
    }

    /// Whether these are the objects of an imported cluster.
    pub fn is_import(&self) -> bool {
        self.imported_at.is_some()
    }

    /// Fields that the lab does not know are an error, except in an imported cluster.
    pub(crate) fn unknown_fields(&self) -> UnknownFields {
        match self.imported_at {
            Some(_) => UnknownFields::Warn,
            None => UnknownFields::Strict,
        }
    }

    /// Kueue's configuration in the ConfigMap; `None` if there is none.
    ///
    /// # Errors
    /// The lab cannot load it.
    pub fn configuration(&self) -> Result<Option<LoadedConfiguration>, ObjectFileError> {
        let Some(index) = self.config_map() else {
            return Ok(None);
        };
        let Some(text) = self.objects[index]["data"][CONFIG_MAP_KEY].as_str() else {
            return Ok(None);
        };
        load_configuration(text).map(Some).map_err(|problems| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let message = format!(
                "{CONFIG_MAP_KEY}: {}; the lab needs a configuration of the Kueue it implements",
                problems.join("; ")
            );
            self.error(&LoadObjectError { index, message })
        })
    }

    /// Kueue's configuration for presets without `kueue.yaml`, if the ConfigMap has that of a preset.
    pub(crate) fn base_configuration(&self) -> Option<LoadedConfiguration> {
        let config_map = &self.objects[self.config_map()?];
        let base = &config_map["metadata"]["annotations"][BASE_CONFIGURATION_ANNOTATION];
        load_configuration(base.as_str()?).ok()
    }

    /// The index of the ConfigMap of Kueue's configuration.
    fn config_map(&self) -> Option<usize> {
        self.objects.iter().position(|object| {
            let metadata = &object["metadata"];
            object["kind"] == "ConfigMap"
                && metadata["name"] == CONFIG_MAP
                && metadata["namespace"] == DEFAULT_NAMESPACE
        })
    }

    /// The latest time in the objects: lab time continues there.
    pub fn last_time(&self) -> Option<Timestamp> {
        self.objects.iter().filter_map(latest).max()
    }

    /// The objects.
    pub(crate) fn objects(&self) -> Vec<Value> {
        self.objects.clone()
    }

    /// An error with the file, the line and the object.
    pub(crate) fn error(&self, error: &LoadObjectError) -> ObjectFileError {
        ObjectFileError(self.message(error))
    }

    fn message(&self, error: &LoadObjectError) -> String {
        let file = self.path.display();
        let object = self.objects.get(error.index).map(name).unwrap_or_default();
        let Some(at) = self.positions.get(error.index).copied() else {
            return format!("{file}: {object}: {}", error.message);
        };
        let snippet = source_snippet(&self.text, at);
        format!("{file}:{at}: {object}: {}\n{snippet}", error.message)
    }
}

/// Checks that a bundle has the number of objects that its first document says, and its last line.
fn check_complete(text: &str, found: usize, count: u64) -> Result<(), String> {
    const REMEDY: &str = "import the cluster again, or copy the whole file";
    if u64::try_from(found) != Ok(count) {
        return Err(format!(
            "the file has {found} of {count} objects; {REMEDY} (after changes by hand, correct the number in `objects`)"
        ));
    }
    match text.trim_end().ends_with(BUNDLE_END) {
        true => Ok(()),
        false => Err(format!(
            "the file is cut off: its last line is not `{BUNDLE_END}`; {REMEDY}"
        )),
    }
}

/// Kind, namespace and name of an object.
fn name(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str);
    let kind = text("/kind").unwrap_or("object");
    let name = text("/metadata/name").unwrap_or_default();
    match (text("/metadata/namespace"), name) {
        // Not even the name is known, as in a file that was cut off.
        (_, "") => kind.to_owned(),
        (Some(namespace), name) => format!("{kind} {namespace}/{name}"),
        (None, name) => format!("{kind} {name}"),
    }
}

/// The latest of the fields that hold the time of a change.
fn latest(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Object(fields) => {
            let times = fields.iter().filter_map(|(field, value)| match value {
                Value::String(text) if is_past_time(field) => text.parse().ok(),
                value => latest(value),
            });
            times.max()
        }
        Value::Array(items) => items.iter().filter_map(latest).max(),
        _ => None,
    }
}

/// Whether a field holds the time of something that has happened.
fn is_past_time(field: &str) -> bool {
    matches!(
        field,
        "creationTimestamp"
            | "lastTransitionTime"
            | "lastTimestamp"
            | "startTime"
            | "startedAt"
            | "finishedAt"
            | "completionTime"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_their_lines_and_the_latest_time() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("o.yaml");
        let text = "# comment\n---\nkind: A\nmetadata: {name: a, creationTimestamp: \"2026-01-01T00:00:00Z\"}\n---\n---\nkind: B\nmetadata: {name: b, namespace: team}\nspec: {until: 2030-01-01T00:00:00Z}\nstatus: {conditions: [{lastTransitionTime: \"2026-01-02T00:00:00Z\"}]}\n";
        std::fs::write(&path, text).unwrap();
        let file = ObjectFile::read(&path).unwrap();
        assert_eq!(file.last_time(), "2026-01-02T00:00:00Z".parse().ok());
        let error = LoadObjectError {
            index: 1,
            message: "why".into(),
        };
        let message = file.message(&error);
        assert!(message.contains("o.yaml:7:1: B team/b: why\n"), "{message}");
        std::fs::write(&path, "a: [\n").unwrap();
        assert!(
            ObjectFile::read(&path)
                .unwrap_err()
                .to_string()
                .contains("o.yaml:")
        );
        std::fs::write(&path, "---\n").unwrap();
        assert!(
            ObjectFile::read(&path)
                .unwrap_err()
                .to_string()
                .contains("has no objects")
        );
    }

    #[test]
    fn a_bundle_that_is_cut_off_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("o.yaml");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            ObjectFile::read(&path)
        };
        let head = "kind: Bundle\ntime: 2026-01-02T00:00:00Z\n";
        let objects = "---\nkind: A\nmetadata: {name: a}\n---\nkind: B\nmetadata:\n  name: b\n";
        let whole = format!("---\n{head}objects: 2\n{objects}{BUNDLE_END}\n");
        assert_eq!(read(&whole).unwrap().objects().len(), 2);
        let cut = whole.find("---\nkind: B\n").unwrap();
        let error = read(&whole[..cut]).unwrap_err().to_string();
        assert!(
            error.contains("o.yaml:2:1: Bundle: the file has 1 of 2 objects"),
            "{error}"
        );
        let cut = whole.find("ame: b\n").unwrap();
        let error = read(&whole[..cut]).unwrap_err().to_string();
        assert!(error.contains("the file is cut off"), "{error}");
        // As of versions that did not write the number.
        assert!(read(&format!("{head}{objects}")).is_ok());
    }

    #[test]
    fn an_object_without_a_name_is_named_by_its_kind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("o.yaml");
        std::fs::write(&path, "kind: A\nmetadata: {name: a}\n---\nkind: Nod").unwrap();
        let message = ObjectFile::read(&path).unwrap().message(&LoadObjectError {
            index: 1,
            message: "apiVersion is missing".into(),
        });
        assert!(message.contains("o.yaml:4:1: Nod: apiVersion"), "{message}");
    }
}
