//! One session.

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::error::RsyncError;
use crate::files::Files;
use crate::handshake::handshake;
use crate::options::ServerOptions;
use crate::reader::Reader;
use crate::writer::Writer;
use crate::{receiver, sender};

/// Serves a session on the standard streams of `rsync --server`. Returns the exit code: 0, or 23 if some
/// files were not transferred.
///
/// # Errors
/// The session ends early. The client does not print the error; it is for the standard error.
pub async fn serve(
    options: &ServerOptions,
    files: &dyn Files,
    input: mpsc::Receiver<Bytes>,
    output: mpsc::Sender<Bytes>,
) -> Result<i32, RsyncError> {
    let (mut reader, mut writer) = (Reader::new(input), Writer::new(output));
    let session = handshake(options, &mut reader, &mut writer).await?;
    match options.sender {
        true => sender::run(options, session, files, &mut reader, &mut writer).await,
        false => receiver::run(options, session, files, &mut reader, &mut writer).await,
    }
}
