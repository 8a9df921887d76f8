//! The machine that the lab runs on: the only place that opens its files, connects to its addresses and
//! runs its programs.
//!
//! Which of them are used is decided by the person who starts the process, with the command line and with
//! files of the machine. What comes through an API, such as a kubeconfig in a Secret or an EndpointSlice,
//! names no file and no program, and reaches an address of this machine only if [`HostAddresses`] permits it.

mod client;
mod file_kind;
mod host_addresses;
mod read_file;
mod sockets;
mod write_file;

pub use client::{ClientError, client, client_within};
pub use host_addresses::HostAddresses;
pub use read_file::{
    FILE_LIMIT, read, read_argument, read_argument_to_string, read_stdin, read_to_string,
};
pub use sockets::{connect, listen, local_address_towards};
pub use write_file::{create, open_with, program, write};
