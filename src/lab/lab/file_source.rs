//! The source of scenarios and the files they refer to: a folder, or the binary.

use std::path::{Component, Path, PathBuf};

use kueue_lab_presets::BuiltInFile;

/// Maximum size of a file in bytes.
const MAX_FILE: u64 = 1 << 20;

/// The error of reading a file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// A file of a folder cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// Why.
        #[source]
        error: std::io::Error,
    },
    /// The binary does not have the file.
    #[error("there is no file {} in the binary", .0.display())]
    NotShipped(PathBuf),
}

/// A set of scenario files and the files they refer to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSource {
    /// A folder on disk.
    Folder(PathBuf),
    /// Files embedded in the binary.
    Shipped(&'static [BuiltInFile]),
}

impl FileSource {
    /// Reads a file by its relative path.
    ///
    /// # Errors
    /// [`FileError`], with the file name.
    pub fn read(&self, path: &Path) -> Result<String, FileError> {
        match self {
            Self::Folder(folder) => {
                let path = folder.join(path);
                let read = kueue_lab_host::read_to_string(&path, MAX_FILE);
                read.map_err(|error| FileError::Unreadable { path, error })
            }
            Self::Shipped(files) => {
                let wanted = normalize(path);
                let found = files.iter().find(|f| Path::new(f.path) == wanted);
                let text = found.map(|f| f.text.to_owned());
                text.ok_or(FileError::NotShipped(wanted))
            }
        }
    }

    /// The path for messages.
    pub fn display(&self, path: &Path) -> String {
        match self {
            Self::Folder(folder) => normalize(&folder.join(path)).display().to_string(),
            Self::Shipped(_) => normalize(path).display().to_string(),
        }
    }

    /// Paths of the scenarios in a sub-folder, sorted.
    pub fn scenarios(&self, folder: &str) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = match self {
            Self::Folder(root) => {
                let entries = root.join(folder).read_dir().into_iter().flatten().flatten();
                entries
                    .map(|e| Path::new(folder).join(e.file_name()))
                    .collect()
            }
            Self::Shipped(files) => {
                let paths = files.iter().map(|f| PathBuf::from(f.path));
                paths.filter(|p| p.starts_with(folder)).collect()
            }
        };
        paths.retain(|p| {
            let name = p.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            !name.starts_with('.') && (name.ends_with(".yaml") || name.ends_with(".yml"))
        });
        paths.sort();
        paths
    }
}

/// A path without `.` and, as far as the path alone allows, without `..`.
fn normalize(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if flat.file_name().is_some() => {
                flat.pop();
            }
            part => flat.push(part),
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[BuiltInFile] = &[
        BuiltInFile {
            path: "scenarios/b.yaml",
            text: "b",
        },
        BuiltInFile {
            path: "scenarios/a.yaml",
            text: "a",
        },
        BuiltInFile {
            path: "skypilot/t.task.yaml",
            text: "t",
        },
    ];

    #[test]
    fn shipped_files_are_read_like_a_folder() {
        let files = FileSource::Shipped(FILES);
        assert_eq!(
            files.scenarios("scenarios"),
            [Path::new("scenarios/a.yaml"), Path::new("scenarios/b.yaml")]
        );
        assert_eq!(
            files
                .read(Path::new("scenarios/../skypilot/t.task.yaml"))
                .unwrap(),
            "t"
        );
        assert!(files.read(Path::new("scenarios/c.yaml")).is_err());
        assert_eq!(files.display(Path::new("scenarios/../x")), "x");
    }
}
