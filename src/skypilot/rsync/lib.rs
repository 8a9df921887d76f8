//! The server side of rsync's protocol, versions 30 and 31: what `rsync --server` speaks on its standard
//! streams, for a file system that the caller gives ([`Files`]).
//!
//! Must not depend on other crates of the lab.

mod compression;
mod error;
mod file_list;
mod files;
mod handshake;
mod options;
mod reader;
mod receiver;
mod sender;
mod server;
#[cfg(test)]
mod sessions;
mod writer;

pub use error::RsyncError;
pub use files::{FileError, FileStatus, FileType, Files};
pub use options::ServerOptions;
pub use server::serve;
