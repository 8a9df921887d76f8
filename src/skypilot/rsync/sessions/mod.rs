//! Sessions with the installed rsync, and with clients that break the protocol.

mod memory_files;
mod protocol;
mod real_client;
