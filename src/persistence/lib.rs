//! The data directory of an embedded cluster: its objects, credentials and port.
//!
//! | file | content |
//! |---|---|
//! | `cluster.json` | the version of the format, the port |
//! | `credentials.json` | certificate authorities, the key of service account tokens, the administrator's token |
//! | `objects.redb` | the objects, the revision and the lab time: a database of the crate redb |
//! | `lock` | the id of the process that uses the directory, which holds a lock on the file |

mod data_dir;
mod database_source;
mod directory_lock;
mod error;
mod object_database;
mod private_file;
mod record;

#[cfg(test)]
mod tests;

pub use data_dir::DataDir;
pub use error::DataDirError;
