//! The packed recordings equal those in `../shared`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::{recordings, shared};

fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Compares archives with one folder of `../shared`.
fn compare(folder: &str, archives: &[&str]) {
    let packed: BTreeMap<_, _> = archives
        .iter()
        .flat_map(|archive| files(&recordings(archive)))
        .collect();
    let Some(original) = shared(folder) else {
        return;
    };
    let original = files(&original);
    let names = |files: &BTreeMap<PathBuf, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&packed), names(&original), "{folder}");
    for (name, content) in &original {
        assert!(packed[name] == *content, "{folder}/{}", name.display());
    }
}

#[test]
fn differential_recordings_equal_shared() {
    compare("differential", &["differential", "differential2"]);
}

#[test]
fn kubectl_parity_recordings_equal_shared() {
    compare("kubectl-parity", &["kubectl-parity"]);
}

#[test]
fn reference_run_recordings_equal_shared() {
    compare("reference-runs", &["reference-runs"]);
}
