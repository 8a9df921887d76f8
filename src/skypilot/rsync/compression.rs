//! File content: literal data, or data compressed by zlib.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress};

use crate::error::RsyncError;
use crate::reader::Reader;
use crate::writer::Writer;

/// Maximum size of a piece of content, in bytes.
const PIECE: usize = 32 << 10;
/// Compressed data, with the upper six bits of its length.
const DEFLATED: u8 = 0x40;
/// Maximum length of compressed data, in bytes.
const DEFLATED_LENGTH: usize = 0x3fff;
/// The end of compressed data, which is not sent.
const MARKER: [u8; 4] = [0, 0, 0xff, 0xff];

/// Reads the content of a file. The end beyond `limit` bytes is dropped, and the result is false.
pub(crate) async fn read(
    reader: &mut Reader,
    deflate: bool,
    limit: usize,
) -> Result<(Vec<u8>, bool), RsyncError> {
    let mut content = Content {
        data: Vec::new(),
        limit,
        fits: true,
    };
    match deflate {
        true => read_deflated(reader, &mut content).await?,
        false => loop {
            match reader.int().await? {
                0 => break,
                length => {
                    let length = usize::try_from(length).map_err(|_| no_blocks())?;
                    let mut left = length;
                    while left > 0 {
                        let piece = reader.bytes(left.min(PIECE)).await?;
                        left -= piece.len();
                        content.add(&piece);
                    }
                }
            }
        },
    }
    Ok((content.data, content.fits))
}

struct Content {
    data: Vec<u8>,
    limit: usize,
    fits: bool,
}

impl Content {
    fn add(&mut self, piece: &[u8]) {
        self.fits &= self.data.len() + piece.len() <= self.limit;
        if self.fits {
            self.data.extend_from_slice(piece);
        }
    }
}

/// The client refers to a block of a file, though it knows none.
fn no_blocks() -> RsyncError {
    RsyncError::protocol("invalid block index")
}

async fn read_deflated(reader: &mut Reader, content: &mut Content) -> Result<(), RsyncError> {
    let mut inflate = Decompress::new(false);
    let mut has_data = false;
    loop {
        match reader.byte().await? {
            0 => {
                if has_data {
                    inflate_piece(&mut inflate, &MARKER, content)?;
                }
                return Ok(());
            }
            flag if flag & 0xc0 == DEFLATED => {
                has_data = true;
                let low = reader.byte().await?;
                let length = usize::from(flag & 0x3f) << 8 | usize::from(low);
                let data = reader.bytes(length).await?;
                inflate_piece(&mut inflate, &data, content)?;
            }
            _ => return Err(no_blocks()),
        }
    }
}

fn inflate_piece(
    inflate: &mut Decompress,
    mut data: &[u8],
    content: &mut Content,
) -> Result<(), RsyncError> {
    loop {
        let mut output = Vec::with_capacity(PIECE);
        let before = inflate.total_in();
        let result = inflate.decompress_vec(data, &mut output, FlushDecompress::Sync);
        result.map_err(|error| RsyncError::protocol(error.to_string()))?;
        let taken = usize::try_from(inflate.total_in() - before).unwrap_or(data.len());
        data = &data[taken.min(data.len())..];
        content.add(&output);
        if data.is_empty() && output.len() < PIECE {
            return Ok(());
        }
        if taken == 0 && output.is_empty() {
            return Err(RsyncError::protocol("invalid compressed data"));
        }
    }
}

/// Writes the content of a file.
pub(crate) async fn write(
    writer: &mut Writer,
    deflate: bool,
    data: &[u8],
) -> Result<(), RsyncError> {
    if !deflate {
        for piece in data.chunks(PIECE) {
            writer.int(piece.len() as i32).await?;
            writer.bytes(piece).await?;
        }
        return writer.int(0).await;
    }
    let mut compress = Compress::new(Compression::default(), false);
    let mut output = Vec::with_capacity(data.len() + PIECE);
    let mut rest = data;
    // An output with space left is complete.
    while output.is_empty() || output.len() == output.capacity() {
        output.reserve(PIECE);
        let before = compress.total_in();
        let result = compress.compress_vec(rest, &mut output, FlushCompress::Sync);
        result.map_err(|error| RsyncError::protocol(error.to_string()))?;
        let taken = usize::try_from(compress.total_in() - before).unwrap_or(rest.len());
        rest = &rest[taken.min(rest.len())..];
    }
    let output = output.strip_suffix(&MARKER).unwrap_or(&output);
    for part in output.chunks(DEFLATED_LENGTH) {
        let [low, high] = (part.len() as u16).to_le_bytes();
        writer.bytes(&[DEFLATED | high, low]).await?;
        writer.bytes(part).await?;
    }
    writer.bytes(&[0]).await
}
