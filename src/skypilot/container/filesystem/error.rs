//! Errors of system calls, as `strerror` words them.

/// An error of a file system operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Errno {
    #[error("No such file or directory")]
    NotFound,
    #[error("File exists")]
    Exists,
    #[error("Not a directory")]
    NotDirectory,
    #[error("Is a directory")]
    IsDirectory,
    #[error("Directory not empty")]
    NotEmpty,
    #[error("Read-only file system")]
    ReadOnly,
    #[error("No space left on device")]
    NoSpace,
    #[error("Too many levels of symbolic links")]
    Loop,
    #[error("File name too long")]
    NameTooLong,
    #[error("Device or resource busy")]
    Busy,
    #[error("Invalid argument")]
    Invalid,
}
