//! [`EventStreamWatch`]: a streaming list and watch that takes the events of a server in this
//! process as values.

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http::StatusCode;
use kube::api::WatchParams;
use kube::client::Body;
use kube::core::response::Status;
use kube::runtime::watcher::{self, Config, Event};
use kube::{Error, Result};
use kueue_lab_apimachinery::watch::{EventStream, TakesEventStream, WatchEvent};

use super::api::RawApi;
use super::raw_object::RawObject;
use super::watcher::{RawEvents, watch_text};

/// The code of the error of a resource version that is no longer in the watch cache.
const GONE: u16 = 410;

/// A streaming list and the watch after it, as the state machine of `kube::runtime::watcher`.
pub(super) struct EventStreamWatch {
    api: RawApi,
    config: Config,
    metadata_only: bool,
    state: State,
}

enum State {
    /// Nothing is listed.
    Empty,
    /// The initial events are received.
    Initial(BoxStream<'static, WatchEvent>),
    /// The list is complete.
    Watching(BoxStream<'static, WatchEvent>, u64),
    /// The list is complete, and the watch has ended.
    Ended(u64),
    /// The server is in another process.
    Text(RawEvents),
}

/// The response to a watch request.
enum Watched {
    Events(BoxStream<'static, WatchEvent>),
    /// A body of encoded events.
    Text,
}

impl EventStreamWatch {
    /// A watch of the objects of `api`, or of their metadata.
    pub(super) fn new(api: RawApi, config: Config, metadata_only: bool) -> Self {
        Self {
            api,
            config,
            metadata_only,
            state: State::Empty,
        }
    }

    /// The events, without end. After an error the watch continues with the next poll.
    pub(super) fn into_events(self) -> RawEvents {
        stream::unfold(self, |mut watch| async {
            Some((watch.next().await, watch))
        })
        .boxed()
    }

    async fn next(&mut self) -> watcher::Result<Event<RawObject>> {
        loop {
            if let Some(event) = self.step().await {
                return event;
            }
        }
    }

    /// The next event, if the step has one.
    async fn step(&mut self) -> Option<watcher::Result<Event<RawObject>>> {
        match &mut self.state {
            State::Empty => match self.watch(None).await {
                Ok(Watched::Events(events)) => {
                    self.state = State::Initial(events);
                    Some(Ok(Event::Init))
                }
                Ok(Watched::Text) => {
                    let (api, config) = (self.api.clone(), self.config.clone());
                    self.state = State::Text(watch_text(api, config, self.metadata_only));
                    None
                }
                Err(error) => Some(Err(watcher::Error::WatchStartFailed(error))),
            },
            State::Initial(events) => match events.next().await {
                Some(WatchEvent::Applied(object)) => {
                    Some(Ok(Event::InitApply(RawObject::Shared(object))))
                }
                Some(WatchEvent::InitialEventsEnd { resource_version }) => {
                    let events = std::mem::replace(events, stream::empty().boxed());
                    self.state = State::Watching(events, resource_version);
                    Some(Ok(Event::InitDone))
                }
                // There are no deletions among the initial events.
                Some(WatchEvent::Deleted(_)) => None,
                Some(WatchEvent::Error { status }) => Some(Err(self.failed(&status))),
                None => {
                    self.state = State::Empty;
                    None
                }
            },
            State::Watching(events, version) => match events.next().await {
                Some(WatchEvent::Applied(object)) => {
                    *version = object.resource_version;
                    Some(Ok(Event::Apply(RawObject::Shared(object))))
                }
                Some(WatchEvent::Deleted(object)) => {
                    *version = object.resource_version;
                    Some(Ok(Event::Delete(RawObject::Shared(object))))
                }
                Some(WatchEvent::InitialEventsEnd { .. }) => None,
                Some(WatchEvent::Error { status }) => Some(Err(self.failed(&status))),
                None => {
                    self.state = State::Ended(*version);
                    None
                }
            },
            State::Ended(version) => {
                let version = *version;
                match self.watch(Some(version)).await {
                    Ok(Watched::Events(events)) => self.state = State::Watching(events, version),
                    Ok(Watched::Text) => self.state = State::Empty,
                    Err(error) => return Some(Err(watcher::Error::WatchStartFailed(error))),
                }
                None
            }
            State::Text(events) => events.next().await,
        }
    }

    /// The error of an event. A list that is too old is requested again.
    fn failed(&mut self, status: &str) -> watcher::Error {
        match serde_json::from_str::<Status>(status) {
            Ok(status) => {
                if status.code == GONE {
                    self.state = State::Empty;
                }
                watcher::Error::WatchError(status.boxed())
            }
            Err(error) => watcher::Error::WatchFailed(Error::SerdeError(error)),
        }
    }

    /// Requests a watch after a resource version, or with initial events.
    async fn watch(&mut self, version: Option<u64>) -> Result<Watched> {
        let params = WatchParams {
            label_selector: self.config.label_selector.clone(),
            field_selector: self.config.field_selector.clone(),
            timeout: self.config.timeout,
            bookmarks: true,
            send_initial_events: version.is_none(),
        };
        let version = version.unwrap_or(0).to_string();
        let request = match self.metadata_only {
            true => self.api.request.watch_metadata(&params, &version),
            false => self.api.request.watch(&params, &version),
        };
        let mut request = request.map_err(Error::BuildRequest)?.map(Body::from);
        request.extensions_mut().insert(TakesEventStream);
        let response = self.api.client.send(request).await?;
        let status = response.status();
        if status.is_success() {
            let events = response.extensions().get::<EventStream>();
            let events = events.and_then(EventStream::take);
            return Ok(events.map_or(Watched::Text, Watched::Events));
        }
        let body = response.into_body().collect_bytes().await?;
        Err(Error::Api(Box::new(error_status(status, &body))))
    }
}

/// The Status of a response that is an error.
fn error_status(code: StatusCode, body: &[u8]) -> Status {
    serde_json::from_slice(body).unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(body);
        Status::failure(&text, "Failed to parse error data").with_code(code.as_u16())
    })
}
