//! Errors of system calls, as `strerror` words them.

/// An error of a file system operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Errno {
    /// `ENOENT`
    #[error("No such file or directory")]
    NotFound,
    /// `EEXIST`
    #[error("File exists")]
    Exists,
    /// `ENOTDIR`
    #[error("Not a directory")]
    NotDirectory,
    /// `EISDIR`
    #[error("Is a directory")]
    IsDirectory,
    /// `ENOTEMPTY`
    #[error("Directory not empty")]
    NotEmpty,
    /// `EROFS`
    #[error("Read-only file system")]
    ReadOnly,
    /// `ENOSPC`
    #[error("No space left on device")]
    NoSpace,
    /// `ELOOP`
    #[error("Too many levels of symbolic links")]
    Loop,
    /// `ENAMETOOLONG`
    #[error("File name too long")]
    NameTooLong,
    /// `EBUSY`
    #[error("Device or resource busy")]
    Busy,
    /// `EINVAL`
    #[error("Invalid argument")]
    Invalid,
}
