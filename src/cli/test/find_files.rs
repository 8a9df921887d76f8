//! Finds test files.

use std::path::{Path, PathBuf};

use crate::cli::CommandError;

/// The suffixes of test files in folders.
const SUFFIXES: [&str; 2] = [".test.yaml", ".test.yml"];
/// The deepest sub-folder that is searched.
const MAX_DEPTH: usize = 16;

/// The test files of arguments: files as they are, and those with the suffix `.test.yaml` in folders and their
/// sub-folders, sorted.
///
/// # Errors
/// A path does not exist, or there is no test file.
pub(super) fn test_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, CommandError> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut found = Vec::new();
            search(path, 0, &mut found)?;
            found.sort();
            files.extend(found);
        } else if path.exists() {
            files.push(path.clone());
        } else {
            let message = format!("there is no file or folder {}", path.display());
            return Err(CommandError::usage(message));
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    files.retain(|file| seen.insert(file.clone()));
    match files.is_empty() {
        true => {
            let paths: Vec<_> = paths.iter().map(|p| p.display().to_string()).collect();
            Err(CommandError::usage(format!(
                "there is no *.test.yaml in {}; see docs/test-format.md for the format",
                paths.join(", ")
            )))
        }
        false => Ok(files),
    }
}

fn search(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), CommandError> {
    let failed =
        |e: std::io::Error| CommandError::usage(e).with_message(folder.display().to_string());
    for entry in folder.read_dir().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        // Links to folders are not followed: they can lead back.
        let is_folder = entry.file_type().map_err(failed)?.is_dir();
        if is_folder && depth < MAX_DEPTH && !path.join("CACHEDIR.TAG").exists() {
            search(&path, depth + 1, found)?;
        } else if path.is_file() && SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
            found.push(match folder == Path::new(".") {
                true => PathBuf::from(name.as_ref()),
                false => path.strip_prefix("./").map(Path::to_owned).unwrap_or(path),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_searched_and_files_taken_as_they_are() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        std::fs::create_dir_all(path("a/b")).unwrap();
        std::fs::create_dir_all(path(".git")).unwrap();
        for file in [
            "a/b/x.test.yaml",
            "a/y.test.yml",
            "a/queues.yaml",
            ".git/z.test.yaml",
            "w.yaml",
        ] {
            std::fs::write(path(file), "").unwrap();
        }
        let found = test_files(&[path("w.yaml"), root.path().to_owned(), path("w.yaml")]);
        let found = found.map_err(|e| e.to_string()).unwrap();
        assert_eq!(
            found,
            [
                path("w.yaml"),
                path("a/b/x.test.yaml"),
                path("a/y.test.yml")
            ]
        );
        assert!(test_files(&[path("nowhere")]).is_err());
        assert!(test_files(&[path(".git/none")]).is_err());
    }
}
