//! Compression of large responses, upstream's `APIResponseCompression`.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use http::{HeaderMap, HeaderValue, Response};

use super::heavy_flow::HeavyFlow;
use crate::endpoints::response_body::Body;

/// The size above which responses are compressed, in bytes.
const THRESHOLD: u64 = 128 << 10;
const LEVEL: u32 = 1;

/// Whether the client accepts gzip.
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|token| token.trim() == "gzip")
}

/// Compresses a large response; other streams than encoded ones remain as they are.
pub(super) async fn compress(response: Response<Body>, flow: Option<&HeavyFlow>) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    if head.headers.contains_key(CONTENT_ENCODING) {
        return Response::from_parts(head, body);
    }
    let body = if body.is_encoded_while_sent() {
        body.map_chunks(GzipChunks::new)
    } else {
        let is_large = body.length().is_some_and(|length| length > THRESHOLD);
        if !is_large {
            return Response::from_parts(head, body);
        }
        match compress_chunks(body, flow).await {
            Ok(body) => body,
            Err(body) => return Response::from_parts(head, body),
        }
    };
    let gzip = HeaderValue::from_static("gzip");
    head.headers.insert(CONTENT_ENCODING, gzip);
    let vary = HeaderValue::from_static("Accept-Encoding");
    head.headers.append(VARY, vary);
    Response::from_parts(head, body)
}

async fn compress_chunks(body: Body, flow: Option<&HeavyFlow>) -> Result<Body, Body> {
    let (chunks, held) = body.into_chunks()?;
    let original = chunks.clone();
    let compressed = match flow {
        Some(flow) => flow.run(async { gzip(chunks) }).await,
        None => kueue_lab_blocking::compute(|| gzip(chunks)),
    };
    match compressed {
        Ok(compressed) => Ok(Body::from(Bytes::from(compressed)).holding(held)),
        Err(_) => Err(Body::chunks(original).holding(held)),
    }
}

/// Compresses chunks one by one.
struct GzipChunks<I> {
    chunks: I,
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<I> GzipChunks<I> {
    fn new(chunks: I) -> Self {
        Self {
            chunks,
            encoder: Some(GzEncoder::new(Vec::new(), Compression::new(LEVEL))),
        }
    }
}

impl<I: Iterator<Item = Bytes>> Iterator for GzipChunks<I> {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        loop {
            let Some(chunk) = self.chunks.next() else {
                let rest = self.encoder.take()?.finish().ok()?;
                return Some(rest.into());
            };
            let encoder = self.encoder.as_mut()?;
            encoder.write_all(&chunk).ok()?;
            let compressed = std::mem::take(encoder.get_mut());
            if !compressed.is_empty() {
                return Some(compressed.into());
            }
        }
    }
}

fn gzip(chunks: impl IntoIterator<Item = Bytes>) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
    for chunk in chunks {
        encoder.write_all(&chunk)?;
    }
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn chunks_are_compressed_one_by_one() {
        // Texts that are hard to compress, so that there is output before the end.
        let mut number = 1_u64;
        let mut text = || {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            format!("{number:x}")
        };
        let plain: Vec<Bytes> = (0..100)
            .map(|_| (0..1000).map(|_| text()).collect::<String>().into())
            .collect();
        let compressed: Vec<Bytes> = GzipChunks::new(plain.clone().into_iter()).collect();
        assert!(compressed.len() > 10);
        let mut decoded = Vec::new();
        let all = compressed.concat();
        GzDecoder::new(&*all).read_to_end(&mut decoded).unwrap();
        assert_eq!(decoded, plain.concat());
    }
}
