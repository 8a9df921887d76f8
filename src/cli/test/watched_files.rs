//! [`WatchedFiles`]: the files on which the results of tests depend.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use kueue_lab_presets::folders_of_file;
use kueue_lab_scenario::TestFile;

/// The files on which the results of tests depend, with their contents.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WatchedFiles {
    /// The folders of the files.
    pub(super) folders: BTreeSet<PathBuf>,
    /// A hash of the content of each file.
    contents: BTreeMap<PathBuf, u64>,
}

impl WatchedFiles {
    /// The YAML files in the folders of the paths, of the test files and of their queues, and all files that the
    /// test files name.
    pub(super) fn of(paths: &[PathBuf], test_files: &[PathBuf], presets: &Path) -> Self {
        let mut folders: BTreeSet<PathBuf> = paths
            .iter()
            .flat_map(|path| folders_of_file(path))
            .collect();
        let mut named: BTreeSet<PathBuf> = test_files.iter().cloned().collect();
        for file in test_files {
            folders.extend(TestFile::source_folders(file, presets));
            named.extend(TestFile::source_files(file));
        }
        folders.extend(named.iter().flat_map(|file| folders_of_file(file)));
        let in_folders = folders.iter().flat_map(|folder| yaml_files(folder));
        let all: BTreeSet<PathBuf> = in_folders.chain(named).collect();
        let contents = all.into_iter().filter_map(|file| {
            let mut hasher = DefaultHasher::new();
            kueue_lab_host::read(&file, kueue_lab_host::FILE_LIMIT)
                .ok()?
                .hash(&mut hasher);
            Some((file, hasher.finish()))
        });
        Self {
            contents: contents.collect(),
            folders,
        }
    }
}

/// The YAML files directly in a folder.
fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let is_yaml = |file: &PathBuf| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("yaml" | "yml"))
    };
    entries.map(|entry| entry.path()).filter(is_yaml).collect()
}
