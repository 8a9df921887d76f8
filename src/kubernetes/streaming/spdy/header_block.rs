//! Header blocks: names and values, compressed with zlib and the dictionary of SPDY/3.

use std::sync::LazyLock;

use bytes::{Buf, BufMut, BytesMut};
use flate2::{
    Compress, Compression, Decompress, DecompressError, FlushCompress, FlushDecompress, Status,
};

use super::frame::FrameError;

/// Names and values of headers; a name with several values has them separated by NUL.
pub(super) type Headers = Vec<(String, String)>;

/// Maximum size of the headers of a frame, in bytes.
const HEADERS_SIZE: usize = 64 << 10;
/// Maximum number of headers of a frame.
const HEADERS_COUNT: u32 = 256;

/// The words of the dictionary, each preceded by its length (SPDY/3, 2.6.10.1).
const WORDS: &str = "options head post put delete trace accept accept-charset accept-encoding \
    accept-language accept-ranges age allow authorization cache-control connection content-base \
    content-encoding content-language content-length content-location content-md5 content-range \
    content-type date etag expect expires from host if-match if-modified-since if-none-match \
    if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate \
    proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade \
    user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url \
    public set-cookie keep-alive origin";
/// The rest of the dictionary.
const TEXT: &str = "10010120120220520630030230330430530630740240540640740840941041141241341441\
    5416417502504505203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad \
    Request401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not \
    Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 \
    Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,\
    application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,\
    deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

static DICTIONARY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut dictionary = Vec::new();
    for word in WORDS.split(' ') {
        dictionary.put_u32(word.len() as u32);
        dictionary.put_slice(word.replace('_', " ").as_bytes());
    }
    dictionary.put_slice(TEXT.as_bytes());
    dictionary
});

/// Decompresses the header blocks of one direction of a connection, which are one zlib stream.
pub(super) struct HeaderDecompressor(Decompress);

impl HeaderDecompressor {
    pub(super) fn new() -> Self {
        Self(Decompress::new(true))
    }

    /// The headers of a block.
    ///
    /// # Errors
    /// The block is invalid or too large.
    pub(super) fn decode(&mut self, block: &[u8]) -> Result<Headers, FrameError> {
        let text = self.inflate(block)?;
        parse(&text)
    }

    fn inflate(&mut self, mut block: &[u8]) -> Result<Vec<u8>, FrameError> {
        let mut text = Vec::with_capacity(4 << 10);
        loop {
            let before = self.0.total_in();
            let outcome = self
                .0
                .decompress_vec(block, &mut text, FlushDecompress::Sync);
            let read = usize::try_from(self.0.total_in() - before).unwrap_or(0);
            block = block.get(read..).unwrap_or_default();
            match outcome {
                Ok(Status::StreamEnd) => return Ok(text),
                Ok(_) if text.len() < text.capacity() => return Ok(text),
                Ok(_) if text.len() >= HEADERS_SIZE => {
                    return Err(FrameError::HeaderBlock("too large"));
                }
                Ok(_) => text.reserve(text.len()),
                Err(error) => self.set_dictionary(&error)?,
            }
        }
    }

    fn set_dictionary(&mut self, error: &DecompressError) -> Result<(), FrameError> {
        let invalid = FrameError::HeaderBlock("not compressed with the dictionary of SPDY/3");
        if error.needs_dictionary().is_none() {
            return Err(invalid);
        }
        let set = self.0.set_dictionary(&DICTIONARY);
        set.map(drop).map_err(|_| invalid)
    }
}

fn parse(mut text: &[u8]) -> Result<Headers, FrameError> {
    let short = FrameError::HeaderBlock("too short");
    let count = text.try_get_u32().map_err(|_| short.clone())?;
    if count > HEADERS_COUNT {
        return Err(FrameError::HeaderBlock("too many headers"));
    }
    let mut word = || {
        let length = text.try_get_u32().ok()? as usize;
        let (word, rest) = text.split_at_checked(length)?;
        text = rest;
        Some(String::from_utf8_lossy(word).into_owned())
    };
    let headers = (0..count).map(|_| Some((word()?, word()?)));
    headers.collect::<Option<_>>().ok_or(short)
}

/// Compresses the header blocks of one direction of a connection.
pub(super) struct HeaderCompressor(Option<Compress>);

impl HeaderCompressor {
    pub(super) fn new() -> Self {
        let mut zlib = Compress::new(Compression::fast(), true);
        let set = zlib.set_dictionary(&DICTIONARY);
        Self(set.is_ok().then_some(zlib))
    }

    /// Appends a block to `out`.
    ///
    /// # Errors
    /// zlib fails.
    pub(super) fn encode(
        &mut self,
        headers: &[(String, String)],
        out: &mut BytesMut,
    ) -> Result<(), FrameError> {
        let failed = || FrameError::HeaderBlock("cannot be compressed");
        let mut text = Vec::new();
        text.put_u32(headers.len() as u32);
        for (name, value) in headers {
            for word in [name, value] {
                text.put_u32(word.len() as u32);
                text.put_slice(word.as_bytes());
            }
        }
        let zlib = self.0.as_mut().ok_or_else(failed)?;
        let (mut rest, mut block) = (&text[..], Vec::with_capacity(text.len() + 64));
        loop {
            let before = zlib.total_in();
            zlib.compress_vec(rest, &mut block, FlushCompress::Sync)
                .map_err(|_| failed())?;
            let read = usize::try_from(zlib.total_in() - before).unwrap_or(0);
            rest = rest.get(read..).unwrap_or_default();
            if block.len() < block.capacity() {
                break;
            }
            block.reserve(block.len());
        }
        out.put_slice(&block);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dictionary_is_that_of_the_specification() {
        assert_eq!(DICTIONARY.len(), 1423);
        // The identifier of the dictionary in zlib streams: its Adler-32 checksum.
        let (mut a, mut b) = (1_u32, 0_u32);
        for byte in DICTIONARY.iter() {
            a = (a + u32::from(*byte)) % 65_521;
            b = (b + a) % 65_521;
        }
        assert_eq!(b << 16 | a, 0xe3c6_a7c2);
    }

    #[test]
    fn large_decompressed_blocks_are_rejected() {
        let mut zlib = Compress::new(Compression::best(), true);
        zlib.set_dictionary(&DICTIONARY).unwrap();
        let mut block = Vec::with_capacity(1 << 20);
        zlib.compress_vec(&vec![0; 10 << 20], &mut block, FlushCompress::Sync)
            .unwrap();
        let error = HeaderDecompressor::new().decode(&block).unwrap_err();
        assert_eq!(error, FrameError::HeaderBlock("too large"));
    }
}
