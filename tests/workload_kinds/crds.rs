//! The CustomResourceDefinitions of the recordings.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use kueue_lab_testing::read_text;
use serde::Deserialize;
use serde_json::Value;

/// The API groups that a case names in any `apiVersion`, or in its list of kinds.
pub(crate) fn groups_of_case(case: &Value) -> BTreeSet<String> {
    let mut groups = BTreeSet::new();
    collect_groups(case, &mut groups);
    let listed = case["kinds"].as_object().into_iter().flatten();
    groups.extend(listed.filter_map(|(_, version)| group_of(version)));
    groups
}

fn group_of(api_version: &Value) -> Option<String> {
    let (group, _) = api_version.as_str()?.split_once('/')?;
    Some(group.to_owned())
}

fn collect_groups(value: &Value, groups: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            groups.extend(fields.get("apiVersion").and_then(group_of));
            fields.values().for_each(|v| collect_groups(v, groups));
        }
        Value::Array(items) => items.iter().for_each(|v| collect_groups(v, groups)),
        _ => {}
    }
}

/// A file with CustomResourceDefinitions, and other objects of the same operator.
struct CrdFile {
    groups: Vec<String>,
    text: String,
    objects: OnceLock<Vec<Value>>,
}

impl CrdFile {
    fn read(path: &Path) -> Self {
        let text = read_text(path).unwrap();
        // Large files are parsed only if a case needs them.
        let groups = text
            .lines()
            .filter_map(|line| line.strip_prefix("  group: "));
        Self {
            groups: groups.map(|group| group.trim().to_owned()).collect(),
            objects: OnceLock::new(),
            text,
        }
    }

    fn objects(&self) -> &[Value] {
        self.objects.get_or_init(|| {
            let documents = serde_yaml::Deserializer::from_str(&self.text);
            let objects = documents.map(|document| Value::deserialize(document).unwrap());
            objects.filter(|object| !object.is_null()).collect()
        })
    }
}

fn crd_files(recordings: &Path) -> Vec<CrdFile> {
    let mut paths = Vec::new();
    for operator in super::subfolders(&recordings.join("crds")) {
        let files = std::fs::read_dir(recordings.join("crds").join(operator));
        paths.extend(files.unwrap().map(|file| file.unwrap().path()));
    }
    paths.sort();
    paths.iter().map(|path| CrdFile::read(path)).collect()
}

/// The objects in the files with a CustomResourceDefinition of one of the groups.
pub(crate) fn objects_of_groups(
    recordings: &Path,
    groups: &BTreeSet<String>,
) -> impl Iterator<Item = &'static Value> {
    static FILES: OnceLock<Vec<CrdFile>> = OnceLock::new();
    let files = FILES.get_or_init(|| crd_files(recordings)).iter();
    files
        .filter(|file| file.groups.iter().any(|group| groups.contains(group)))
        .flat_map(CrdFile::objects)
}
