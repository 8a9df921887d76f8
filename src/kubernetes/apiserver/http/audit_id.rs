//! `Audit-ID` of requests and responses.

use http::{HeaderMap, HeaderName, HeaderValue};
use kueue_lab_clock::Entropy;

/// The header.
pub(super) const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// The longest ID that is taken from a client.
const MAX_LENGTH: usize = 64;

/// The ID of a request: that of its header, cut to its maximum length, or a new one.
pub(super) fn audit_id(headers: &HeaderMap, entropy: &Entropy) -> Option<HeaderValue> {
    let given = headers.get(AUDIT_ID).and_then(|id| id.to_str().ok());
    match given {
        None | Some("") => HeaderValue::from_str(&entropy.uid()).ok(),
        Some(id) => HeaderValue::from_str(id.get(..MAX_LENGTH).unwrap_or(id)).ok(),
    }
}
