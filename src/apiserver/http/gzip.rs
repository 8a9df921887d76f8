//! Compression of large responses, upstream's `APIResponseCompression`.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use http::{HeaderMap, HeaderValue, Response};
use kueue_lab_blocking::HeavyWork;

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

/// Compresses a large response; streams are remaining as they are.
pub(super) async fn compress(response: Response<Body>, heavy_work: &HeavyWork) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    let is_large = body.length().is_some_and(|length| length > THRESHOLD);
    if !is_large || head.headers.contains_key(CONTENT_ENCODING) {
        return Response::from_parts(head, body);
    }
    let chunks = match body.into_chunks() {
        Ok(chunks) => chunks,
        Err(body) => return Response::from_parts(head, body),
    };
    let original = chunks.clone();
    let Ok(compressed) = heavy_work.run(async { gzip(chunks) }).await else {
        return Response::from_parts(head, Body::chunks(original));
    };
    let gzip = HeaderValue::from_static("gzip");
    head.headers.insert(CONTENT_ENCODING, gzip);
    let vary = HeaderValue::from_static("Accept-Encoding");
    head.headers.append(VARY, vary);
    Response::from_parts(head, Bytes::from(compressed).into())
}

fn gzip(chunks: impl IntoIterator<Item = Bytes>) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(LEVEL));
    for chunk in chunks {
        encoder.write_all(&chunk)?;
    }
    encoder.finish()
}
