//! Parses the files of a preset into manifests. [`kueue_lab_api::load`] converts older versions and
//! validates Kueue's kinds; checks over all files follow here.

use std::collections::BTreeMap;

use serde_json::Value;

use super::folder::SourceFile;
use super::lint::{AllowComments, OldApiWarnings};
use super::{Finding, ResourceKey};
use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::load::{self, Problem};
use kueue_lab_api::v1beta2::{GROUP, VERSION};
use kueue_lab_yaml::{self as yaml, Limits, Position};

/// Maximum number of objects of a preset.
const MAX_OBJECTS: usize = 2000;
/// The group of the objects of OpenShift's operator for Kueue.
const OPENSHIFT_OPERATOR: &str = "kueue.openshift.io";

/// One object of a preset and its position.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The key of the object, with the namespace of the file; only the cluster knows whether the kind
    /// is namespaced.
    pub key: ResourceKey,
    /// API version to apply, such as `kueue.x-k8s.io/v1beta2`.
    pub api_version: String,
    /// The object.
    pub object: Value,
    /// The file as the user names it.
    pub file: String,
    /// Whether the preset has worker clusters, for which the lab adds an AdmissionCheck.
    pub(super) has_workers: bool,
    /// The parsed document, for positions.
    source: load::LoadedObject,
}

impl Manifest {
    /// The position of a field, or of its closest parent.
    pub fn locate(&self, path: &str) -> Position {
        self.source.locate(path)
    }

    /// The position of the object.
    pub fn position(&self) -> Position {
        self.source.position()
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

/// The parsed files of a preset.
#[derive(Clone, Debug, Default)]
pub struct ParsedPreset {
    /// Objects in the order of the files.
    pub manifests: Vec<Manifest>,
    /// Errors and warnings. With an error, the preset cannot be applied.
    pub findings: Vec<Finding>,
}

/// Parses all files of a preset and collects the findings of all of them.
pub fn parse(files: &[SourceFile], gates: &FeatureGates) -> ParsedPreset {
    let mut parsed = ParsedPreset::default();
    let mut old_fields = OldApiWarnings::default();
    let mut old_versions = OldApiWarnings::default();
    for file in files {
        let text = match yaml::utf8(&file.bytes) {
            Ok(text) => text,
            Err(error) => {
                parsed.findings.push(finding(file, error.into()));
                continue;
            }
        };
        match yaml::documents(text, Limits::default()) {
            Ok(documents) => {
                let nodes: Vec<yaml::Node> = documents.into_iter().flat_map(list_items).collect();
                let comments = AllowComments::new(text, nodes.iter().map(|node| node.at.line));
                let file = TextFile {
                    file,
                    text,
                    comments,
                };
                for node in nodes {
                    let old = (&mut old_fields, &mut old_versions);
                    parse_document(&file, node, gates, &mut parsed, old);
                }
            }
            Err(error) => parsed.findings.push(finding(file, error.into())),
        }
    }
    parsed.findings.extend(old_versions.of_objects());
    parsed.findings.extend(old_fields.of_messages());
    check_duplicates(&mut parsed);
    if parsed.manifests.len() > MAX_OBJECTS {
        let file = files.first().map_or("", |f| f.name.as_str());
        let message = format!("the preset holds more than {MAX_OBJECTS} objects");
        let finding = Finding::error(file, Position::START, message);
        parsed.findings.push(finding);
    }
    parsed
}

/// The items of a list object, or the object itself.
fn list_items(node: yaml::Node) -> Vec<yaml::Node> {
    let kind = node.get("kind").and_then(yaml::Node::as_str);
    match node.get("items") {
        Some(items) if kind.is_some_and(|k| k.ends_with("List")) => items.items().to_vec(),
        _ => vec![node],
    }
}

/// A file with its text.
struct TextFile<'f> {
    file: &'f SourceFile,
    text: &'f str,
    comments: AllowComments<'f>,
}

/// Parses one document.
fn parse_document(
    file: &TextFile<'_>,
    node: yaml::Node,
    gates: &FeatureGates,
    parsed: &mut ParsedPreset,
    old: (&mut OldApiWarnings, &mut OldApiWarnings),
) {
    let text_of = |n: Option<&yaml::Node>| n.and_then(yaml::Node::as_str).map(str::to_owned);
    let kind = text_of(node.get("kind"));
    let name = text_of(node.get("metadata").and_then(|m| m.get("name")));
    match load::object(node, gates) {
        Ok(object) => add_object(file, object, parsed, old),
        Err(problems) => {
            let about = match (kind, name) {
                (Some(kind), Some(name)) => Some(format!("{kind}/{name}")),
                (kind, _) => kind,
            };
            let findings = problems.into_iter().map(|p| Finding {
                object: about.clone(),
                ..finding(file.file, p)
            });
            parsed.findings.extend(findings);
        }
    }
}

/// The error for a problem of a file.
pub(super) fn finding(file: &SourceFile, problem: Problem) -> Finding {
    let message = match problem.path.is_empty() {
        true => problem.message,
        false => format!("{}: {}", problem.path, problem.message),
    };
    Finding {
        remedy: problem.remedy,
        ..Finding::error(&file.name, problem.at, message)
    }
}

/// Adds an object, or a finding if it is not valid in a preset.
fn add_object(
    TextFile {
        file,
        text,
        comments,
    }: &TextFile<'_>,
    object: load::LoadedObject,
    parsed: &mut ParsedPreset,
    (old_fields, old_versions): (&mut OldApiWarnings, &mut OldApiWarnings),
) {
    let at = |path: &str| object.locate(path);
    let error = |path: &str, message: &str| {
        Finding::error(&file.name, at(path), message).about(object.kind())
    };
    let metadata = &object.value["metadata"];
    if group_of(object.api_version()) == OPENSHIFT_OPERATOR {
        let message = "it configures the operator of OpenShift, which the lab does not have; the object is not applied";
        let remedy = "put the frameworks of its spec.config into kueue.yaml";
        let finding = Finding::warning(&file.name, at(""), message);
        let name = format!("{}.{OPENSHIFT_OPERATOR}/{}", object.kind(), object.name());
        parsed.findings.push(finding.about(name).remedy(remedy));
        return;
    }
    if metadata["name"].is_null() && !metadata["generateName"].is_null() {
        let message = "an object of a preset needs metadata.name, not generateName";
        let remedy = "put jobs to submit into the preset's samples folder";
        let finding = error("metadata.generateName", message).remedy(remedy);
        parsed.findings.push(finding);
        return;
    }
    if object.name().is_empty() {
        let message = "metadata.name must be a non-empty string";
        let finding = error("metadata.name", message);
        parsed
            .findings
            .push(finding.remedy("is the indentation right?"));
        return;
    }
    let group = object
        .api_version()
        .split_once('/')
        .map_or("", |(group, _)| group);
    let namespace = Some(object.namespace()).filter(|n| !n.is_empty());
    let key = ResourceKey {
        group: group.to_owned(),
        kind: object.kind().to_owned(),
        namespace: namespace.map(str::to_owned),
        name: object.name().to_owned(),
    };
    // The API server rejects unknown fields with strict validation.
    for unknown in object.unknown_fields.iter().cloned() {
        let remedy = unknown.remedy.clone();
        let remedy = remedy.unwrap_or_else(|| "correct or remove it".into());
        let found = finding(file, unknown).about(&key);
        parsed.findings.push(found.remedy(remedy));
    }
    let warnings = object.warnings.iter().cloned().map(|w| Finding {
        severity: super::Severity::Warning,
        remedy: w.remedy.clone().or_else(|| remedy_of_conversion(&w)),
        ..finding(file, w).about(&key)
    });
    let no_warnings = object.warnings.is_empty();
    warnings.for_each(|warning| old_fields.add(comments, warning));
    let manifest = Manifest {
        api_version: object.api_version().to_owned(),
        object: object.value.clone(),
        file: file.name.clone(),
        has_workers: false,
        source: object,
        key,
    };
    if group_of(&manifest.api_version) == GROUP && no_warnings {
        let warning = deprecated_version_warning(text, &manifest);
        warning
            .into_iter()
            .for_each(|warning| old_versions.add(comments, warning));
    }
    parsed.manifests.push(manifest);
}

/// The remedy for a field that has another name in the version of its object, which only the lab reads.
fn remedy_of_conversion(warning: &Problem) -> Option<String> {
    let name = warning.message.strip_prefix("read as ")?;
    let (name, _) = name.split_once(',')?;
    Some(format!(
        "rename it to {name}: the API server of a cluster refuses the unknown field with strict validation, as of kubectl, and drops it otherwise"
    ))
}

fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// A warning about an object that is written in an older version.
fn deprecated_version_warning(text: &str, manifest: &Manifest) -> Option<Finding> {
    let at = manifest.locate("apiVersion");
    let line = text.lines().nth(at.line as usize - 1)?;
    let written = line.split_once("apiVersion")?.1;
    let old = ["v1beta1", "v1alpha2", "v1alpha1"];
    let version = old
        .into_iter()
        .find(|v| written.contains(&format!("{GROUP}/{v}")))?;
    let message = format!("{GROUP}/{version} is converted to {GROUP}/{VERSION}");
    let finding = Finding::warning(&manifest.file, at, message).about(&manifest.key);
    Some(finding.remedy("use that version"))
}

/// Reports objects that are defined more than once.
fn check_duplicates(parsed: &mut ParsedPreset) {
    let mut seen: BTreeMap<&ResourceKey, &Manifest> = BTreeMap::new();
    let mut findings = Vec::new();
    for manifest in &parsed.manifests {
        if let Some(first) = seen.insert(&manifest.key, manifest) {
            let position = format!("{}:{}", first.file, first.position());
            let message = format!("the object is defined twice, first in {position}");
            let duplicate = manifest.error("metadata.name", message);
            findings.push(duplicate.remedy("remove one of the two"));
        }
    }
    parsed.findings.extend(findings);
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

    fn only_finding(text: &str) -> String {
        let parsed = parse(&files(&[("p/q.yaml", text)]), &FeatureGates::default());
        let errors: Vec<_> = parsed.findings.iter().map(ToString::to_string).collect();
        errors.join("\n")
    }

    const FLAVOR: &str =
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata:\n  name: f\n";

    #[test]
    fn documents_and_lists_become_objects() {
        let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Namespace\n  metadata: {name: a}\n";
        let parsed = parse(
            &files(&[("a.yaml", &format!("{FLAVOR}---\n# nothing\n---\n{list}"))]),
            &FeatureGates::default(),
        );
        assert_eq!(parsed.findings, []);
        let keys: Vec<_> = parsed.manifests.iter().map(|m| m.key.to_string()).collect();
        assert_eq!(keys, ["ResourceFlavor/f", "Namespace/a"]);
        assert_eq!(parsed.manifests[1].position().line, 11);
    }

    #[test]
    fn invalid_objects_are_rejected_with_their_position() {
        for (text, expected) in [
            (
                "kind: X\n",
                "p/q.yaml:1:1: X: apiVersion: Required value; every object needs apiVersion and kind",
            ),
            ("- a\n", "p/q.yaml:1:1: apiVersion: Required value"),
            (
                "apiVersion: v1\nkind: Namespace\n",
                "p/q.yaml:1:1: Namespace: metadata.name must be a non-empty string; is the indentation right?",
            ),
            (
                "apiVersion: v1\nkind: Namespace\nmetadata: {}\n",
                "p/q.yaml:3:1: Namespace: metadata.name must be",
            ),
            (
                "apiVersion: v1\nkind: Job\nmetadata:\n  generateName: a-\n",
                "p/q.yaml:4:3: Job: an object of a preset needs metadata.name",
            ),
            (
                "apiVersion: v1\nkind: Job\nmetadata:\n  name: 7\n",
                "p/q.yaml:4:9: Job: metadata.name: expected text, found the number 7; put it in quotes to make it text",
            ),
            (
                "apiVersion: v1\nmetadata:\nname: \"default\"\nmetadata:\n",
                "p/q.yaml:4:1: ",
            ),
            ("a: [\n", "p/q.yaml:"),
            (
                "apiVersion: kueue.x-k8s.io/v3\nkind: ClusterQueue\nmetadata: {name: a}\n",
                "p/q.yaml:1:1: ClusterQueue/a: apiVersion: no matches for kind",
            ),
        ] {
            let found = only_finding(text);
            assert!(
                found.starts_with(expected),
                "{text:?}\n  {found}\n  {expected}"
            );
        }
    }

    #[test]
    fn duplicate_objects_are_rejected() {
        let parsed = parse(
            &files(&[("a.yaml", FLAVOR), ("b.yaml", FLAVOR)]),
            &FeatureGates::default(),
        );
        assert_eq!(
            parsed.findings[0].to_string(),
            "b.yaml:4:3: ResourceFlavor/f: the object is defined twice, first in a.yaml:1:1; remove one of the two"
        );
    }

    #[test]
    fn fields_of_other_versions_are_lost_in_a_cluster() {
        let queue = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: q}\nspec:\n  cohort: team\n  namespaceSelector: {}\n";
        let found = only_finding(queue);
        let expected = "p/q.yaml:5:3: ClusterQueue/q: spec.cohort: read as cohortName, which is its name in this version; rename it to cohortName: the API server of a cluster refuses the unknown field";
        assert!(found.starts_with(expected), "{found}");
    }

    #[test]
    fn objects_of_older_versions_have_one_warning() {
        let queue = |name: &str, rest: &str| {
            format!(
                "apiVersion: kueue.x-k8s.io/v1beta1 {rest}\nkind: ResourceFlavor\nmetadata: {{name: {name}}}\n"
            )
        };
        let allowed = queue("d", "# kueue-lab: allow old-api");
        let all = files(&[
            ("a.yaml", &queue("a", "")),
            ("b.yaml", &queue("b", "")),
            ("c.yaml", &queue("c", "")),
            ("d.yaml", &allowed),
        ]);
        let parsed = parse(&all, &FeatureGates::default());
        assert_eq!(parsed.manifests.len(), 4);
        let [finding] = &parsed.findings[..] else {
            panic!("{:?}", parsed.findings);
        };
        let text = finding.to_string();
        let expected = "a.yaml:1:1: ResourceFlavor/a: kueue.x-k8s.io/v1beta1 is converted to kueue.x-k8s.io/v1beta2, and 2 other objects are of older versions, too; use that version (";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn older_versions_are_converted_with_a_warning_and_keep_their_positions() {
        let queue = "apiVersion: kueue.x-k8s.io/v1beta1\nkind: ClusterQueue\nmetadata: {name: q}\nspec:\n  cohort: team\n  namespaceSelector: {}\n";
        let parsed = parse(&files(&[("q.yaml", queue)]), &FeatureGates::default());
        let manifest = &parsed.manifests[0];
        assert_eq!(manifest.object["spec"]["cohortName"], "team");
        assert_eq!(manifest.locate("spec.cohortName").to_string(), "5:3");
        assert!(!parsed.findings.iter().any(Finding::is_error));
        assert_eq!(
            parsed.findings[0].to_string(),
            "q.yaml:1:1: ClusterQueue/q: kueue.x-k8s.io/v1beta1 is converted to kueue.x-k8s.io/v1beta2; use that version (`# kueue-lab: allow old-api` switches this warning off, `kueue-lab test --warning old-api` shows it)"
        );
    }
}
