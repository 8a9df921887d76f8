//! The file system of a container: trees in memory, mounted into each other.

mod error;
mod file_system;
mod image;
mod path;
mod tree;

pub use error::Errno;
pub(crate) use file_system::FILE_SIZE;
pub use file_system::FileSystem;
pub use image::base_image;
pub(crate) use path::{file_name, normalize, parent};
pub(crate) use tree::{FileKind, Metadata};
pub use tree::{StorageBudget, Tree, Volume};
