//! Presets in the binary, for a lab without a checkout.
//!
//! They are written as files so that the user can edit them. Edited files are never overwritten; others
//! are updated with the binary.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use kueue_lab_host::FILE_LIMIT;
use sha2::{Digest, Sha256};

/// A file in the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltInFile {
    /// Path relative to its folder.
    pub path: &'static str,
    /// Its content.
    pub text: &'static str,
}

/// The file that records the SHA-256 of each written file.
const CHECKSUM_FILE: &str = ".written-by-kueue-lab";

/// Writes missing files and updates those that were not edited since they were written. Returns the
/// paths of edited files that differ from the binary's.
///
/// # Errors
/// An I/O error.
pub fn write_out(folder: &Path, files: &[BuiltInFile]) -> io::Result<Vec<String>> {
    std::fs::create_dir_all(folder)?;
    let checksums = folder.join(CHECKSUM_FILE);
    let mut written: BTreeMap<String, String> =
        match kueue_lab_host::read_to_string(&checksums, FILE_LIMIT) {
            Ok(text) => text
                .lines()
                .filter_map(|line| line.split_once("  "))
                .map(|(hash, path)| (path.to_owned(), hash.to_owned()))
                .collect(),
            Err(_) => BTreeMap::new(),
        };
    let mut kept = Vec::new();
    for file in files {
        let path = folder.join(file.path);
        let built_in = hash(file.text.as_bytes());
        let on_disk = kueue_lab_host::read(&path, FILE_LIMIT)
            .ok()
            .map(|bytes| hash(&bytes));
        // A file that was written and no longer exists was deleted by the user.
        let removed = on_disk.is_none() && written.contains_key(file.path);
        let edited = on_disk.is_some() && on_disk.as_ref() != written.get(file.path);
        if on_disk.as_ref() == Some(&built_in) {
            written.insert(file.path.to_owned(), built_in);
        } else if edited {
            kept.push(file.path.to_owned());
        } else if !removed {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            replace_file(&path, file.text)?;
            written.insert(file.path.to_owned(), built_in);
        }
    }
    let lines = written
        .iter()
        .map(|(path, hash)| format!("{hash}  {path}\n"));
    replace_file(&checksums, &lines.collect::<String>())?;
    Ok(kept)
}

/// Writes a file completely or not at all: a disk that is full leaves no empty file, which would count as
/// edited later.
fn replace_file(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.as_file()
            .set_permissions(std::fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path)?;
    Ok(())
}

fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edited_files_stay_and_others_are_updated() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("presets");
        let file = |path, text| BuiltInFile { path, text };
        let read = |p: &str| std::fs::read_to_string(folder.join(p)).ok();
        let first = [
            file("a/q.yaml", "one"),
            file("b/q.yaml", "one"),
            file("c/q.yaml", "one"),
        ];
        assert!(write_out(&folder, &first).unwrap().is_empty());
        std::fs::write(folder.join("b/q.yaml"), "mine").unwrap();
        std::fs::remove_file(folder.join("c/q.yaml")).unwrap();
        let second = [
            file("a/q.yaml", "two"),
            file("b/q.yaml", "two"),
            file("c/q.yaml", "two"),
        ];
        assert_eq!(write_out(&folder, &second).unwrap(), ["b/q.yaml"]);
        assert_eq!(read("a/q.yaml").as_deref(), Some("two"));
        assert_eq!(read("b/q.yaml").as_deref(), Some("mine"));
        assert_eq!(read("c/q.yaml"), None);
    }

    #[test]
    fn a_start_that_failed_is_completed_by_the_next_one() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path();
        let file = |path, text| BuiltInFile { path, text };
        let files = [file("a/q.yaml", "one"), file("b/q.yaml", "one")];
        // In place of a full disk: the folder of the second file cannot be created.
        std::fs::write(folder.join("b"), "").unwrap();
        assert!(write_out(folder, &files).is_err());
        let left = std::fs::read_to_string(folder.join("a/q.yaml"));
        assert_eq!(left.unwrap(), "one");
        std::fs::remove_file(folder.join("b")).unwrap();
        assert!(write_out(folder, &files).unwrap().is_empty());
        let text = std::fs::read_to_string(folder.join("b/q.yaml"));
        assert_eq!(text.unwrap(), "one");
        let names = std::fs::read_dir(folder.join("a")).unwrap();
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["q.yaml"]);
    }
}
