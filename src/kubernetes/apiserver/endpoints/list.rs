//! The list handler: consistent pages of one revision.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::continue_token::{
    ContinueToken, decode_continue, encode_continue, expired_continue_error,
};
use super::request_context::RequestContext;
use super::resource_version::{parse_list_resource_version, too_large_resource_version};
use super::response::ApiResponse;
use super::response_body::Body;
use super::response_transformer::{convert_list, is_stored_form, partial_object_metadata};
use super::selection_predicate::SelectionPredicate;
use crate::flow_control::response_bytes::{AboveLimit, LARGE_RESPONSE, ResponseBytes};
use crate::request::ResponseForm;
use crate::request::content_negotiation::Encoding;
use crate::storage::{Object, Snapshot, SnapshotError};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_field::FieldError;

/// The size of the chunks of a list, in bytes.
const CHUNK_SIZE: usize = 64 << 10;
/// The size of a list up to which its JSON is made at once, in bytes.
const SENT_AT_ONCE: usize = 1 << 20;

/// One page of a list.
pub(super) struct ListPage {
    pub(super) objects: Vec<Arc<Object>>,
    pub(super) revision: u64,
    token: Option<String>,
    remaining: Option<usize>,
}

/// Handles GET of a collection.
pub(super) fn list(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let page = list_page(call)?;
    convert_list(call.core, &call.served, page.objects.iter())?;
    list_response(call, &page)
}

/// The response for a page.
fn list_response(call: &RequestContext<'_>, page: &ListPage) -> Result<ApiResponse, ApiError> {
    let mut metadata = json!({"resourceVersion": page.revision.to_string()});
    if let Some(token) = &page.token {
        metadata["continue"] = token.as_str().into();
    }
    if let Some(remaining) = page.remaining {
        metadata["remainingItemCount"] = remaining.into();
    }
    let (view, objects) = (&call.transformer, page.objects.iter());
    let mut budget = ResponseBudget::of(call);
    let value = match view.accept.form {
        ResponseForm::Object | ResponseForm::Discovery => return plain_list(call, page, &metadata),
        ResponseForm::PartialObjectMetadata => {
            let items = objects.map(|o| {
                let item = partial_object_metadata(&*view.partial_metadata(o)?);
                budget.add(json_size(&item))?;
                Ok(item)
            });
            json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
                "items": items.collect::<Result<Vec<_>, ApiError>>()?,
            })
        }
        ResponseForm::Table => {
            let rows = objects.map(|o| {
                let row = view.table_row(&*view.decoded(o)?);
                budget.add(json_size(&row))?;
                Ok(row)
            });
            view.table(rows.collect::<Result<Vec<_>, ApiError>>()?, &metadata, true)
        }
    };
    Ok(ApiResponse::value(200, view.accept, &value))
}

/// An empty list of a kind without stored objects.
pub(super) fn empty_list(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    if !call.path.name.is_empty() {
        return Err(call.not_found(&call.path.name));
    }
    let revision = call.core.store.durable_revision();
    let page = ListPage {
        objects: Vec::new(),
        revision,
        token: None,
        remaining: None,
    };
    list_response(call, &page)
}

/// The list as a plain JSON object, assembled from stored encodings. The JSON of a large list is
/// made while it is sent, so that clients that read slowly do not keep lists in memory.
fn plain_list(
    call: &RequestContext<'_>,
    page: &ListPage,
    metadata: &Value,
) -> Result<ApiResponse, ApiError> {
    let kind = json!(&*call.served.kind.list_kind);
    let api_version = json!(call.served.api_version);
    let head = format!(
        "{{\"kind\":{kind},\"apiVersion\":{api_version},\"metadata\":{metadata},\"items\":["
    );
    let items: Vec<ListItem> = page
        .objects
        .iter()
        .map(|object| {
            if call.served.custom.is_none() && is_stored_form(&call.served, object) {
                return Ok(ListItem::Stored(object.clone()));
            }
            call.transformer.encoded(object).map(ListItem::Encoded)
        })
        .collect::<Result<_, ApiError>>()?;
    let accept = call.transformer.accept;
    let size = items.iter().map(ListItem::size).sum::<usize>();
    let is_large = size > SENT_AT_ONCE;
    let chunks = ListChunks {
        head: Some(head),
        items: items.into_iter(),
        is_first: true,
    };
    if accept.encoding != Encoding::Json || accept.pretty {
        ResponseBudget::of(call).add(size)?;
        let body = chunks.collect::<Vec<Bytes>>().concat().into();
        return Ok(ApiResponse::encoded(200, accept, body));
    }
    let body = match is_large {
        true => Body::encoded_while_sent(chunks),
        false => Body::chunks(chunks.collect::<VecDeque<_>>()),
    };
    Ok(ApiResponse::new(200, "application/json", body))
}

/// The bytes of a list that is encoded as a whole, which are counted before it is.
struct ResponseBudget<'a> {
    bytes: Option<&'a ResponseBytes>,
    size: usize,
    reserved: usize,
}

impl<'a> ResponseBudget<'a> {
    /// Requests without limits have none.
    fn of(call: &'a RequestContext<'_>) -> Self {
        Self {
            bytes: call.request.parts.extensions.get::<ResponseBytes>(),
            size: 0,
            reserved: 0,
        }
    }

    /// Counts more bytes.
    fn add(&mut self, size: usize) -> Result<(), ApiError> {
        self.size = self.size.saturating_add(size);
        let Some(bytes) = self.bytes.filter(|_| self.size > self.reserved) else {
            return Ok(());
        };
        // In steps, so that not each item takes the lock of all users.
        self.reserved = self.size.next_multiple_of(LARGE_RESPONSE);
        bytes.reserve(self.size).map_err(|AboveLimit| bytes.error())
    }
}

/// The size of the JSON of a value in bytes, without escapes.
fn json_size(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter();
            2 + fields
                .map(|(name, value)| name.len() + 4 + json_size(value))
                .sum::<usize>()
        }
        Value::Array(items) => 2 + items.iter().map(|item| 1 + json_size(item)).sum::<usize>(),
        Value::String(text) => text.len() + 2,
        _ => 4,
    }
}

/// An item of a plain list.
enum ListItem {
    /// An object in its stored form, without kind and API version.
    Stored(Arc<Object>),
    /// An encoding, which the object shares.
    Encoded(Bytes),
}

impl ListItem {
    fn size(&self) -> usize {
        match self {
            // An encoding that does not exist yet is made here, and not while it is sent.
            Self::Stored(object) => object.list_item_bytes().len(),
            Self::Encoded(bytes) => bytes.len(),
        }
    }
}

/// The JSON of a list in chunks.
struct ListChunks {
    /// The text before the items, if it was not sent.
    head: Option<String>,
    items: std::vec::IntoIter<ListItem>,
    is_first: bool,
}

impl Iterator for ListChunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.head.is_none() && self.items.as_slice().is_empty() {
            return None;
        }
        let mut chunk = self.head.take().unwrap_or_default().into_bytes();
        for item in self.items.by_ref() {
            if !std::mem::take(&mut self.is_first) {
                chunk.push(b',');
            }
            match item {
                ListItem::Stored(object) => {
                    chunk.push(b'{');
                    chunk.extend_from_slice(&object.list_item_bytes());
                }
                ListItem::Encoded(bytes) => chunk.extend_from_slice(&bytes),
            }
            if chunk.len() >= CHUNK_SIZE {
                break;
            }
        }
        if self.items.as_slice().is_empty() {
            chunk.extend_from_slice(b"]}");
        }
        Some(chunk.into())
    }
}

/// Reads the page selected by the request's list options.
pub(super) fn list_page(call: &RequestContext<'_>) -> Result<ListPage, ApiError> {
    let selection = SelectionPredicate::from_request(call)?;
    let limit = usize::try_from(call.query.integer("limit")?.unwrap_or(0)).unwrap_or(0);
    let (snapshot, resumed) = snapshot(call, limit)?;
    let mut page = ListPage {
        objects: Vec::new(),
        revision: snapshot.revision(),
        token: None,
        remaining: None,
    };
    if let Some(key) = selection.matches_single() {
        if let Some(object) = snapshot.get(&key)
            && selection.matches(object)?
        {
            page.objects.push(object.clone());
        }
        return Ok(page);
    }
    let after = resumed.as_ref().map(|token| &*token.start);
    let mut rest = snapshot.scan(selection.prefix(), after);
    let mut last = None;
    for object in rest.by_ref() {
        if !selection.matches(object)? {
            continue;
        }
        if limit > 0 && page.objects.len() == limit {
            // A further object matches, so the page gets a continue token.
            if selection.is_empty() {
                page.remaining = Some(match &resumed {
                    Some(ContinueToken {
                        remaining: Some(remaining),
                        ..
                    }) => remaining.saturating_sub(limit).max(1),
                    None if selection.prefix().is_empty() => snapshot.len() - limit,
                    _ => 1 + rest.count(),
                });
            }
            page.token = last.map(|key| encode_continue(page.revision, key, page.remaining));
            break;
        }
        last = Some(object.key());
        page.objects.push(object.clone());
    }
    Ok(page)
}

/// The snapshot to list, and the token of the page before.
fn snapshot(
    call: &RequestContext<'_>,
    limit: usize,
) -> Result<(Snapshot, Option<ContinueToken>), ApiError> {
    let (store, storage) = (&call.core.store, call.storage()?);
    let version = call.query.text("resourceVersion");
    let matching = call.query.text("resourceVersionMatch");
    let resume = call.query.text("continue");
    validate(call, version, matching, resume)?;
    if !resume.is_empty() {
        if !matches!(version, "" | "0") {
            return Err(ApiError::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let mut token = decode_continue(resume)?;
        if token.rv < 0 {
            // The number is that of another revision.
            token.remaining = None;
            return Ok((store.durable_snapshot(storage), Some(token)));
        }
        return match store.snapshot_at(storage, token.rv.unsigned_abs()) {
            Ok(snapshot) => Ok((snapshot, Some(token))),
            Err(_) => Err(expired_continue_error(&token.start)),
        };
    }
    let requested = parse_list_resource_version(version)?;
    let exact = matching == "Exact" || (matching.is_empty() && limit > 0 && requested > 0);
    let taken = if exact {
        store.snapshot_at(storage, requested)
    } else if requested > store.durable_revision() {
        Err(SnapshotError::TooLarge {
            requested,
            current: store.durable_revision(),
        })
    } else {
        Ok(store.durable_snapshot(storage))
    };
    taken.map(|s| (s, None)).map_err(|e| match e {
        SnapshotError::Expired { .. } => ApiError::expired(e.to_string()),
        SnapshotError::TooLarge { .. } => too_large_resource_version(&e.to_string()),
    })
}

fn validate(
    call: &RequestContext<'_>,
    version: &str,
    matching: &str,
    resume: &str,
) -> Result<(), ApiError> {
    let mut errors = Vec::new();
    let path = "resourceVersionMatch";
    if !matching.is_empty() {
        if version.is_empty() {
            let reason = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            errors.push(FieldError::forbidden(path, reason));
        }
        if !resume.is_empty() {
            let reason = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden(path, reason));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            let known = ["Exact", "NotOlderThan", ""];
            errors.push(FieldError::not_supported(path, matching, &known));
        }
        if matching == "Exact" && version == "0" {
            let reason = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(FieldError::forbidden(path, reason));
        }
    }
    if call.query.flag("sendInitialEvents").is_some() {
        let reason = "sendInitialEvents is forbidden for list";
        errors.push(FieldError::forbidden("sendInitialEvents", reason));
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &errors))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunks(count: usize) -> Vec<Bytes> {
        let item = json!({"data": "x".repeat(1000)}).to_string();
        let items = vec![item; count].into_iter();
        let items: Vec<_> = items.map(|i| ListItem::Encoded(i.into())).collect();
        let chunks = ListChunks {
            head: Some("{\"items\":[".into()),
            items: items.into_iter(),
            is_first: true,
        };
        chunks.collect()
    }

    #[test]
    fn a_list_is_made_in_chunks() {
        for count in [0, 1, 2, 1000] {
            let chunks = chunks(count);
            let list: Value = serde_json::from_slice(&chunks.concat()).unwrap();
            assert_eq!(list["items"].as_array().unwrap().len(), count);
            assert!(chunks.iter().all(|chunk| chunk.len() < 2 * CHUNK_SIZE));
        }
        assert!(chunks(1000).len() > 10);
    }
}
