//! The encoding of one object in the database: a type, the revision, the length of the part before
//! `metadata`, and JSON.

use kueue_lab_apiserver::storage::{Object, StoredContent};

const ENCODED: u8 = 1;
const PREINSTALLED: u8 = 2;

/// The record of an object.
pub(crate) fn encode(object: &Object) -> Vec<u8> {
    let (kind, prelude, json) = match object.stored_content() {
        StoredContent::Encoded { json, prelude } => (ENCODED, prelude, json),
        StoredContent::Preinstalled(head) => (PREINSTALLED, 0, head.to_string().into_bytes()),
    };
    let mut record = Vec::with_capacity(json.len() + 13);
    record.push(kind);
    record.extend(object.revision().to_le_bytes());
    // An object is smaller than 4 GiB.
    record.extend(u32::try_from(prelude).unwrap_or_default().to_le_bytes());
    record.extend(json);
    record
}

/// The revision and content of a record; `None` if it is not a record.
pub(crate) fn decode(record: &[u8]) -> Option<(u64, StoredContent)> {
    let (kind, rest) = record.split_first()?;
    let (revision, rest) = rest.split_first_chunk()?;
    let (prelude, json) = rest.split_first_chunk()?;
    let prelude = usize::try_from(u32::from_le_bytes(*prelude)).ok()?;
    let content = match *kind {
        ENCODED if prelude <= json.len() => StoredContent::Encoded {
            json: json.to_vec(),
            prelude,
        },
        PREINSTALLED => StoredContent::Preinstalled(serde_json::from_slice(json).ok()?),
        _ => return None,
    };
    Some((u64::from_le_bytes(*revision), content))
}
