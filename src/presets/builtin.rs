//! Presets inside the binary, for a lab that runs away from its checkout.
//!
//! They are written out as files, because a preset is there to be edited. What a person edited is
//! never overwritten; what they did not is kept up to date with the binary.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use sha2::{Digest, Sha256};

/// A file inside the binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltInFile {
    /// Path below the folder it belongs to.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Remembers what was written out, by path and SHA-256.
const CHECKSUM_FILE: &str = ".written-by-kueue-lab";

/// Writes files out below a folder: those missing, and those nobody has edited since they were
/// written. Returns the paths of edited files that were left alone although the binary's differ.
///
/// # Errors
/// What the file system says.
pub fn write_out(folder: &Path, files: &[BuiltInFile]) -> io::Result<Vec<String>> {
    std::fs::create_dir_all(folder)?;
    let stamp = folder.join(CHECKSUM_FILE);
    let mut written: BTreeMap<String, String> = match std::fs::read_to_string(&stamp) {
        Ok(text) => text
            .lines()
            .filter_map(|line| line.split_once("  "))
            .map(|(hash, path)| (path.to_owned(), hash.to_owned()))
            .collect(),
        Err(_) => BTreeMap::new(),
    };
    let mut left_alone = Vec::new();
    for file in files {
        let path = folder.join(file.path);
        let ours = hash(file.text.as_bytes());
        let there = std::fs::read(&path).ok().map(|bytes| hash(&bytes));
        // A file that was written once and is gone now was removed on purpose.
        let removed = there.is_none() && written.contains_key(file.path);
        let edited = there.is_some() && there.as_ref() != written.get(file.path);
        if there.as_ref() == Some(&ours) {
            written.insert(file.path.to_owned(), ours);
        } else if edited {
            left_alone.push(file.path.to_owned());
        } else if !removed {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&path, file.text)?;
            written.insert(file.path.to_owned(), ours);
        }
    }
    let lines = written
        .iter()
        .map(|(path, hash)| format!("{hash}  {path}\n"));
    std::fs::write(stamp, lines.collect::<String>())?;
    Ok(left_alone)
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
}
