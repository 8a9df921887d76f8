//! Group commit: writes become durable in batches, while further writes are decided.
//!
//! A commit is decided and applied in memory under the commit lock and queued; one thread writes
//! the queue to the [`Persistence`]. Until then only writers see the change: reads and watches
//! return the durable revision, and the response to a write waits for its own. Changes that cannot
//! be made durable are reverted in memory, with all later ones.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use serde_json::Value;
use tokio::sync::Notify;

use super::persistence::{
    Change, Persistence, PersistenceError, RestoredObject, RestoredState, StoredContent,
};
use super::resource_storage::ResourceStorage;

/// The interval of recovery attempts while writes are rejected.
const RECOVERY_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum number of remembered ranges of failed revisions.
const MAX_FAILED: usize = 256;

tokio::task_local! {
    /// The writes of the current request.
    static WRITES: RefCell<RequestWrites>;
}

/// The writes of a request.
#[derive(Debug, Default)]
struct RequestWrites {
    /// The last revision it wrote.
    last: Option<u64>,
    /// The error of its first rejected write.
    rejected: Option<PersistenceError>,
}

/// The durable side of a store.
#[derive(Debug)]
pub(super) struct Durability {
    queue: Mutex<Queue>,
    /// Wakes the writer.
    queued: Condvar,
    /// All changes up to this revision are durable.
    durable: AtomicU64,
    progress: Mutex<Progress>,
    /// Wakes responses that wait.
    settled: Notify,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// The objects of resources without storage, which were restored, or whose removal was
    /// reverted.
    unserved: Mutex<BTreeMap<String, Vec<RestoredObject>>>,
    /// Kind, apiVersion and metadata of restored preinstalled objects, by resource and key.
    preinstalled: BTreeMap<(String, String), Value>,
}

#[derive(Debug, Default)]
struct Queue {
    changes: Vec<QueuedChange>,
    is_closed: bool,
}

#[derive(Debug)]
struct QueuedChange {
    change: Change,
    storage: Arc<ResourceStorage>,
}

#[derive(Debug, Default)]
struct Progress {
    /// All changes up to this revision are durable or reverted.
    settled: u64,
    /// Reverted changes: revisions after the first and up to the second.
    failed: Vec<(u64, u64, PersistenceError)>,
    /// The number of batches that failed.
    failures: u64,
    /// The error with which writes are rejected at present.
    write_error: Option<PersistenceError>,
    /// Whether the store is closed, so that all writes are rejected.
    is_closed: bool,
}

impl Durability {
    pub(super) fn new(restored: RestoredState) -> Self {
        let revision = restored.revision.max(1);
        let mut preinstalled = BTreeMap::new();
        for (resource, objects) in &restored.objects {
            for object in objects {
                if let StoredContent::Preinstalled(head) = &object.content {
                    let key = (resource.clone(), object.key.clone());
                    preinstalled.insert(key, head.clone());
                }
            }
        }
        Self {
            queue: Mutex::default(),
            queued: Condvar::new(),
            durable: AtomicU64::new(revision),
            progress: Mutex::new(Progress {
                settled: revision,
                ..Progress::default()
            }),
            settled: Notify::new(),
            writer: Mutex::default(),
            unserved: Mutex::new(restored.objects),
            preinstalled,
        }
    }

    /// Kind, apiVersion and metadata that a preinstalled object had before the restart.
    pub(super) fn preinstalled(&self, resource: &str, key: &str) -> Option<&Value> {
        self.preinstalled.get(&(resource.into(), key.into()))
    }

    /// Takes the objects of a resource without storage.
    pub(super) fn take_unserved(&self, resource: &str) -> Option<Vec<RestoredObject>> {
        self.unserved.lock().remove(resource)
    }

    /// Starts the thread that writes. `commit_lock` is the lock that serializes commits, and
    /// `latest` the revision of the last one.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn start(
        self: &Arc<Self>,
        mut persistence: Box<dyn Persistence>,
        commit_lock: Arc<Mutex<()>>,
        latest: Arc<AtomicU64>,
    ) -> std::io::Result<()> {
        let shared = self.clone();
        let run = move || {
            while let Some(batch) = shared.next_batch(persistence.as_mut()) {
                shared.write(persistence.as_mut(), batch, &commit_lock, &latest);
            }
        };
        let thread = std::thread::Builder::new().name("storage".into());
        *self.writer.lock() = Some(thread.spawn(run)?);
        Ok(())
    }

    /// Queues a change. The caller holds the commit lock.
    pub(super) fn push(&self, change: Change, storage: &Arc<ResourceStorage>) {
        let revision = change.revision();
        let storage = storage.clone();
        self.queue
            .lock()
            .changes
            .push(QueuedChange { change, storage });
        self.queued.notify_one();
        let _ = WRITES.try_with(|writes| writes.borrow_mut().last = Some(revision));
    }

    /// The error of a write that is rejected before it is decided; a full disk does not reject a
    /// deletion.
    pub(super) fn rejection(&self, is_deletion: bool) -> Option<PersistenceError> {
        let write_error = {
            let progress = self.progress.lock();
            match progress.is_closed {
                true => PersistenceError::Failed("the API server is stopping".into()),
                false => progress.write_error.clone()?,
            }
        };
        if is_deletion && matches!(write_error, PersistenceError::Full(_)) {
            return None;
        }
        let _ = WRITES.try_with(|writes| writes.borrow_mut().rejected = Some(write_error.clone()));
        Some(write_error)
    }

    pub(super) fn durable_revision(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Writes all queued changes and ends the thread.
    pub(super) fn close(&self) {
        self.progress.lock().is_closed = true;
        self.queue.lock().is_closed = true;
        self.queued.notify_one();
        if let Some(writer) = self.writer.lock().take() {
            // A panic of the thread was reported when it happened.
            let _ = writer.join();
        }
    }

    /// Runs a request and waits until its writes, or the state that it has read, are durable.
    pub(super) async fn durably<T>(
        &self,
        request: impl Future<Output = T>,
        latest: impl Fn() -> u64,
    ) -> Result<T, PersistenceError> {
        let failures = self.progress.lock().failures;
        let request = async {
            let output = request.await;
            (output, WRITES.with(RefCell::take))
        };
        let (output, writes) = WRITES.scope(RefCell::default(), request).await;
        if let Some(rejected) = writes.rejected {
            return Err(rejected);
        }
        match writes.last {
            Some(written) => self.wait(written, |p| p.outcome(written)).await?,
            None => self.wait(latest(), |p| p.error_since(failures)).await?,
        }
        Ok(output)
    }

    /// Waits until all changes up to a revision are durable or reverted.
    async fn wait(
        &self,
        revision: u64,
        outcome: impl Fn(&Progress) -> Result<(), PersistenceError>,
    ) -> Result<(), PersistenceError> {
        loop {
            // Registered before reading, so that no notification is lost.
            let settled = self.settled.notified();
            {
                let progress = self.progress.lock();
                if progress.settled >= revision {
                    return outcome(&progress);
                }
            }
            settled.await;
        }
    }

    /// Waits for queued changes, and tries to recover while writes are rejected. `None` at the end.
    fn next_batch(&self, persistence: &mut dyn Persistence) -> Option<Vec<QueuedChange>> {
        let mut queue = self.queue.lock();
        loop {
            if !queue.changes.is_empty() {
                return Some(std::mem::take(&mut queue.changes));
            }
            if queue.is_closed {
                return None;
            }
            let is_rejecting = self.progress.lock().write_error.is_some();
            if !is_rejecting {
                self.queued.wait(&mut queue);
                continue;
            }
            self.queued.wait_for(&mut queue, RECOVERY_INTERVAL);
            if queue.changes.is_empty() && !queue.is_closed {
                drop(queue);
                let write_error = persistence.recover().err();
                self.progress.lock().reject(write_error);
                queue = self.queue.lock();
            }
        }
    }

    fn write(
        &self,
        persistence: &mut dyn Persistence,
        batch: Vec<QueuedChange>,
        commit_lock: &Mutex<()>,
        latest: &AtomicU64,
    ) {
        let (changes, storages): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|q| (q.change, q.storage)).unzip();
        let Some(last) = changes.last().map(Change::revision) else {
            return;
        };
        match persistence.commit(&changes) {
            Ok(()) => {
                self.durable.store(last, Ordering::Release);
                let low = persistence.check_space().err();
                {
                    let mut progress = self.progress.lock();
                    progress.settled = last;
                    progress.reject(low);
                }
                self.settled.notify_waiters();
                for storage in distinct(storages.clone()) {
                    let of_storage = changes.iter().zip(&storages);
                    let of_storage = of_storage.filter(|(_, own)| Arc::ptr_eq(own, &storage));
                    storage.notify_watchers(of_storage.filter_map(|(change, _)| change.key()));
                }
            }
            Err(error) => {
                self.revert(error, storages, commit_lock, latest);
                self.settled.notify_waiters();
                let write_error = persistence.recover().err();
                self.progress.lock().reject(write_error);
            }
        }
    }

    /// Reverts all changes that are not durable, also those that were queued since.
    fn revert(
        &self,
        error: PersistenceError,
        mut storages: Vec<Arc<ResourceStorage>>,
        commit_lock: &Mutex<()>,
        latest: &AtomicU64,
    ) {
        let _order = commit_lock.lock();
        let queued = std::mem::take(&mut self.queue.lock().changes);
        storages.extend(queued.into_iter().map(|q| q.storage));
        let durable = self.durable_revision();
        for storage in distinct(storages) {
            let mut state = storage.write();
            state.revert_after(durable);
            if state.is_closed() && !state.objects.is_empty() {
                let resource = storage.resource().to_string();
                self.unserved.lock().insert(resource, state.to_restored());
            }
        }
        let latest = latest.load(Ordering::Acquire);
        let mut progress = self.progress.lock();
        progress.settled = latest;
        progress.failures += 1;
        progress.reject(Some(error.clone()));
        match progress.failed.last_mut() {
            Some((after, to, reason)) if *after == durable => (*to, *reason) = (latest, error),
            _ => progress.failed.push((durable, latest, error)),
        }
        if progress.failed.len() > MAX_FAILED {
            progress.failed.remove(0);
        }
    }
}

impl Progress {
    /// Rejects further writes, or accepts them again.
    fn reject(&mut self, error: Option<PersistenceError>) {
        match (&self.write_error, &error) {
            (None, Some(error)) => tracing::error!("{error}"),
            (Some(_), None) => tracing::info!("the data directory accepts writes again"),
            _ => {}
        }
        self.write_error = error;
    }

    /// Whether a revision that is settled is durable.
    fn outcome(&self, revision: u64) -> Result<(), PersistenceError> {
        let mut failed = self.failed.iter();
        let failed = failed.find(|(after, to, _)| revision > *after && revision <= *to);
        failed.map_or(Ok(()), |(_, _, error)| Err(error.clone()))
    }

    /// The last error, if there were more than `failures`.
    fn error_since(&self, failures: u64) -> Result<(), PersistenceError> {
        match self.failed.last() {
            Some((_, _, error)) if self.failures > failures => Err(error.clone()),
            _ => Ok(()),
        }
    }
}

/// Each storage once.
fn distinct(mut storages: Vec<Arc<ResourceStorage>>) -> Vec<Arc<ResourceStorage>> {
    storages.sort_by_key(Arc::as_ptr);
    storages.dedup_by(|a, b| Arc::ptr_eq(a, b));
    storages
}
