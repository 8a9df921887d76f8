//! Fields with their name in another version, as in partly converted files.

use crate::problem::Problem;
use kueue_lab_yaml::{Entry, Kind, Node, Position};

/// Names of the same field: kind, owner, name in v1beta1, name in v1beta2.
const VERSION_ALIASES: &[(&str, &str, &str, &str)] = &[
    ("ClusterQueue", "spec", "cohort", "cohortName"),
    ("LocalQueue", "status", "flavorUsage", "flavorsUsage"),
];

/// Fields that were renamed in all served versions.
const RENAMED_IN_ALL_VERSIONS: &[(&str, &str, &str, &str)] =
    &[("Cohort", "spec", "parent", "parentName")];

/// The position of a field under either name, or of its closest parent.
pub(super) fn locate(node: &Node, path: &str) -> Position {
    let there = |names: &[(&str, &str)]| {
        let path = names
            .iter()
            .fold(path.to_owned(), |p, (new, old)| p.replace(new, old));
        node.locate(&path)
    };
    let written = there(&[]);
    let older = there(&[
        ("cohortName", "cohort"),
        ("parentName", "parent"),
        ("flavorsUsage", "flavorUsage"),
        ("admissionChecksStrategy.admissionChecks", "admissionChecks"),
        ("clusterSource.", ""),
        ("priorityClassRef", "priorityClassName"),
    ]);
    // The document uses the name that matches a longer part of the path.
    written.max(older)
}

/// Renames fields of another version to the names of the document's version.
pub(super) fn apply(node: &mut Node, kind: &str) -> Vec<Problem> {
    let old = node
        .get("apiVersion")
        .and_then(Node::as_str)
        .is_none_or(|v| !v.ends_with("/v1beta2"));
    let mut warnings = Vec::new();
    for (_, owner, v1beta1, v1beta2) in VERSION_ALIASES.iter().filter(|r| r.0 == kind) {
        let (from, to) = if old {
            (v1beta2, v1beta1)
        } else {
            (v1beta1, v1beta2)
        };
        rename(node, owner, from, to, &mut warnings);
    }
    let alpha = node
        .get("apiVersion")
        .and_then(Node::as_str)
        .is_some_and(|v| v.contains("alpha"));
    for (_, owner, from, to) in RENAMED_IN_ALL_VERSIONS
        .iter()
        .filter(|r| r.0 == kind && !alpha)
    {
        rename(node, owner, from, to, &mut warnings);
    }
    match kind {
        "ClusterQueue" if !old => convert_admission_checks_list(node, &mut warnings),
        "MultiKueueCluster" if old => flatten_cluster_source(node, &mut warnings),
        "MultiKueueCluster" => wrap_cluster_source(node, &mut warnings),
        _ => {}
    }
    warnings
}

fn warning(at: Position, path: String, name: &str) -> Problem {
    Problem {
        at,
        path,
        message: format!("read as {name}, which is its name in this version"),
        remedy: None,
    }
}

fn members<'a>(node: &'a mut Node, owner: &str) -> Option<&'a mut Vec<Entry>> {
    match node.get_mut(owner).map(|n| &mut n.kind) {
        Some(Kind::Map(entries)) => Some(entries),
        _ => None,
    }
}

fn rename(node: &mut Node, owner: &str, from: &str, to: &str, warnings: &mut Vec<Problem>) {
    let Some(entries) = members(node, owner) else {
        return;
    };
    if entries.iter().any(|e| e.key == to) {
        return;
    }
    if let Some(entry) = entries.iter_mut().find(|e| e.key == from) {
        entry.key = to.to_owned();
        warnings.push(warning(entry.at, format!("{owner}.{from}"), to));
    }
}

fn map(at: Position, entries: Vec<Entry>) -> Node {
    Node::new(at, Kind::Map(entries))
}

/// `spec.admissionChecks` of v1beta1, a list of names.
fn convert_admission_checks_list(node: &mut Node, warnings: &mut Vec<Problem>) {
    let Some(entries) = members(node, "spec") else {
        return;
    };
    if entries.iter().any(|e| e.key == "admissionChecksStrategy") {
        return;
    }
    let Some(entry) = entries.iter_mut().find(|e| e.key == "admissionChecks") else {
        return;
    };
    let Kind::List(names) = &entry.value.kind else {
        return;
    };
    let rules = names.iter().map(|name| {
        let name_of = Entry {
            key: "name".to_owned(),
            at: name.at,
            value: name.clone(),
        };
        map(name.at, vec![name_of])
    });
    let list = Node::new(entry.value.at, Kind::List(rules.collect()));
    let checks = Entry {
        key: "admissionChecks".to_owned(),
        at: entry.at,
        value: list,
    };
    entry.key = "admissionChecksStrategy".to_owned();
    entry.value = map(entry.at, vec![checks]);
    let name = "admissionChecksStrategy";
    warnings.push(warning(entry.at, "spec.admissionChecks".to_owned(), name));
}

/// `spec.kubeConfig` of v1beta1, without a clusterSource around it.
fn wrap_cluster_source(node: &mut Node, warnings: &mut Vec<Problem>) {
    let Some(entries) = members(node, "spec") else {
        return;
    };
    if entries.iter().any(|e| e.key == "clusterSource") {
        return;
    }
    let bare = |e: &Entry| e.key == "kubeConfig" || e.key == "clusterProfileRef";
    let inner: Vec<Entry> = entries.extract_if(.., |e| bare(e)).collect();
    if let Some(first) = inner.first() {
        let (key_at, path) = (first.at, format!("spec.{}", first.key));
        entries.push(Entry {
            key: "clusterSource".to_owned(),
            at: key_at,
            value: map(key_at, inner),
        });
        warnings.push(warning(key_at, path, "clusterSource"));
    }
}

/// `spec.clusterSource` of v1beta2 in a document of v1beta1.
fn flatten_cluster_source(node: &mut Node, warnings: &mut Vec<Problem>) {
    let Some(entries) = members(node, "spec") else {
        return;
    };
    let Some(index) = entries.iter().position(|e| e.key == "clusterSource") else {
        return;
    };
    if let Kind::Map(inner) = &entries[index].value.kind {
        let inner = inner.clone();
        let at = entries.remove(index).at;
        entries.extend(inner);
        warnings.push(warning(at, "spec.clusterSource".to_owned(), "kubeConfig"));
    }
}
