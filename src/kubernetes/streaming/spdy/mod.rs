//! SPDY/3.1, the server's side, as `spdystream` uses it: no flow control, no server push.

mod connection;
mod frame;
mod header_block;
mod stream;

pub(crate) use connection::{Connection, serve_connection};
pub(crate) use stream::{SpdyStream, StreamReader, StreamWriter};
