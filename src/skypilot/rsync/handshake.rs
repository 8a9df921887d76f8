//! The start of a session: versions, capabilities, algorithms.

use crate::error::RsyncError;
use crate::options::ServerOptions;
use crate::reader::Reader;
use crate::writer::Writer;

/// The newest version of the protocol.
const NEWEST: i32 = 31;
/// The oldest version.
const OLDEST: i32 = 30;

/// The file list may end with an error flag.
const SAFE_FILE_LIST: u64 = 1 << 3;
/// The seed precedes the data of a checksum.
const CHECKSUM_SEED_FIX: u64 = 1 << 5;
/// Flags of the file list have variable length, and algorithms are negotiated.
const VARIABLE_FLAGS: u64 = 1 << 7;

/// zlib. Its older variant differs for content that refers to blocks, which does not occur.
const COMPRESSION: &str = "zlibx";

/// The negotiated parameters of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) protocol: i32,
    /// Flags of the file list have variable length.
    pub(crate) variable_flags: bool,
}

/// Agrees with the client. Afterwards both streams have messages.
pub(crate) async fn handshake(
    options: &ServerOptions,
    reader: &mut Reader,
    writer: &mut Writer,
) -> Result<Session, RsyncError> {
    writer.int(NEWEST).await?;
    writer.send().await?;
    let protocol = reader.int().await?.min(NEWEST);
    if protocol < OLDEST {
        let text = format!("protocol version {protocol} is older than {OLDEST}");
        return Err(RsyncError::protocol(text));
    }
    let variable_flags = options.client_has('v');
    let mut flags = 0;
    for (capability, flag) in [
        ('f', SAFE_FILE_LIST),
        ('C', CHECKSUM_SEED_FIX),
        ('v', VARIABLE_FLAGS),
    ] {
        if options.client_has(capability) {
            flags |= flag;
        }
    }
    writer.variable(flags, 1).await?;
    if variable_flags {
        let algorithms = ["md5", COMPRESSION];
        let negotiated = 1 + usize::from(options.compress && !options.zlib);
        for algorithm in &algorithms[..negotiated] {
            writer.string(algorithm).await?;
        }
        writer.send().await?;
        for algorithm in &algorithms[..negotiated] {
            choose(algorithm, reader).await?;
        }
    }
    // The seed of checksums, which are not used with a seed here.
    writer.int(1).await?;
    writer.multiplex().await?;
    reader.multiplex();
    Ok(Session {
        protocol,
        variable_flags,
    })
}

async fn choose(algorithm: &str, reader: &mut Reader) -> Result<(), RsyncError> {
    let known = reader.string().await?;
    match known.split(' ').any(|name| name == algorithm) {
        true => Ok(()),
        false => Err(RsyncError::syntax(format!(
            "the client does not support {algorithm}, only {known}"
        ))),
    }
}
