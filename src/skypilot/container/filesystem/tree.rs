//! A tree of files, directories and symbolic links, limited in bytes and entries.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;

use super::error::Errno;
use super::path::parent;

/// Maximum size of all files of a tree, in bytes.
const TREE_BYTES: usize = 64 << 20;
/// Maximum number of entries of a tree.
const TREE_ENTRIES: usize = 20_000;
/// Bytes that an entry counts in addition to its content.
const ENTRY_BYTES: usize = 256;
/// Maximum length of a path, in bytes.
const PATH: usize = 4096;

/// A tree that containers share.
pub type Volume = Arc<Mutex<Tree>>;

/// The bytes that all trees may use together. Clones share it.
#[derive(Clone, Debug)]
pub struct StorageBudget(Arc<AtomicUsize>);

impl StorageBudget {
    /// A budget of `bytes`.
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }

    fn take(&self, bytes: usize) -> Result<(), Errno> {
        let less = |left: usize| left.checked_sub(bytes);
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.map(drop).map_err(|_| Errno::NoSpace)
    }

    fn give(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Directory,
    File(Bytes),
    /// An executable of the image: the command of this name.
    Program(&'static str),
    /// A symbolic link.
    Link(String),
}

/// An entry and its attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) kind: FileKind,
    /// Permissions.
    pub(crate) mode: u32,
    pub(crate) modified: Timestamp,
}

impl Metadata {
    pub(crate) fn is_directory(&self) -> bool {
        matches!(self.kind, FileKind::Directory)
    }

    /// The size as `stat` reports it.
    pub(crate) fn size(&self) -> usize {
        match &self.kind {
            FileKind::Directory => 4096,
            FileKind::File(data) => data.len(),
            FileKind::Program(_) => 68_496,
            FileKind::Link(target) => target.len(),
        }
    }
}

/// A tree of files. Paths are absolute and normalized; links are not followed.
#[derive(Debug)]
pub struct Tree {
    entries: BTreeMap<String, Metadata>,
    bytes: usize,
    budget: StorageBudget,
    read_only: bool,
}

impl Tree {
    /// An empty tree.
    pub fn new(budget: StorageBudget, now: Timestamp) -> Self {
        let root = Metadata {
            kind: FileKind::Directory,
            mode: 0o755,
            modified: now,
        };
        Self {
            entries: BTreeMap::from([("/".to_owned(), root)]),
            bytes: 0,
            budget,
            read_only: false,
        }
    }

    /// Refuses all further changes except [`replace_files`](Self::replace_files).
    pub fn set_read_only(&mut self, read_only: bool) {
        self.read_only = read_only;
    }

    /// Replaces all files of the tree by these, as the kubelet updates a volume. Files that do not
    /// fit are left out.
    pub fn replace_files(&mut self, files: &BTreeMap<String, (Vec<u8>, u32)>, now: Timestamp) {
        let read_only = std::mem::replace(&mut self.read_only, false);
        let known: Vec<String> = self.entries.keys().skip(1).cloned().collect();
        for path in known.iter().rev() {
            let stays = match self.entries.get(path).map(|entry| &entry.kind) {
                Some(FileKind::Directory) => files.keys().any(|file| is_below(file, path)),
                _ => files.contains_key(path),
            };
            if !stays {
                let _ = self.remove(path);
            }
        }
        for (path, (data, mode)) in files {
            let same = self
                .entries
                .get(path)
                .is_some_and(|entry| matches!(&entry.kind, FileKind::File(old) if **old == **data));
            if !same {
                let _ = self.create_directories(parent(path), now);
                let content = FileKind::File(data.clone().into());
                let _ = self.put(path, content, *mode, now);
            }
        }
        self.read_only = read_only;
    }

    /// The content of a file, and when it was written.
    pub fn file(&self, path: &str) -> Option<(Vec<u8>, Timestamp)> {
        let entry = self.entries.get(path)?;
        match &entry.kind {
            FileKind::File(data) => Some((data.to_vec(), entry.modified)),
            _ => None,
        }
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Metadata> {
        self.entries.get(path)
    }

    /// The names in a directory, with their entries.
    pub(crate) fn children(&self, path: &str) -> Vec<(String, Metadata)> {
        let prefix = prefix(path);
        let below = self.entries.range(prefix.clone()..);
        let below = below.take_while(|(known, _)| known.starts_with(&prefix));
        let direct = below.filter_map(|(known, entry)| {
            let name = &known[prefix.len()..];
            let is_child = !name.is_empty() && !name.contains('/');
            is_child.then(|| (name.to_owned(), entry.clone()))
        });
        direct.collect()
    }

    fn check_writable(&self) -> Result<(), Errno> {
        match self.read_only {
            true => Err(Errno::ReadOnly),
            false => Ok(()),
        }
    }

    /// Creates or replaces an entry that is no directory; `mode` is that of a new entry.
    pub(crate) fn put(
        &mut self,
        path: &str,
        kind: FileKind,
        mode: u32,
        now: Timestamp,
    ) -> Result<(), Errno> {
        self.check_writable()?;
        if path.len() > PATH {
            return Err(Errno::NameTooLong);
        }
        match self.entries.get(parent(path)) {
            Some(entry) if entry.is_directory() => {}
            Some(_) => return Err(Errno::NotDirectory),
            None => return Err(Errno::NotFound),
        }
        let before = self.entries.get(path);
        if before.is_some_and(Metadata::is_directory) {
            return Err(Errno::IsDirectory);
        }
        if before.is_none() && self.entries.len() >= TREE_ENTRIES {
            return Err(Errno::NoSpace);
        }
        let mode = before.map_or(mode, |entry| entry.mode);
        let entry = Metadata {
            kind,
            mode,
            modified: now,
        };
        let (old, new) = (
            before.map_or(0, |entry| cost(path, entry)),
            cost(path, &entry),
        );
        if new > old {
            if self.bytes + (new - old) > TREE_BYTES {
                return Err(Errno::NoSpace);
            }
            self.budget.take(new - old)?;
        } else {
            self.budget.give(old - new);
        }
        self.bytes = self.bytes + new - old;
        self.entries.insert(path.to_owned(), entry);
        Ok(())
    }

    /// Creates a directory.
    pub(crate) fn create_directory(&mut self, path: &str, now: Timestamp) -> Result<(), Errno> {
        match self.entries.contains_key(path) {
            true => Err(Errno::Exists),
            false => self.put(path, FileKind::Directory, 0o755, now),
        }
    }

    /// Creates a directory and those above it.
    pub(crate) fn create_directories(&mut self, path: &str, now: Timestamp) -> Result<(), Errno> {
        match self.entries.get(path) {
            Some(entry) if entry.is_directory() => Ok(()),
            Some(_) => Err(Errno::NotDirectory),
            None => {
                self.create_directories(parent(path), now)?;
                self.create_directory(path, now)
            }
        }
    }

    /// Removes an entry; a directory must be empty.
    pub(crate) fn remove(&mut self, path: &str) -> Result<(), Errno> {
        self.check_writable()?;
        let entry = self.entries.get(path).ok_or(Errno::NotFound)?;
        if path == "/" {
            return Err(Errno::Busy);
        }
        if entry.is_directory() && self.has_children(path) {
            return Err(Errno::NotEmpty);
        }
        if let Some(entry) = self.entries.remove(path) {
            let bytes = cost(path, &entry);
            self.bytes -= bytes;
            self.budget.give(bytes);
        }
        Ok(())
    }

    fn has_children(&self, path: &str) -> bool {
        let prefix = prefix(path);
        let mut below = self.entries.range(prefix.clone()..);
        below.any(|(known, _)| known.starts_with(&prefix) && known.len() > prefix.len())
    }

    /// Moves an entry with all that is below it to a path that does not exist.
    pub(crate) fn rename(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        self.check_writable()?;
        if is_below(to, from) {
            return Err(Errno::Invalid);
        }
        if !self
            .entries
            .get(parent(to))
            .is_some_and(Metadata::is_directory)
        {
            return Err(Errno::NotFound);
        }
        let moved: Vec<String> = self
            .entries
            .keys()
            .filter(|known| *known == from || is_below(known, from))
            .cloned()
            .collect();
        // Paths are as long as before or longer; the budget is not exceeded by more than their
        // difference.
        for path in moved {
            if let Some(entry) = self.entries.remove(&path) {
                let target = format!("{to}{}", &path[from.len()..]);
                let (old, new) = (cost(&path, &entry), cost(&target, &entry));
                self.budget.give(old);
                self.bytes -= old;
                if self.budget.take(new).is_ok() {
                    self.bytes += new;
                    self.entries.insert(target, entry);
                }
            }
        }
        Ok(())
    }

    /// Sets the permissions of an entry.
    pub(crate) fn set_mode(&mut self, path: &str, mode: u32) -> Result<(), Errno> {
        self.check_writable()?;
        let entry = self.entries.get_mut(path).ok_or(Errno::NotFound)?;
        entry.mode = mode;
        Ok(())
    }

    /// Sets the modification time of an entry.
    pub(crate) fn set_modified(&mut self, path: &str, at: Timestamp) -> Result<(), Errno> {
        self.check_writable()?;
        let entry = self.entries.get_mut(path).ok_or(Errno::NotFound)?;
        entry.modified = at;
        Ok(())
    }

    /// The bytes in use, and the limit.
    pub(crate) fn usage(&self) -> (usize, usize) {
        (self.bytes, TREE_BYTES)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        self.budget.give(self.bytes);
    }
}

fn prefix(path: &str) -> String {
    match path {
        "/" => "/".into(),
        path => format!("{path}/"),
    }
}

/// Whether a path is below a directory.
fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.starts_with('/') || (directory == "/" && !rest.is_empty()))
}

/// The bytes that an entry counts.
fn cost(path: &str, entry: &Metadata) -> usize {
    let content = match &entry.kind {
        FileKind::File(data) => data.len(),
        FileKind::Link(target) => target.len(),
        FileKind::Directory | FileKind::Program(_) => 0,
    };
    ENTRY_BYTES + path.len() + content
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &'static str) -> FileKind {
        FileKind::File(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn the_budget_is_returned() {
        let budget = StorageBudget::new(10_000);
        let now = Timestamp::UNIX_EPOCH;
        let mut tree = Tree::new(budget.clone(), now);
        tree.create_directories("/a/b", now).unwrap();
        tree.put("/a/b/f", file("hello"), 0o644, now).unwrap();
        let large = FileKind::File(vec![0; 20_000].into());
        assert_eq!(tree.put("/a/g", large, 0o644, now), Err(Errno::NoSpace));
        tree.rename("/a/b", "/c").unwrap();
        assert_eq!(tree.get("/c/f").unwrap().size(), 5);
        assert_eq!(tree.rename("/c", "/c/d"), Err(Errno::Invalid));
        assert_eq!(tree.remove("/c"), Err(Errno::NotEmpty));
        tree.remove("/c/f").unwrap();
        drop(tree);
        assert_eq!(budget.0.load(Ordering::Relaxed), 10_000);
    }

    #[test]
    fn children_are_the_direct_ones() {
        let now = Timestamp::UNIX_EPOCH;
        let mut tree = Tree::new(StorageBudget::new(1 << 20), now);
        tree.create_directories("/a/x", now).unwrap();
        tree.put("/a/x-1", file(""), 0o644, now).unwrap();
        tree.put("/a/x/f", file(""), 0o644, now).unwrap();
        let names = |path: &str| -> Vec<String> {
            tree.children(path)
                .into_iter()
                .map(|(name, _)| name)
                .collect()
        };
        assert_eq!(names("/a"), ["x", "x-1"]);
        assert_eq!(names("/"), ["a"]);
    }

    #[test]
    fn replaced_files_are_those_of_the_volume() {
        let now = Timestamp::UNIX_EPOCH;
        let mut tree = Tree::new(StorageBudget::new(1 << 20), now);
        let files = |names: &[&str]| -> BTreeMap<String, (Vec<u8>, u32)> {
            let files = names
                .iter()
                .map(|n| ((*n).to_owned(), (n.as_bytes().to_vec(), 0o644)));
            files.collect()
        };
        tree.replace_files(&files(&["/d/a", "/b"]), now);
        tree.set_read_only(true);
        tree.replace_files(&files(&["/b", "/c"]), now);
        assert!(tree.get("/d").is_none() && tree.get("/c").is_some());
        assert_eq!(tree.remove("/b"), Err(Errno::ReadOnly));
    }
}
