//! Files to objects: every document checked for what any cluster would refuse, older versions of
//! Kueue's kinds brought to the current one.

use std::collections::BTreeMap;

use serde_json::Value;

use super::folder::SourceFile;
use super::{Finding, ObjectKey};
use crate::api::convert::convert;
use crate::api::v1beta2::{GROUP, VERSION};
use crate::yaml::{Kind, Limits, Node, Position, parse_bytes};

/// Most objects of one preset.
const MAX_OBJECTS: usize = 2000;

/// One object of a preset and where it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Which object. The namespace is what the file says; whether the kind has one is known only to
    /// the cluster.
    pub key: ObjectKey,
    /// API version it is applied in, such as `kueue.x-k8s.io/v1beta2`.
    pub api_version: String,
    /// The object.
    pub object: Value,
    /// The file, as the person would name it.
    pub file: String,
    /// The document it came from.
    pub node: Node,
}

/// Fields that are called otherwise in v1beta1, for finding a v1beta2 path in an older file.
const OLD_NAMES: [(&str, &str); 3] = [
    ("spec.cohortName", "spec.cohort"),
    ("spec.parentName", "spec.parent"),
    ("spec.admissionChecksStrategy", "spec.admissionChecks"),
];

impl Manifest {
    /// Where the value of a field path stands.
    pub fn locate(&self, path: &str) -> Position {
        self.node.locate(&self.written(path))
    }

    /// Where the key of a field path stands.
    pub fn locate_key(&self, path: &str) -> Position {
        self.node.locate_key(&self.written(path))
    }

    fn written(&self, path: &str) -> String {
        for (new, old) in OLD_NAMES {
            let is_old = |(parent, key): (&str, &str)| {
                self.node.get(parent).is_some_and(|p| p.get(key).is_some())
            };
            if let Some(rest) = path.strip_prefix(new)
                && old.split_once('.').is_some_and(is_old)
            {
                return format!("{old}{rest}");
            }
        }
        path.to_owned()
    }

    /// An error about a field of this object.
    pub(super) fn error(&self, path: &str, message: impl Into<String>) -> Finding {
        Finding::error(&self.file, self.locate(path), message).about(&self.key)
    }

    /// A warning about a field of this object.
    pub(super) fn warning(&self, path: &str, message: impl Into<String>) -> Finding {
        Finding::warning(&self.file, self.locate(path), message).about(&self.key)
    }
}

/// What the files of a preset hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// Objects in the order written.
    pub manifests: Vec<Manifest>,
    /// Errors and warnings. With an error, the preset cannot be applied.
    pub findings: Vec<Finding>,
}

impl Parsed {
    /// Whether something keeps the preset from being applied.
    pub fn is_broken(&self) -> bool {
        self.findings.iter().any(Finding::is_error)
    }
}

/// Reads all files of a preset. A file that is not YAML gives one finding; in the others every object
/// is looked at.
pub fn parse(files: &[SourceFile]) -> Parsed {
    let mut parsed = Parsed::default();
    let mut seen: BTreeMap<ObjectKey, (String, Position)> = BTreeMap::new();
    for file in files {
        match parse_bytes(&file.bytes, Limits::default()) {
            Err(problem) => parsed.findings.push(Finding::of(&file.name, problem)),
            Ok(documents) => {
                for document in documents.iter().filter(|d| !d.is_null()) {
                    document_objects(&file.name, document, &mut parsed);
                }
            }
        }
    }
    for manifest in &parsed.manifests {
        let place = (manifest.file.clone(), manifest.node.at);
        if let Some((file, at)) = seen.insert(manifest.key.clone(), place) {
            let message = format!("the object is given twice, first in {file}:{at}");
            let twice = manifest.error("metadata.name", message);
            parsed.findings.push(twice.remedy("remove one of the two"));
        }
    }
    if parsed.manifests.len() > MAX_OBJECTS {
        let file = files.first().map_or("", |f| f.name.as_str());
        let message = format!("the preset holds more than {MAX_OBJECTS} objects");
        parsed
            .findings
            .push(Finding::error(file, Position::START, message));
    }
    parsed
}

/// Takes one document apart: a plain object, or a `List` of them.
fn document_objects(file: &str, document: &Node, parsed: &mut Parsed) {
    let is_list = document.get("kind").and_then(Node::as_str) == Some("List");
    if is_list && document.get("apiVersion").and_then(Node::as_str) == Some("v1") {
        if let Some(Kind::List(items)) = document.get("items").map(|n| &n.kind) {
            for item in items {
                object(file, item, parsed);
            }
        }
        return;
    }
    object(file, document, parsed);
}

fn object(file: &str, node: &Node, parsed: &mut Parsed) {
    match identify(file, node) {
        Err(finding) => parsed.findings.push(finding),
        Ok((api_version, key)) => {
            let mut manifest = Manifest {
                object: node.to_json(),
                file: file.to_owned(),
                node: node.clone(),
                api_version,
                key,
            };
            match modernise(&mut manifest) {
                Ok(warnings) => {
                    parsed.findings.extend(warnings);
                    parsed.manifests.push(manifest);
                }
                Err(finding) => parsed.findings.push(finding),
            }
        }
    }
}

/// The version and the key of an object.
fn identify(file: &str, node: &Node) -> Result<(String, ObjectKey), Finding> {
    if node.entries().is_none() {
        let message = format!("expected a Kubernetes object, found {}", node.describe());
        return Err(Finding::error(file, node.at, message));
    }
    let text = |parent: &Node, parent_path: &str, key: &str| match parent.get(key) {
        Some(value) => match value.as_str() {
            Some("") | None => {
                let message = format!("{parent_path}{key} has to be a string that is not empty");
                Err(Finding::error(file, value.at, message))
            }
            Some(text) => Ok(text.to_owned()),
        },
        None => {
            let message = format!("the object has no {parent_path}{key}");
            Err(Finding::error(file, parent.at, message))
        }
    };
    let api_version = text(node, "", "apiVersion")?;
    let kind = text(node, "", "kind")?;
    let Some(metadata) = node.get("metadata").filter(|m| m.entries().is_some()) else {
        let message = "the object has no metadata";
        return Err(Finding::error(file, node.at, message)
            .about(&kind)
            .remedy("give it metadata.name; is the indentation right?"));
    };
    if metadata.get("name").is_none()
        && let Some(generate) = metadata.entry("generateName")
    {
        let message = "an object of a preset needs a name of its own, not generateName";
        return Err(Finding::error(file, generate.at, message)
            .about(&kind)
            .remedy("put jobs to submit into the preset's samples folder"));
    }
    let name = text(metadata, "metadata.", "name").map_err(|f| f.about(&kind))?;
    let namespace = match metadata.get("namespace") {
        None => None,
        Some(_) => Some(text(metadata, "metadata.", "namespace").map_err(|f| f.about(&kind))?),
    };
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let key = ObjectKey {
        group: group.to_owned(),
        kind,
        namespace,
        name,
    };
    Ok((api_version, key))
}

/// Brings an older version of one of Kueue's kinds to the current one.
fn modernise(manifest: &mut Manifest) -> Result<Vec<Finding>, Finding> {
    let Some((GROUP, version)) = manifest.api_version.split_once('/') else {
        return Ok(Vec::new());
    };
    if version == VERSION {
        return Ok(Vec::new());
    }
    let written = manifest.api_version.clone();
    let warnings = convert(&mut manifest.object, VERSION).map_err(|e| {
        let finding = manifest.error("apiVersion", e.to_string());
        finding.remedy(format!("Kueue's kinds are written in {GROUP}/{VERSION}"))
    })?;
    manifest.api_version = format!("{GROUP}/{VERSION}");
    // The API server itself serves v1beta1, so only older headers deserve a word of their own.
    let mut findings: Vec<Finding> = warnings
        .iter()
        .map(|w| manifest.warning(&w.path, &w.text))
        .collect();
    if findings.is_empty() {
        let text = format!("{written} is read as {GROUP}/{VERSION}");
        findings.push(
            manifest
                .warning("apiVersion", text)
                .remedy("write that version"),
        );
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(texts: &[(&str, &str)]) -> Vec<SourceFile> {
        let file = |(name, text): &(&str, &str)| SourceFile {
            name: (*name).into(),
            bytes: text.as_bytes().to_vec(),
        };
        texts.iter().map(file).collect()
    }

    fn only(text: &str) -> String {
        let parsed = parse(&files(&[("p/q.yaml", text)]));
        let errors: Vec<_> = parsed.findings.iter().map(ToString::to_string).collect();
        errors.join("\n")
    }

    const FLAVOR: &str =
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata:\n  name: f\n";

    #[test]
    fn documents_and_lists_become_objects() {
        let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Namespace\n  metadata: {name: a}\n";
        let parsed = parse(&files(&[(
            "a.yaml",
            &format!("{FLAVOR}---\n# nothing\n---\n{list}"),
        )]));
        assert_eq!(parsed.findings, []);
        let keys: Vec<_> = parsed.manifests.iter().map(|m| m.key.to_string()).collect();
        assert_eq!(keys, ["ResourceFlavor/f", "Namespace/a"]);
        assert_eq!(parsed.manifests[1].node.at.line, 11);
    }

    #[test]
    fn what_no_cluster_would_take_is_refused_with_its_place() {
        for (text, expected) in [
            ("kind: X\n", "p/q.yaml:1:1: the object has no apiVersion"),
            (
                "- a\n",
                "p/q.yaml:1:1: expected a Kubernetes object, found a list",
            ),
            (
                "apiVersion: v1\nkind: Namespace\n",
                "p/q.yaml:1:1: Namespace: the object has no metadata; give it",
            ),
            (
                "apiVersion: v1\nkind: Namespace\nmetadata: {}\n",
                "p/q.yaml:3:11: Namespace: the object has no metadata.name",
            ),
            (
                "apiVersion: v1\nkind: Job\nmetadata:\n  generateName: a-\n",
                "p/q.yaml:4:3: Job: an object of a preset needs a name",
            ),
            (
                "apiVersion: v1\nkind: Job\nmetadata:\n  name: 7\n",
                "p/q.yaml:4:9: Job: metadata.name has to be a string",
            ),
            (
                "apiVersion: v1\nmetadata:\nname: \"default\"\nmetadata:\n",
                "p/q.yaml:4:1: the key \"metadata\" is given twice, first on line 2",
            ),
            ("a: [\n", "p/q.yaml:"),
            (
                "apiVersion: kueue.x-k8s.io/v3\nkind: ClusterQueue\nmetadata: {name: a}\n",
                "p/q.yaml:1:13: ClusterQueue/a: no matches for kind",
            ),
        ] {
            let found = only(text);
            assert!(
                found.starts_with(expected),
                "{text:?}\n  {found}\n  {expected}"
            );
        }
    }

    #[test]
    fn the_same_object_in_two_files_is_refused() {
        let parsed = parse(&files(&[("a.yaml", FLAVOR), ("b.yaml", FLAVOR)]));
        assert_eq!(
            parsed.findings[0].to_string(),
            "b.yaml:4:9: ResourceFlavor/f: the object is given twice, first in a.yaml:1:1; remove one of the two"
        );
    }

    #[test]
    fn older_versions_are_read_with_a_warning_and_keep_their_places() {
        let queue = "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: q}\nspec:\n  cohort: team\n  namespaceSelector: {}\n";
        let parsed = parse(&files(&[("q.yaml", queue)]));
        let manifest = &parsed.manifests[0];
        assert_eq!(manifest.object["spec"]["cohortName"], "team");
        assert_eq!(manifest.locate("spec.cohortName").to_string(), "5:11");
        assert!(!parsed.is_broken());
        assert_eq!(
            parsed.findings[0].to_string(),
            "q.yaml:1:13: ClusterQueue/q: kueue.x-k8s.io/v1beta1 is read as kueue.x-k8s.io/v1beta2; write that version"
        );
    }
}
