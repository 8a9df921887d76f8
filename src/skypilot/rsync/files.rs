//! The file system of a session.

use std::error::Error;

use bytes::Bytes;

/// The type of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link with its target.
    Link(String),
}

/// The attributes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// The type.
    pub kind: FileType,
    /// Permissions.
    pub mode: u32,
    /// Size in bytes.
    pub size: u64,
    /// The modification time, in seconds since 1970.
    pub modified: i64,
}

/// An error of a system call, as `strerror` words it (`No such file or directory`).
pub type FileError = Box<dyn Error + Send + Sync>;

/// A file system. Relative paths are those of the working directory.
pub trait Files: Send + Sync {
    /// The largest file that can be written, in bytes.
    fn max_size(&self) -> usize;

    /// The attributes of a path; links are not followed in its last part.
    fn status(&self, path: &str) -> Option<FileStatus>;

    /// The content of a file.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&self, path: &str) -> Result<Bytes, FileError>;

    /// The names in a directory.
    ///
    /// # Errors
    /// It cannot be read.
    fn list(&self, path: &str) -> Result<Vec<String>, FileError>;

    /// Writes a file, with its permissions and modification time if they are given.
    ///
    /// # Errors
    /// It cannot be written.
    fn write(
        &self,
        path: &str,
        data: Bytes,
        mode: Option<u32>,
        modified: Option<i64>,
    ) -> Result<(), FileError>;

    /// Creates a directory.
    ///
    /// # Errors
    /// It cannot be created.
    fn create_directory(&self, path: &str, mode: Option<u32>) -> Result<(), FileError>;

    /// Creates or replaces a symbolic link.
    ///
    /// # Errors
    /// It cannot be created.
    fn create_link(&self, path: &str, target: &str) -> Result<(), FileError>;
}
