//! The events of a watch for a client in this process, which are not encoded.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::StreamExt;

use super::response_transformer::{ResponseTransformer, is_stored_form};
use super::selected_event::{SelectedEvent, selected_event};
use super::selection_predicate::SelectionPredicate;
use crate::request::ResponseForm;
use crate::request::content_negotiation::{Encoding, MediaTypeOptions};
use crate::storage::{Object, WatchEventType, Watcher};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::watch::{EventStream, HasDecodedForms, SharedObject, WatchEvent};

/// The events of one client. They have neither bookmarks nor a timeout, which are for connections.
pub(super) struct WatchValues {
    transformer: ResponseTransformer,
    selection: SelectionPredicate,
    initial_objects: VecDeque<Arc<Object>>,
    initial_events_end: Option<u64>,
    watcher: Watcher,
    /// Events that were read and are not sent yet.
    batch: VecDeque<Arc<crate::storage::WatchEvent>>,
    has_failed: bool,
}

impl WatchValues {
    /// Whether objects are sent in this form.
    pub(super) fn are_of(accept: MediaTypeOptions) -> bool {
        let forms = [ResponseForm::Object, ResponseForm::PartialObjectMetadata];
        accept.encoding == Encoding::Json && forms.contains(&accept.form)
    }

    /// The events of these objects, of the end of the initial events, and of `watcher`.
    pub(super) fn new(
        transformer: ResponseTransformer,
        selection: SelectionPredicate,
        initial_objects: VecDeque<Arc<Object>>,
        initial_events_end: Option<u64>,
        watcher: Watcher,
    ) -> Self {
        Self {
            transformer,
            selection,
            initial_objects,
            initial_events_end,
            watcher,
            batch: VecDeque::new(),
            has_failed: false,
        }
    }

    /// The stream of the events.
    pub(super) fn into_stream(self) -> EventStream {
        let events = futures::stream::unfold(self, |mut values| async {
            Some((values.next().await?, values))
        });
        EventStream::new(events.boxed())
    }

    /// The stream of a watch that cannot start.
    pub(super) fn failed(error: &ApiError) -> EventStream {
        let status = error.to_status().to_string();
        EventStream::new(futures::stream::iter([WatchEvent::Error { status }]).boxed())
    }

    /// The next event; `None` when the kind is no longer served or has another schema, or after an
    /// error.
    async fn next(&mut self) -> Option<WatchEvent> {
        if self.has_failed {
            return None;
        }
        let next = self.try_next().await;
        next.unwrap_or_else(|error| {
            self.has_failed = true;
            let status = error.to_status().to_string();
            Some(WatchEvent::Error { status })
        })
    }

    async fn try_next(&mut self) -> Result<Option<WatchEvent>, ApiError> {
        while let Some(object) = self.initial_objects.pop_front() {
            if self.selection.matches(&object)? {
                return Ok(Some(WatchEvent::Applied(self.shared(&object)?)));
            }
        }
        if let Some(resource_version) = self.initial_events_end.take() {
            return Ok(Some(WatchEvent::InitialEventsEnd { resource_version }));
        }
        loop {
            while let Some(event) = self.batch.pop_front() {
                match selected_event(&self.selection, &event)? {
                    None => {}
                    Some(SelectedEvent::Stored(WatchEventType::Deleted, object)) => {
                        return Ok(Some(WatchEvent::Deleted(self.shared(object)?)));
                    }
                    Some(SelectedEvent::Stored(_, object)) => {
                        return Ok(Some(WatchEvent::Applied(self.shared(object)?)));
                    }
                    Some(SelectedEvent::Left(before)) => {
                        let value = self.transformer.decoded_at(before, event.revision())?;
                        return Ok(Some(WatchEvent::Deleted(SharedObject {
                            key: before.key_shared(),
                            resource_version: event.revision(),
                            json: value.to_string().into(),
                            stored: None,
                        })));
                    }
                }
            }
            let next = self.watcher.next().await;
            match next.map_err(|expired| ApiError::expired(expired.to_string()))? {
                // The client continues with another watch.
                Some(_) if self.is_outdated() => return Ok(None),
                Some(events) => self.batch.extend(events),
                None => return Ok(None),
            }
        }
    }

    /// Whether the CustomResourceDefinition was changed since the watch began: its objects have
    /// another schema.
    fn is_outdated(&self) -> bool {
        let (registry, served) = (&self.transformer.core.registry, &self.transformer.served);
        let kind = &served.kind;
        let current = || registry.find(&kind.group, &kind.version, &kind.plural);
        served.custom.is_some()
            && current().is_none_or(|current| current.schema_generation != served.schema_generation)
    }

    /// An object in the requested version and form.
    fn shared(&self, object: &Arc<Object>) -> Result<SharedObject, ApiError> {
        let transformer = &self.transformer;
        let json = match transformer.accept.form {
            ResponseForm::PartialObjectMetadata => transformer.encoded_partial_metadata(object)?,
            _ => transformer.encoded(object)?,
        };
        // A type of a client is that of whole objects or that of metadata.
        let is_stored = is_stored_form(&transformer.served, object);
        Ok(SharedObject {
            key: object.key_shared(),
            resource_version: object.revision(),
            json,
            stored: is_stored.then(|| object.clone() as Arc<dyn HasDecodedForms>),
        })
    }
}
