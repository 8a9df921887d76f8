//! The data directory of an embedded cluster: its objects, credentials and port.
//!
//! | file | content |
//! |---|---|
//! | `cluster.json` | the version of the format, the port |
//! | `credentials.json` | certificate authorities, the key of service account tokens, the administrator's token |
//! | `objects.redb` | the objects, the revision and the lab time: a database of the crate redb |
//! | `reserve` | nothing: its space is for deletions when the disk is full |
//! | `failed-starts.json` | the starts in a row that did not succeed |
//! | `lock` | the id of the process that uses the directory, which holds a lock on the file |

mod data_dir;
mod database_source;
mod directory_lock;
mod error;
mod object_database;
mod private_file;
mod record;
mod space_reserve;
mod start_record;
mod suspect_objects;

#[cfg(test)]
mod tests;

pub use data_dir::DataDir;
pub use error::{DamagedFile, DataDirError};
pub use start_record::StartRecord;
pub use suspect_objects::SuspectObject;
