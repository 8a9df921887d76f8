//! [`Recorder`]: observes a cluster and records what it sees.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use jiff::Timestamp;
use kube::Client;
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, Config, Event};
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::api_errors::watch_error_status;
use kueue_lab_controller_runtime::{Api, ObjectKey, WatchError, value_watcher};
use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;

use super::entry::{Change, Entry};
use super::file_format::{FORMAT, RecordingHeader, VERSION};
use super::history::{History, HistoryLimits, SharedHistory};
use super::object_id::{ObjectId, ObjectVersion};
use super::object_table::ObjectTable;
use super::recorded_kind::{RECORDED_CONFIG_MAPS, RecordedKind};
use super::recording_error::RecordingError;
use super::recording_writer::RecordingWriter;

/// The interval at which the file is flushed, in real time: what a kill loses.
const FLUSH_INTERVAL: Duration = Duration::from_millis(500);
/// The longest real time without an entry.
const TIME_INTERVAL: Duration = Duration::from_secs(10);
/// The time without observations after which a recording that is stopped ends.
const QUIET: Duration = Duration::from_millis(50);
/// The longest time in which a recording that is stopped takes observations.
const LAST_OBSERVATIONS: Duration = Duration::from_millis(300);
/// Observations that wait for the recorder.
const BUFFER: usize = 1024;
/// Objects in one page of a list.
const PAGE_SIZE: u32 = 500;

/// What is recorded, and where.
pub struct RecorderConfig {
    /// The client of the cluster; it only reads.
    pub client: Client,
    /// The clock of the lab; the real one for a cluster without a lab.
    pub clock: Clock,
    /// The name of the cluster.
    pub cluster: String,
    /// Whether the cluster is in this process, and sends its objects without encoding.
    pub streaming_lists: bool,
    /// The limits of the history in memory; `None` to keep none.
    pub history: Option<HistoryLimits>,
    /// The file to write; it must not exist.
    pub file: Option<PathBuf>,
}

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingSummary {
    /// The number of entries.
    pub entries: u64,
    /// The resources that the cluster serves and that cannot be observed at the end, with the reasons.
    pub gaps: Vec<String>,
}

/// Observes a cluster and records what it sees.
pub struct Recorder {
    client: Client,
    clock: Clock,
    streaming_lists: bool,
    kinds: Arc<[RecordedKind]>,
    history: Option<SharedHistory>,
    writer: Option<RecordingWriter>,
    objects: ObjectTable,
    /// The kinds that are listed at the moment, with the objects so far.
    listed: BTreeMap<u16, BTreeSet<ObjectId>>,
    gaps: BTreeMap<u16, Arc<str>>,
    /// The kinds that are not listed yet for the first time.
    unsynced: BTreeSet<u16>,
    synced: watch::Sender<bool>,
    speed: (f64, bool),
    time: Timestamp,
    entries: u64,
}

/// An event of the watch of a kind.
type Observation = (u16, Result<Event<Value>, WatchError>);

impl Recorder {
    /// Asks the cluster which kinds it serves, and creates the file.
    ///
    /// # Errors
    /// The cluster cannot be reached, or the file not be created.
    pub async fn start(config: RecorderConfig) -> Result<Self, RecordingError> {
        let kinds: Arc<[RecordedKind]> = RecordedKind::all().into();
        let gaps = unserved(&config.client, &kinds).await?;
        let clock = config.clock;
        let start = clock.now();
        let header = RecordingHeader {
            format: FORMAT.to_owned(),
            version: VERSION,
            lab: env!("CARGO_PKG_VERSION").to_owned(),
            start,
            cluster: config.cluster,
            speed: clock.speed(),
            kinds: kinds.to_vec(),
        };
        let file = config.file.as_deref();
        let writer = file.map(|file| RecordingWriter::create(file, &header));
        let history = config
            .history
            .map(|limits| History::new(kinds.clone(), start, limits));
        let indexes = (0..).zip(kinds.iter()).map(|(index, _)| index);
        let mut recorder = Self {
            client: config.client,
            clock,
            streaming_lists: config.streaming_lists,
            unsynced: indexes.filter(|index| !gaps.contains_key(index)).collect(),
            kinds,
            history: history.map(|history| Arc::new(RwLock::new(history))),
            writer: writer.transpose()?,
            objects: ObjectTable::default(),
            listed: BTreeMap::new(),
            gaps: BTreeMap::new(),
            synced: watch::Sender::new(false),
            speed: (1.0, false),
            time: start,
            entries: 0,
        };
        for (kind, reason) in gaps {
            recorder.begin_gap(kind, reason)?;
        }
        recorder.record_clock()?;
        Ok(recorder)
    }

    /// The history, if there is one.
    pub fn history(&self) -> Option<SharedHistory> {
        self.history.clone()
    }

    /// Whether the objects of all kinds are recorded, and their changes from then on.
    pub fn synced(&self) -> watch::Receiver<bool> {
        self.synced.subscribe()
    }

    /// Records until `stop` is cancelled.
    ///
    /// # Errors
    /// The file cannot be written, and there is no history that could go on without it.
    pub async fn run(
        mut self,
        stop: CancellationToken,
    ) -> Result<RecordingSummary, RecordingError> {
        let (sender, mut observations) = mpsc::channel(BUFFER);
        let mut watches = self.start_watches(&sender);
        drop(sender);
        let mut flush = interval(FLUSH_INTERVAL);
        flush.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut batch: Vec<Observation> = Vec::with_capacity(BUFFER);
        let (mut flushed, mut entry_at) = (self.entries, Instant::now());
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                _ = flush.tick() => {
                    self.record_clock()?;
                    if self.entries != flushed {
                        entry_at = Instant::now();
                    } else if entry_at.elapsed() >= TIME_INTERVAL {
                        self.record(Change::Time)?;
                        entry_at = Instant::now();
                    }
                    flushed = self.entries;
                    self.flush().await?;
                }
                count = observations.recv_many(&mut batch, BUFFER) => {
                    if count == 0 {
                        break;
                    }
                    self.record_clock()?;
                    batch.drain(..).try_for_each(|observation| self.observe(observation))?;
                }
            }
        }
        // What has happened before, and is on its way.
        let until = Instant::now() + LAST_OBSERVATIONS;
        while let Ok(Some(observation)) = timeout(QUIET, observations.recv()).await {
            self.observe(observation)?;
            if Instant::now() > until {
                break;
            }
        }
        watches.abort_all();
        self.record(Change::End)?;
        if let Some(writer) = self.writer.take() {
            blocking(move || writer.finish()).await?;
        }
        let gaps = self.gaps.iter();
        let gaps = gaps.filter(|(_, reason)| ***reason != *NOT_SERVED);
        let gaps = gaps.filter_map(|(kind, reason)| {
            let name = self.kinds.get(usize::from(*kind))?.resource_name();
            Some(format!("{name}: {reason}"))
        });
        Ok(RecordingSummary {
            entries: self.entries,
            gaps: gaps.collect(),
        })
    }

    /// Starts the watches of the kinds that the cluster serves.
    fn start_watches(&self, out: &mpsc::Sender<Observation>) -> JoinSet<()> {
        let mut watches = JoinSet::new();
        for &index in &self.unsynced {
            let Some(kind) = self.kinds.get(usize::from(index)) else {
                continue;
            };
            let (client, resource) = (self.client.clone(), kind.api_resource());
            let api: Api<DynamicObject> = match kind.kind == "ConfigMap" {
                true => Api::namespaced_with(client, RECORDED_CONFIG_MAPS.0, &resource),
                false => Api::all_with(client, &resource),
            };
            let config = match self.streaming_lists {
                true => Config::default().streaming_lists(),
                false => Config::default().page_size(PAGE_SIZE),
            };
            let mut events = Box::pin(value_watcher(api, config));
            let out = out.clone();
            watches.spawn(async move {
                while let Some(event) = events.next().await {
                    if out.send((index, event)).await.is_err() {
                        return;
                    }
                }
            });
        }
        watches
    }

    fn observe(&mut self, (kind, event): Observation) -> Result<(), RecordingError> {
        match event {
            Ok(Event::Init) => drop(self.listed.insert(kind, BTreeSet::new())),
            Ok(Event::InitApply(object)) => {
                if let Some(id) = self.put(kind, object)?
                    && let Some(listed) = self.listed.get_mut(&kind)
                {
                    listed.insert(id);
                }
            }
            Ok(Event::InitDone) => {
                let listed = self.listed.remove(&kind).unwrap_or_default();
                for id in self.objects.unlisted(kind, &listed) {
                    self.delete(id)?;
                }
                self.end_gap(kind)?;
                self.sync(kind);
            }
            Ok(Event::Apply(object)) => {
                self.end_gap(kind)?;
                self.put(kind, object)?;
            }
            Ok(Event::Delete(object)) => {
                self.end_gap(kind)?;
                let key = Arc::new(object_key(&object));
                self.delete(ObjectId { kind, key })?;
            }
            Err(WatchError::Request(error)) => {
                self.begin_gap(kind, request_failure(&error))?;
                self.sync(kind);
            }
            // Other versions of the object follow.
            Err(error @ WatchError::InvalidObject { .. }) => {
                tracing::debug!("not recorded: {error}");
            }
        }
        Ok(())
    }

    /// Marks a kind as listed, or as one that cannot be.
    fn sync(&mut self, kind: u16) {
        if self.unsynced.remove(&kind) && self.unsynced.is_empty() {
            self.synced.send_replace(true);
        }
    }

    /// Records a version of an object; returns which one it is, unless it is not recorded.
    fn put(&mut self, kind: u16, mut object: Value) -> Result<Option<ObjectId>, RecordingError> {
        let key = object_key(&object);
        let Some(known) = self.kinds.get(usize::from(kind)) else {
            return Ok(None);
        };
        if known.kind == "ConfigMap" && !RECORDED_CONFIG_MAPS.1.contains(&key.name.as_str()) {
            return Ok(None);
        }
        // The items of a list lack them.
        object["apiVersion"] = known.api_version.as_ref().into();
        object["kind"] = known.kind.as_ref().into();
        let id = ObjectId {
            kind,
            key: Arc::new(key),
        };
        if let Some((delta, changed)) = self.objects.put(&id, &object) {
            let bytes = changed.bytes;
            let time = self.now();
            let value = changed.value;
            let version = Arc::new(ObjectVersion {
                id: id.clone(),
                time,
                value,
            });
            self.record_at(
                time,
                Change::Put {
                    version,
                    delta,
                    bytes,
                },
            )?;
        }
        Ok(Some(id))
    }

    fn delete(&mut self, id: ObjectId) -> Result<(), RecordingError> {
        match self.objects.delete(&id) {
            true => self.record(Change::Delete(id)),
            false => Ok(()),
        }
    }

    fn begin_gap(&mut self, kind: u16, reason: String) -> Result<(), RecordingError> {
        let reason: Arc<str> = reason.into();
        match self.gaps.insert(kind, reason.clone()) {
            None => self.record(Change::Gap {
                kind,
                reason: Some(reason),
            }),
            Some(_) => Ok(()),
        }
    }

    fn end_gap(&mut self, kind: u16) -> Result<(), RecordingError> {
        match self.gaps.remove(&kind) {
            Some(_) => self.record(Change::Gap { kind, reason: None }),
            None => Ok(()),
        }
    }

    /// Records the speed and the pause of the clock, if they have changed.
    fn record_clock(&mut self) -> Result<(), RecordingError> {
        let (speed, is_paused) = (self.clock.speed(), self.clock.is_paused());
        if self.speed == (speed, is_paused) {
            return Ok(());
        }
        self.speed = (speed, is_paused);
        self.record(Change::Clock { speed, is_paused })
    }

    /// The lab time, not before that of the last entry.
    fn now(&mut self) -> Timestamp {
        self.time = self.time.max(self.clock.now());
        self.time
    }

    fn record(&mut self, change: Change) -> Result<(), RecordingError> {
        let time = self.now();
        self.record_at(time, change)
    }

    fn record_at(&mut self, time: Timestamp, change: Change) -> Result<(), RecordingError> {
        let entry = Entry { time, change };
        self.entries += 1;
        if let Some(history) = &self.history {
            history.write().push(&entry);
        }
        let written = self.writer.as_mut().map(|writer| writer.write(entry));
        match written {
            Some(Err(error)) => self.lose_writer(error),
            _ => Ok(()),
        }
    }

    /// Writes the entries to the file, without blocking other tasks.
    async fn flush(&mut self) -> Result<(), RecordingError> {
        let Some(mut writer) = self.writer.take() else {
            return Ok(());
        };
        let flushed = blocking(move || writer.flush().map(|()| writer)).await;
        match flushed {
            Ok(writer) => {
                self.writer = Some(writer);
                Ok(())
            }
            Err(error) => self.lose_writer(error),
        }
    }

    /// Goes on with the history without the file; without one the recording ends.
    fn lose_writer(&mut self, error: RecordingError) -> Result<(), RecordingError> {
        self.writer = None;
        match &self.history {
            None => Err(error),
            Some(_) => {
                tracing::error!("the recording has ended, its file cannot be written: {error}");
                Ok(())
            }
        }
    }
}

/// Runs a function that waits for the disk.
async fn blocking<T: Send + 'static>(
    function: impl FnOnce() -> Result<T, RecordingError> + Send + 'static,
) -> Result<T, RecordingError> {
    let done = tokio::task::spawn_blocking(function).await;
    done.unwrap_or_else(|error| Err(RecordingError::Io(std::io::Error::other(error))))
}

/// The kinds that the cluster does not serve, by their indexes, with the reasons.
async fn unserved(
    client: &Client,
    kinds: &[RecordedKind],
) -> Result<BTreeMap<u16, String>, RecordingError> {
    let mut served: BTreeMap<&str, Result<BTreeSet<String>, String>> = BTreeMap::new();
    let mut unserved = BTreeMap::new();
    for (index, kind) in (0_u16..).zip(kinds) {
        let version = &*kind.api_version;
        if !served.contains_key(version) {
            served.insert(version, resources(client, version).await?);
        }
        let why = match &served[version] {
            Err(why) => why.clone(),
            Ok(names) if names.contains(&*kind.plural) => continue,
            Ok(_) => NOT_SERVED.to_owned(),
        };
        unserved.insert(index, why);
    }
    Ok(unserved)
}

/// The reason of the gap of a kind that a cluster does not have.
pub const NOT_SERVED: &str = "the cluster does not serve it";

/// The resources of a group and version; the inner error is why they are not known.
async fn resources(
    client: &Client,
    version: &str,
) -> Result<Result<BTreeSet<String>, String>, RecordingError> {
    let found = match version.contains('/') {
        true => client.list_api_group_resources(version).await,
        false => client.list_core_api_resources(version).await,
    };
    match found {
        Ok(list) => Ok(Ok(list.resources.into_iter().map(|r| r.name).collect())),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Err(NOT_SERVED.to_owned())),
        Err(kube::Error::Api(status)) => Ok(Err(status.message)),
        Err(error) => Err(RecordingError::Cluster(Box::new(error))),
    }
}

/// Why a kind cannot be watched.
fn request_failure(error: &watcher::Error) -> String {
    match watch_error_status(error) {
        Some(status) => status.message.clone(),
        None => error.to_string(),
    }
}

fn object_key(object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    ObjectKey::new(text("namespace"), text("name"))
}
