//! [`MemoryFiles`]: a file system of absolute paths.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;

use crate::{FileError, FileStatus, FileType, Files};

/// A file with its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemoryFile {
    pub(super) status: FileStatus,
    pub(super) data: Bytes,
}

/// Files by path. `/` exists.
#[derive(Default)]
pub(super) struct MemoryFiles {
    files: Mutex<BTreeMap<String, MemoryFile>>,
}

impl MemoryFiles {
    pub(super) fn files(&self) -> MutexGuard<'_, BTreeMap<String, MemoryFile>> {
        self.files.lock().unwrap()
    }

    fn put(&self, path: &str, kind: FileType, data: Bytes, mode: u32, modified: i64) {
        let status = FileStatus {
            kind,
            mode,
            size: data.len() as u64,
            modified,
        };
        let path = normal(path);
        self.files().insert(path, MemoryFile { status, data });
    }
}

/// The path without `.` and slashes at its end.
fn normal(path: &str) -> String {
    let parts = path.split('/').filter(|p| !p.is_empty() && *p != ".");
    parts.map(|part| format!("/{part}")).collect()
}

impl Files for MemoryFiles {
    fn max_size(&self) -> usize {
        1 << 20
    }

    fn status(&self, path: &str) -> Option<FileStatus> {
        match normal(path).as_str() {
            "" => Some(FileStatus {
                kind: FileType::Directory,
                mode: 0o755,
                size: 0,
                modified: 0,
            }),
            path => self.files().get(path).map(|file| file.status.clone()),
        }
    }

    fn read(&self, path: &str) -> Result<Bytes, FileError> {
        let files = self.files();
        let file = files.get(&normal(path));
        file.map(|f| f.data.clone()).ok_or("absent".into())
    }

    fn list(&self, path: &str) -> Result<Vec<String>, FileError> {
        let prefix = format!("{}/", normal(path));
        let files = self.files();
        let below = files.keys().filter_map(|path| path.strip_prefix(&prefix));
        Ok(below
            .filter(|name| !name.contains('/'))
            .map(str::to_owned)
            .collect())
    }

    fn write(
        &self,
        path: &str,
        data: Bytes,
        mode: Option<u32>,
        modified: Option<i64>,
    ) -> Result<(), FileError> {
        if path.ends_with("unwritable") {
            return Err("No space left on device".into());
        }
        let (mode, modified) = (mode.unwrap_or(0o644), modified.unwrap_or(1));
        self.put(path, FileType::File, data, mode, modified);
        Ok(())
    }

    fn create_directory(&self, path: &str, mode: Option<u32>) -> Result<(), FileError> {
        self.put(
            path,
            FileType::Directory,
            Bytes::new(),
            mode.unwrap_or(0o755),
            1,
        );
        Ok(())
    }

    fn create_link(&self, path: &str, target: &str) -> Result<(), FileError> {
        self.put(path, FileType::Link(target.into()), Bytes::new(), 0o777, 1);
        Ok(())
    }
}
