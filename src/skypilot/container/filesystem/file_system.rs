//! The file system of one container: its own tree, and volumes mounted into it.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};

use super::error::Errno;
use super::path::{file_name, normalize, parent};
use super::tree::{FileKind, Metadata, Tree, Volume};

/// Maximum number of symbolic links in a path.
const LINKS: usize = 40;
/// Maximum size of a file, in bytes.
pub(crate) const FILE_SIZE: usize = 32 << 20;

/// The file system of a container.
#[derive(Debug)]
pub struct FileSystem {
    /// The mount points, longest first; the last one is `/`.
    mounts: RwLock<Vec<(String, Volume)>>,
    /// Whether all files of the image and of the volumes are in it.
    is_complete: bool,
}

/// A path in one of the trees.
struct Located {
    volume: Volume,
    path: String,
}

impl FileSystem {
    /// A file system with this tree at `/`.
    pub fn new(root: Tree) -> Self {
        let root = Arc::new(Mutex::new(root));
        Self {
            mounts: RwLock::new(vec![("/".into(), root)]),
            is_complete: true,
        }
    }

    /// A file system with this tree at `/`, to which the files of an image and of volumes are not known. Outside of `/tmp`
    /// a file that is absent reads as empty and changes without effect, and directories are created as they are needed.
    pub(crate) fn incomplete(root: Tree) -> Self {
        Self {
            is_complete: false,
            ..Self::new(root)
        }
    }

    /// Whether an absent file may be one of the image or of a volume.
    fn may_exist(&self, directory: &str, path: &str) -> bool {
        !self.is_complete && !absolute(directory, path).starts_with("/tmp/")
    }

    /// The result of a change of a file, which has no effect on a file that is not known.
    fn changed(&self, directory: &str, path: &str, result: Result<(), Errno>) -> Result<(), Errno> {
        match result {
            Err(Errno::NotFound) if self.may_exist(directory, path) => Ok(()),
            result => result,
        }
    }

    /// Mounts a volume. The mount point is created.
    pub fn mount(&self, path: &str, volume: Volume, now: Timestamp) {
        let path = normalize("/", path);
        let located = self.locate(&path);
        let _ = located.volume.lock().create_directories(&located.path, now);
        let mut mounts = self.mounts.write();
        mounts.retain(|(known, _)| *known != path);
        let at = mounts.partition_point(|(known, _)| known.len() > path.len());
        mounts.insert(at, (path, volume));
    }

    /// Writes a file of the image with the directories above it; for the set-up of a container.
    pub fn provide(&self, path: &str, data: impl Into<Bytes>, mode: u32, now: Timestamp) {
        let path = normalize("/", path);
        let located = self.locate(&path);
        let mut tree = located.volume.lock();
        let _ = tree.create_directories(parent(&located.path), now);
        let _ = tree.put(&located.path, FileKind::File(data.into()), mode, now);
    }

    /// Creates a directory and those above it; for the set-up of a container.
    pub fn provide_directory(&self, path: &str, now: Timestamp) {
        let _ = self.create_directories("/", &normalize("/", path), now);
    }

    /// Copies a file or directory of a volume, for a mount with a `subPath`; a path that is absent is
    /// an empty directory.
    pub fn provide_copy(&self, path: &str, volume: &Volume, sub_path: &str, now: Timestamp) {
        let source = normalize("/", sub_path);
        let entry = volume.lock().get(&source).cloned();
        match entry.map(|entry| entry.kind) {
            Some(FileKind::File(data)) => {
                let path = normalize("/", path);
                let _ = self.remove("/", &path);
                self.provide(&path, data, 0o644, now);
            }
            Some(FileKind::Directory) => {
                self.provide_directory(path, now);
                let children = volume.lock().children(&source);
                for (name, _) in children {
                    let (from, to) = (format!("{source}/{name}"), format!("{path}/{name}"));
                    self.provide_copy(&to, volume, &from, now);
                }
            }
            _ => self.provide_directory(path, now),
        }
    }

    /// Removes a mount.
    pub fn unmount(&self, path: &str) {
        let path = normalize("/", path);
        self.mounts
            .write()
            .retain(|(known, _)| *known != path || path == "/");
    }

    /// The mount points.
    pub(crate) fn mount_points(&self) -> Vec<(String, Volume)> {
        let mut mounts = self.mounts.read().clone();
        mounts.reverse();
        mounts
    }

    /// The tree of a path without links.
    fn locate(&self, path: &str) -> Located {
        let mounts = self.mounts.read();
        for (point, volume) in mounts.iter() {
            let rest = match point.as_str() {
                "/" => Some(path),
                point => path.strip_prefix(point),
            };
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                return Located {
                    volume: volume.clone(),
                    path: if rest.is_empty() {
                        "/".into()
                    } else {
                        rest.into()
                    },
                };
            }
        }
        // There is always a mount at `/`.
        let (_, volume) = &mounts[mounts.len() - 1];
        Located {
            volume: volume.clone(),
            path: path.into(),
        }
    }

    fn entry(&self, path: &str) -> Option<Metadata> {
        let located = self.locate(path);
        let tree = located.volume.lock();
        tree.get(&located.path).cloned()
    }

    /// Follows the links of a path. The last part may be absent; its own link is followed if
    /// `follow` is set.
    ///
    /// # Errors
    /// A directory of the path is absent or none.
    pub(crate) fn resolve(
        &self,
        directory: &str,
        path: &str,
        follow: bool,
    ) -> Result<String, Errno> {
        let mut left = LINKS;
        self.resolve_parts(&absolute(directory, path), follow, &mut left)
    }

    fn resolve_parts(&self, path: &str, follow: bool, left: &mut usize) -> Result<String, Errno> {
        let mut resolved = String::from("/");
        let mut parts: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        while let Some(part) = parts.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." => {
                    resolved = parent(&resolved).to_owned();
                    continue;
                }
                _ => {}
            }
            let next = normalize(&resolved, &part);
            let is_last = parts.iter().all(|part| matches!(part.as_str(), "" | "."));
            match self.entry(&next).map(|entry| entry.kind) {
                Some(FileKind::Link(target)) if follow || !is_last => {
                    *left = left.checked_sub(1).ok_or(Errno::Loop)?;
                    if target.starts_with('/') {
                        resolved = "/".into();
                    }
                    parts.extend(target.split('/').rev().map(str::to_owned));
                }
                Some(FileKind::Directory) => resolved = next,
                Some(_) if !is_last => return Err(Errno::NotDirectory),
                None if !is_last => return Err(Errno::NotFound),
                _ => resolved = next,
            }
        }
        Ok(resolved)
    }

    /// The entry of a path; a link is followed.
    pub(crate) fn stat(&self, directory: &str, path: &str) -> Result<Metadata, Errno> {
        let resolved = self.resolve(directory, path, true)?;
        let entry = self.entry(&resolved).ok_or(Errno::NotFound)?;
        match path.ends_with('/') && !entry.is_directory() {
            true => Err(Errno::NotDirectory),
            false => Ok(entry),
        }
    }

    /// The entry of a path; a link is not followed.
    pub(crate) fn lstat(&self, directory: &str, path: &str) -> Result<Metadata, Errno> {
        let resolved = self.resolve(directory, path, false)?;
        self.entry(&resolved).ok_or(Errno::NotFound)
    }

    /// Whether a path exists.
    pub(crate) fn exists(&self, directory: &str, path: &str) -> bool {
        self.stat(directory, path).is_ok()
    }

    pub(crate) fn is_directory(&self, directory: &str, path: &str) -> bool {
        self.stat(directory, path).is_ok_and(|e| e.is_directory())
    }

    /// The content of a file.
    pub(crate) fn read(&self, directory: &str, path: &str) -> Result<Bytes, Errno> {
        let entry = match self.stat(directory, path) {
            Err(Errno::NotFound) if self.may_exist(directory, path) => return Ok(Bytes::new()),
            entry => entry?,
        };
        match entry.kind {
            FileKind::Directory => Err(Errno::IsDirectory),
            FileKind::File(data) => Ok(data),
            FileKind::Program(name) => Ok(Bytes::from(format!("\x7fELF{name}\n"))),
            FileKind::Link(_) => Err(Errno::Loop),
        }
    }

    /// The names in a directory, sorted, with mount points.
    pub(crate) fn list(
        &self,
        directory: &str,
        path: &str,
    ) -> Result<Vec<(String, Metadata)>, Errno> {
        if !self.stat(directory, path)?.is_directory() {
            return Err(Errno::NotDirectory);
        }
        let resolved = self.resolve(directory, path, true)?;
        let located = self.locate(&resolved);
        let children = located.volume.lock().children(&located.path);
        Ok(children)
    }

    /// Writes a file, which is created if it is absent.
    pub(crate) fn write(
        &self,
        directory: &str,
        path: &str,
        data: Bytes,
        now: Timestamp,
    ) -> Result<(), Errno> {
        if path.ends_with('/') {
            return Err(Errno::IsDirectory);
        }
        self.put(directory, path, FileKind::File(data), 0o644, now)
    }

    /// Appends to a file, which is created if it is absent.
    pub(crate) fn append(
        &self,
        directory: &str,
        path: &str,
        data: &[u8],
        now: Timestamp,
    ) -> Result<(), Errno> {
        let before = match self.read(directory, path) {
            Ok(before) => before,
            Err(Errno::NotFound) => Bytes::new(),
            Err(error) => return Err(error),
        };
        if before.len() + data.len() > FILE_SIZE {
            return Err(Errno::NoSpace);
        }
        let joined = [&before[..], data].concat();
        self.write(directory, path, joined.into(), now)
    }

    /// Creates or replaces an entry that is no directory.
    pub(crate) fn put(
        &self,
        directory: &str,
        path: &str,
        kind: FileKind,
        mode: u32,
        now: Timestamp,
    ) -> Result<(), Errno> {
        let follow = !matches!(kind, FileKind::Link(_));
        if matches!(&kind, FileKind::File(data) if data.len() > FILE_SIZE) {
            return Err(Errno::NoSpace);
        }
        if self.may_exist(directory, path) {
            self.create_directories("/", parent(&absolute(directory, path)), now)?;
        }
        let resolved = self.resolve(directory, path, follow)?;
        let located = self.locate(&resolved);
        let mut tree = located.volume.lock();
        tree.put(&located.path, kind, mode, now)
    }

    pub(crate) fn create_directory(
        &self,
        directory: &str,
        path: &str,
        now: Timestamp,
    ) -> Result<(), Errno> {
        let resolved = self.resolve(directory, path, true)?;
        let located = self.locate(&resolved);
        let mut tree = located.volume.lock();
        tree.create_directory(&located.path, now)
    }

    pub(crate) fn create_directories(
        &self,
        directory: &str,
        path: &str,
        now: Timestamp,
    ) -> Result<(), Errno> {
        let mut made = String::new();
        for part in absolute(directory, path)
            .split('/')
            .filter(|p| !p.is_empty())
        {
            made = format!("{made}/{part}");
            match self.create_directory("/", &made, now) {
                Err(Errno::Exists) if self.is_directory("/", &made) => {}
                Err(Errno::Exists) => return Err(Errno::NotDirectory),
                other => other?,
            }
        }
        Ok(())
    }

    /// Removes an entry; a directory must be empty.
    pub(crate) fn remove(&self, directory: &str, path: &str) -> Result<(), Errno> {
        self.changed(directory, path, self.remove_known(directory, path))
    }

    fn remove_known(&self, directory: &str, path: &str) -> Result<(), Errno> {
        let resolved = self.resolve(directory, path, false)?;
        if self
            .mounts
            .read()
            .iter()
            .any(|(point, _)| *point == resolved)
        {
            return Err(Errno::Busy);
        }
        let located = self.locate(&resolved);
        let mut tree = located.volume.lock();
        tree.remove(&located.path)
    }

    /// Removes an entry with all that is below it.
    pub(crate) fn remove_all(&self, directory: &str, path: &str) -> Result<(), Errno> {
        if self.lstat(directory, path)?.is_directory() {
            let resolved = self.resolve(directory, path, false)?;
            for (name, _) in self.list("/", &resolved)? {
                self.remove_all("/", &normalize(&resolved, &name))?;
            }
        }
        self.remove(directory, path)
    }

    /// Moves an entry; a file at the target is replaced.
    pub(crate) fn rename(
        &self,
        directory: &str,
        from: &str,
        to: &str,
        now: Timestamp,
    ) -> Result<(), Errno> {
        let from = self.resolve(directory, from, false)?;
        let to = self.resolve(directory, to, false)?;
        let moved = match self.entry(&from) {
            None if self.may_exist("/", &from) => return Ok(()),
            moved => moved.ok_or(Errno::NotFound)?,
        };
        if from == to {
            return Ok(());
        }
        match self.entry(&to) {
            Some(target) if target.is_directory() && !moved.is_directory() => {
                return Err(Errno::IsDirectory);
            }
            Some(target) if !target.is_directory() && moved.is_directory() => {
                return Err(Errno::NotDirectory);
            }
            Some(_) => self.remove("/", &to)?,
            None => {}
        }
        let (source, target) = (self.locate(&from), self.locate(&to));
        if Arc::ptr_eq(&source.volume, &target.volume) {
            let mut tree = source.volume.lock();
            return tree.rename(&source.path, &target.path);
        }
        self.copy("/", &from, &to, now)?;
        self.remove_all("/", &from)
    }

    /// Copies an entry with all that is below it.
    pub(crate) fn copy(
        &self,
        directory: &str,
        from: &str,
        to: &str,
        now: Timestamp,
    ) -> Result<(), Errno> {
        let entry = match self.lstat(directory, from) {
            Err(Errno::NotFound) if self.may_exist(directory, from) => return Ok(()),
            entry => entry?,
        };
        if entry.is_directory() {
            let source = self.resolve(directory, from, true)?;
            let target = absolute(directory, to);
            if target == source || target.starts_with(&format!("{source}/")) {
                return Err(Errno::Invalid);
            }
            match self.create_directory("/", &target, now) {
                Err(Errno::Exists) if self.is_directory("/", &target) => {}
                other => other?,
            }
            for (name, _) in self.list("/", &source)? {
                self.copy(
                    "/",
                    &normalize(&source, &name),
                    &normalize(&target, &name),
                    now,
                )?;
            }
            return Ok(());
        }
        self.put(directory, to, entry.kind, entry.mode, now)
    }

    pub(crate) fn set_mode(&self, directory: &str, path: &str, mode: u32) -> Result<(), Errno> {
        let set = self.resolve(directory, path, true).and_then(|resolved| {
            let located = self.locate(&resolved);
            located.volume.lock().set_mode(&located.path, mode)
        });
        self.changed(directory, path, set)
    }

    pub(crate) fn set_modified(
        &self,
        directory: &str,
        path: &str,
        at: Timestamp,
    ) -> Result<(), Errno> {
        let set = self.resolve(directory, path, true).and_then(|resolved| {
            let located = self.locate(&resolved);
            located.volume.lock().set_modified(&located.path, at)
        });
        self.changed(directory, path, set)
    }

    /// The target for a file that is copied or moved to `to`: in the directory, if it is one.
    pub(crate) fn target(&self, directory: &str, from: &str, to: &str) -> String {
        match self.is_directory(directory, to) {
            true => format!("{}/{}", to.trim_end_matches('/'), file_name(from)),
            false => to.to_owned(),
        }
    }
}

/// An absolute path, in which `..` is kept until links are resolved.
fn absolute(directory: &str, path: &str) -> String {
    match path.starts_with('/') {
        true => path.to_owned(),
        false => format!("{directory}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystem::StorageBudget;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn file_system() -> FileSystem {
        FileSystem::new(Tree::new(StorageBudget::new(1 << 20), NOW))
    }

    #[test]
    fn links_and_mounts_are_followed() {
        let files = file_system();
        let volume = Arc::new(Mutex::new(Tree::new(StorageBudget::new(1 << 20), NOW)));
        files.mount("/mnt/data", volume.clone(), NOW);
        files.write("/mnt", "data/f", "text".into(), NOW).unwrap();
        assert!(volume.lock().get("/f").is_some());
        let link = FileKind::Link("mnt/data".into());
        files.put("/", "link", link, 0o777, NOW).unwrap();
        assert_eq!(files.read("/", "link/f").unwrap(), "text");
        assert_eq!(files.read("/link", "../data/f").unwrap(), "text");
        let cycle = FileKind::Link("/loop".into());
        files.put("/", "loop", cycle, 0o777, NOW).unwrap();
        assert_eq!(files.read("/", "loop").unwrap_err(), Errno::Loop);
        assert_eq!(files.remove("/", "/mnt/data"), Err(Errno::Busy));
        files.rename("/", "link/f", "/g", NOW).unwrap();
        assert_eq!(files.read("/", "g").unwrap(), "text");
        assert_eq!(files.stat("/", "g/x").unwrap_err(), Errno::NotDirectory);
    }

    #[test]
    fn directories_are_copied_and_removed() {
        let files = file_system();
        files.create_directories("/", "a/b/c", NOW).unwrap();
        files.write("/a", "b/f", "1".into(), NOW).unwrap();
        files.copy("/", "a", "/x", NOW).unwrap();
        assert_eq!(files.read("/", "x/b/f").unwrap(), "1");
        assert_eq!(files.copy("/", "a", "/a/b/d", NOW), Err(Errno::Invalid));
        files.remove_all("/", "x").unwrap();
        assert_eq!(files.list("/", "x").unwrap_err(), Errno::NotFound);
    }
}
