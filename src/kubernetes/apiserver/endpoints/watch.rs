//! The watch handler: a stream of events in the media type the client accepts.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use futures::stream::BoxStream;
use serde_json::{Value, json};
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::request_context::RequestContext;
use super::resource_version::{check_not_too_large, parse_resource_version};
use super::response::{ApiResponse, not_encodable};
use super::response_body::Body;
use super::response_transformer::{ResponseTransformer, convert_list, partial_object_metadata};
use super::selected_event::{SelectedEvent, selected_event};
use super::selection_predicate::SelectionPredicate;
use super::watch_values::WatchValues;
use crate::protobuf;
use crate::request::ResponseForm;
use crate::request::content_negotiation::Encoding;
use crate::storage::{Object, WatchEvent, WatchEventType, Watcher};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::watch::TakesEventStream;
use kueue_lab_field::FieldError;

/// The minimum default timeout; the timeout is chosen between it and twice its value.
const MIN_TIMEOUT: Duration = Duration::from_secs(1800);
/// The interval of bookmarks on an idle watch.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);
/// The time before the timeout at which the final bookmark is sent.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// The approximate size of a chunk, in bytes.
const CHUNK: usize = 64 << 10;

/// Parsed options of a watch.
struct WatchOptions {
    /// The revision that the watch is at least as new as.
    not_older_than: u64,
    /// The revision to start after; `None` for the latest.
    from: Option<u64>,
    /// Whether to send synthetic ADDED events for existing objects first.
    send_initial_events: bool,
    /// Whether to send the initial-events-end bookmark.
    send_initial_events_end: bool,
    bookmarks: bool,
    timeout: Duration,
}

/// Handles GET of a collection with `watch`.
pub(super) fn watch(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let encoding = call.transformer.accept.encoding;
    let options = watch_options(call)?;
    let selection = SelectionPredicate::from_request(call)?;
    let (store, storage) = (&call.core.store, call.storage()?);
    check_not_too_large(options.not_older_than, store.durable_revision())?;
    let mut start = VecDeque::new();
    let mut from = options.from.unwrap_or_default();
    if options.from.is_none() {
        let snapshot = store.durable_snapshot(storage);
        from = snapshot.revision();
        if options.send_initial_events {
            start.extend(snapshot.scan(selection.prefix(), None).cloned());
            convert_list(call.core, &call.served, start.iter())?;
        }
    }
    let takes_values = call
        .request
        .parts
        .extensions
        .get::<TakesEventStream>()
        .is_some()
        && WatchValues::are_of(call.transformer.accept);
    let watcher = match store.watch(storage, selection.watch_scope(), from) {
        Ok(watcher) => watcher,
        Err(expired) => {
            let error = ApiError::expired(expired.to_string());
            if takes_values {
                return Ok(ApiResponse::events(WatchValues::failed(&error)));
            }
            let event = error_event(encoding, &error)?;
            return Ok(reply(encoding, futures::stream::iter([event]).boxed()));
        }
    };
    if takes_values {
        let initial_events_end = options.send_initial_events_end.then_some(from);
        let transformer = call.transformer.clone();
        let values = WatchValues::new(transformer, selection, start, initial_events_end, watcher);
        return Ok(ApiResponse::events(values.into_stream()));
    }
    let now = Instant::now();
    let mut bookmark_interval = tokio::time::interval_at(now + BOOKMARK_PERIOD, BOOKMARK_PERIOD);
    bookmark_interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let following = WatchStream {
        transformer: call.transformer.clone(),
        selection,
        initial_objects: start,
        initial_events_end: options.send_initial_events_end.then_some(from),
        watcher,
        columns_sent: false,
        bookmarks: options.bookmarks,
        bookmark_interval,
        end: now + options.timeout,
        last_bookmark: (now + options.timeout).checked_sub(LAST_BOOKMARK),
        ended: false,
    };
    Ok(reply(
        encoding,
        futures::stream::unfold(following, |mut f| async { Some((f.next().await?, f)) }).boxed(),
    ))
}

fn reply(encoding: Encoding, stream: BoxStream<'static, Bytes>) -> ApiResponse {
    let media_type = match encoding {
        Encoding::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        Encoding::Json | Encoding::Yaml => "application/json",
    };
    ApiResponse::new(200, media_type, Body::stream(stream))
}

fn watch_options(call: &RequestContext<'_>) -> Result<WatchOptions, ApiError> {
    let query = &call.query;
    let version = query.text("resourceVersion");
    let matching = query.text("resourceVersionMatch");
    let send_initial = query.flag("sendInitialEvents");
    let mut errors = Vec::new();
    if send_initial.is_some() && matching != "NotOlderThan" {
        let reason = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(FieldError::forbidden("resourceVersionMatch", reason));
    }
    if !matching.is_empty() {
        if send_initial.is_none() {
            let reason =
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden("resourceVersionMatch", reason));
        }
        if matching != "NotOlderThan" {
            let known = ["NotOlderThan"];
            errors.push(FieldError::not_supported(
                "resourceVersionMatch",
                matching,
                &known,
            ));
        }
        if !query.text("continue").is_empty() {
            let reason = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden("resourceVersionMatch", reason));
        }
    }
    if !errors.is_empty() {
        return Err(ApiError::invalid("meta.k8s.io", "ListOptions", "", &errors));
    }
    let requested = parse_resource_version(version)?;
    let bookmarks = query.flag("allowWatchBookmarks").unwrap_or(false);
    // Legacy behaviour: an unset resourceVersion, or 0, starts with the existing objects.
    let initial = send_initial.unwrap_or(requested == 0);
    let timeout = match query.integer("timeoutSeconds")? {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds.unsigned_abs()),
        _ => MIN_TIMEOUT.mul_f64(1.0 + call.core.entropy.unit()),
    };
    Ok(WatchOptions {
        not_older_than: requested,
        from: (requested > 0 && !initial).then_some(requested),
        send_initial_events: initial,
        send_initial_events_end: initial && bookmarks,
        bookmarks,
        timeout,
    })
}

/// The event stream of one client.
struct WatchStream {
    transformer: ResponseTransformer,
    selection: SelectionPredicate,
    initial_objects: VecDeque<Arc<Object>>,
    initial_events_end: Option<u64>,
    watcher: Watcher,
    columns_sent: bool,
    bookmarks: bool,
    bookmark_interval: Interval,
    end: Instant,
    last_bookmark: Option<Instant>,
    ended: bool,
}

impl WatchStream {
    /// The next chunk; `None` when the watch has ended.
    async fn next(&mut self) -> Option<Bytes> {
        if self.ended {
            return None;
        }
        let mut out = BytesMut::new();
        while let Some(object) = self.initial_objects.pop_front() {
            if let Err(error) = self.send_initial(&mut out, &object) {
                return Some(self.fail(out, &error));
            }
            if out.len() >= CHUNK {
                return Some(out.freeze());
            }
        }
        if let Some(revision) = self.initial_events_end.take()
            && let Err(error) = self.send_bookmark(&mut out, revision, true)
        {
            return Some(self.fail(out, &error));
        }
        while out.is_empty() {
            let last = self
                .last_bookmark
                .filter(|_| self.bookmarks)
                .unwrap_or(self.end);
            tokio::select! {
                biased;
                batch = self.watcher.next() => match batch {
                    Ok(Some(events)) => for event in events {
                        if let Err(error) = self.send_event(&mut out, &event) {
                            return Some(self.fail(out, &error));
                        }
                    },
                    Ok(None) => return None,
                    Err(expired) => {
                        return Some(self.fail(out, &ApiError::expired(expired.to_string())));
                    }
                },
                () = tokio::time::sleep_until(self.end) => return None,
                () = tokio::time::sleep_until(last) => {
                    self.last_bookmark = None;
                    if let Err(error) = self.send_progress_bookmark(&mut out) {
                        return Some(self.fail(out, &error));
                    }
                }
                _ = self.bookmark_interval.tick(), if self.bookmarks => {
                    if let Err(error) = self.send_progress_bookmark(&mut out) {
                        return Some(self.fail(out, &error));
                    }
                }
            }
        }
        Some(out.freeze())
    }

    fn fail(&mut self, mut out: BytesMut, error: &ApiError) -> Bytes {
        self.ended = true;
        if let Ok(event) = error_event(self.transformer.accept.encoding, error) {
            out.extend_from_slice(&event);
        }
        out.freeze()
    }

    fn send_initial(&mut self, out: &mut BytesMut, object: &Arc<Object>) -> Result<(), ApiError> {
        if self.selection.matches(object)? {
            self.send_object(out, WatchEventType::Added, object)?;
        }
        Ok(())
    }

    /// Converts a storage event to a watch event relative to the selection.
    fn send_event(&mut self, out: &mut BytesMut, event: &WatchEvent) -> Result<(), ApiError> {
        match selected_event(&self.selection, event)? {
            None => Ok(()),
            Some(SelectedEvent::Stored(kind, object)) => self.send_object(out, kind, object),
            Some(SelectedEvent::Left(before)) => {
                let value = self.transformer.decoded_at(before, event.revision())?;
                self.send_value(out, WatchEventType::Deleted, &value)
            }
        }
    }

    fn send_object(
        &mut self,
        out: &mut BytesMut,
        kind: WatchEventType,
        object: &Arc<Object>,
    ) -> Result<(), ApiError> {
        let transformer = &self.transformer;
        let is_protobuf = transformer.accept.encoding == Encoding::Protobuf;
        let encoded = match transformer.accept.form {
            ResponseForm::Object | ResponseForm::Discovery if is_protobuf => {
                transformer.protobuf(object)?
            }
            ResponseForm::Object | ResponseForm::Discovery => transformer.encoded(object)?,
            ResponseForm::PartialObjectMetadata => transformer.encoded_partial_metadata(object)?,
            ResponseForm::Table => {
                let value = transformer.decoded(object)?;
                return self.send_value(out, kind, &value);
            }
        };
        if is_protobuf {
            out.extend_from_slice(&protobuf::frame(kind.as_str(), &encoded));
        } else {
            write_json_event(out, kind.as_str(), &encoded);
        }
        Ok(())
    }

    fn send_value(
        &mut self,
        out: &mut BytesMut,
        kind: WatchEventType,
        object: &Value,
    ) -> Result<(), ApiError> {
        let seen = match self.transformer.accept.form {
            ResponseForm::Object | ResponseForm::Discovery => json!(object),
            ResponseForm::PartialObjectMetadata => partial_object_metadata(object),
            ResponseForm::Table => {
                let with_columns = !std::mem::replace(&mut self.columns_sent, true);
                let row = self.transformer.table_row(object);
                self.transformer
                    .table([row], &object["metadata"], with_columns)
            }
        };
        write_event(out, self.transformer.accept.encoding, kind.as_str(), &seen)
    }

    fn send_progress_bookmark(&mut self, out: &mut BytesMut) -> Result<(), ApiError> {
        match self.watcher.bookmark_revision() {
            Some(revision) => self.send_bookmark(out, revision, false),
            None => Ok(()),
        }
    }

    fn send_bookmark(
        &self,
        out: &mut BytesMut,
        revision: u64,
        initial_end: bool,
    ) -> Result<(), ApiError> {
        let mut metadata = json!({"resourceVersion": revision.to_string()});
        if initial_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let mut object = json!({
            "kind": &*self.transformer.served.kind.kind,
            "apiVersion": self.transformer.served.api_version,
            "metadata": metadata,
        });
        match self.transformer.accept.form {
            ResponseForm::Object | ResponseForm::Discovery => {}
            ResponseForm::PartialObjectMetadata => object = partial_object_metadata(&object),
            ResponseForm::Table => {
                let row = json!({"cells": [], "object": partial_object_metadata(&object)});
                object = self.transformer.table([row], &object["metadata"], false);
            }
        }
        write_event(out, self.transformer.accept.encoding, "BOOKMARK", &object)
    }
}

/// Writes one watch event.
fn write_event(
    out: &mut BytesMut,
    encoding: Encoding,
    kind: &str,
    object: &Value,
) -> Result<(), ApiError> {
    match encoding {
        Encoding::Json | Encoding::Yaml => {
            write_json_event(out, kind, &serde_json::to_vec(object).unwrap_or_default());
        }
        Encoding::Protobuf => {
            let bytes = protobuf::encode(object).map_err(|error| not_encodable(object, &error))?;
            out.extend_from_slice(&protobuf::frame(kind, &bytes));
        }
    }
    Ok(())
}

/// Writes one watch event of an encoded object as a line of JSON.
fn write_json_event(out: &mut BytesMut, kind: &str, object: &[u8]) {
    out.reserve(object.len() + 48);
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
}

fn error_event(encoding: Encoding, error: &ApiError) -> Result<Bytes, ApiError> {
    let mut out = BytesMut::new();
    write_event(&mut out, encoding, "ERROR", &error.to_status())?;
    Ok(out.freeze())
}
