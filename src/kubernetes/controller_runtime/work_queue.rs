//! [`WorkQueue`]: client-go's rate limiting work queue. Each key is queued at most once and is
//! processed by at most one worker at a time.

use std::any::Any;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt::{Debug, Display};
use std::future::Future;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::Context;
use super::failure_reports::FailureReports;
use super::rate_limiter::{self, ExponentialFailureRateLimiter};
use kueue_lab_clock::Clock;

/// The result of reconciling a key, controller-runtime's `reconcile.Result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconcileResult {
    /// The key is not requeued.
    Done,
    /// The key is requeued after this much lab time.
    RequeueAfter(Duration),
    /// The key is requeued with exponential backoff.
    Requeue,
}

/// A failed reconcile, for the log.
#[derive(Debug, thiserror::Error)]
enum ReconcileError {
    /// The error of the controller.
    #[error("{0}")]
    Failed(String),
    /// A panic with this message.
    #[error("panic: {0} [recovered]")]
    Panic(String),
}

/// Reconciles a key.
type Reconcile<K> =
    Arc<dyn Fn(K) -> BoxFuture<'static, Result<ReconcileResult, ReconcileError>> + Send + Sync>;

/// A rate limiting work queue of keys. Clones share the queue.
///
/// A key that is already queued is not queued twice; a key that is added while it is processed is
/// queued again when its processing is [`done`](Self::done). Times are lab time.
pub struct WorkQueue<K> {
    shared: Arc<Shared<K>>,
}

impl<K> Clone for WorkQueue<K> {
    fn clone(&self) -> Self {
        Self {
            shared: self.shared.clone(),
        }
    }
}

struct Shared<K> {
    clock: Clock,
    state: Mutex<State<K>>,
    /// Notified when a key becomes ready.
    ready: Notify,
    /// Notified when the earliest delay changes.
    rescheduled: Notify,
}

struct State<K> {
    ready: VecDeque<K>,
    /// Keys to process: those that are ready, and those that are added while they are processed.
    dirty: HashSet<K>,
    processing: HashSet<K>,
    rate_limiter: ExponentialFailureRateLimiter<K>,
    reports: FailureReports,
    /// Delayed keys by the time they are due; the number orders keys of the same time.
    waiting: BTreeMap<(Timestamp, u64), K>,
    due: HashMap<K, (Timestamp, u64)>,
    number: u64,
}

impl<K> WorkQueue<K>
where
    K: Clone + Eq + Hash + Debug + Send + Sync + 'static,
{
    /// An empty queue.
    pub fn new(context: &Context) -> Self {
        Self::with_backoff(context, rate_limiter::DEFAULT_BACKOFF)
    }

    /// An empty queue with the given base and maximum delay of the rate limiter.
    pub fn with_backoff(context: &Context, backoff: (Duration, Duration)) -> Self {
        Self {
            shared: Arc::new(Shared {
                clock: context.clock.clone(),
                state: Mutex::new(State {
                    ready: VecDeque::new(),
                    dirty: HashSet::new(),
                    processing: HashSet::new(),
                    rate_limiter: ExponentialFailureRateLimiter::new(backoff),
                    reports: FailureReports::default(),
                    waiting: BTreeMap::new(),
                    due: HashMap::new(),
                    number: 0,
                }),
                ready: Notify::new(),
                rescheduled: Notify::new(),
            }),
        }
    }

    /// Adds a key.
    pub fn add(&self, key: K) {
        if self.shared.state.lock().add(key) {
            self.shared.ready.notify_one();
        }
    }

    /// Adds a key after `delay`. If the key is already delayed, the earlier time applies.
    pub fn add_after(&self, key: K, delay: Duration) {
        if delay.is_zero() {
            return self.add(key);
        }
        let at = SignedDuration::try_from(delay)
            .ok()
            .and_then(|delay| self.shared.clock.now().checked_add(delay).ok())
            .unwrap_or(Timestamp::MAX);
        self.add_at(key, at);
    }

    /// Adds a key at a point in lab time. If the key is already delayed, the earlier time applies.
    pub fn add_at(&self, key: K, at: Timestamp) {
        if self.shared.state.lock().schedule(key, at) {
            self.shared.rescheduled.notify_one();
        }
    }

    /// Adds a key after the delay of the rate limiter: usually 5 ms after the first failure,
    /// doubled with each further failure until [`forget`](Self::forget) is called.
    pub fn add_rate_limited(&self, key: K) {
        let delay = self.shared.state.lock().rate_limiter.when(&key);
        self.add_after(key, delay);
    }

    /// Resets the failure count of a key.
    pub fn forget(&self, key: &K) {
        self.shared.state.lock().rate_limiter.forget(key);
    }

    /// The number of ready keys.
    pub fn len(&self) -> usize {
        self.shared.state.lock().ready.len()
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Starts a controller with up to `workers` concurrent reconciles, which runs until the tasks
    /// of `context` are shut down. A key whose `reconcile` fails is requeued with exponential
    /// backoff.
    pub fn run<F, Fut, E>(
        &self,
        context: &Context,
        name: &'static str,
        workers: usize,
        reconcile: F,
    ) where
        F: Fn(K) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ReconcileResult, E>> + Send + 'static,
        E: Display + Send,
    {
        // Boxed, so that the compiler generates the code of a worker once for each type of key.
        let reconcile = move |key| {
            let result = reconcile(key);
            let failed = |error: E| ReconcileError::Failed(error.to_string());
            async move { result.await.map_err(failed) }.boxed()
        };
        self.run_boxed(context, name, workers, Arc::new(reconcile));
    }

    fn run_boxed(
        &self,
        context: &Context,
        name: &'static str,
        workers: usize,
        reconcile: Reconcile<K>,
    ) {
        let timer = self.clone();
        context
            .tasks
            .spawn(name, async move { timer.run_delaying_loop().await });
        for _ in 0..workers.max(1) {
            let queue = self.clone();
            let reconcile = reconcile.clone();
            context.tasks.spawn(name, async move {
                loop {
                    let key = queue.get().await;
                    let result = AssertUnwindSafe(reconcile(key.clone()))
                        .catch_unwind()
                        .await;
                    queue.handle_result(name, key, result.unwrap_or_else(recover_panic));
                }
            });
        }
    }

    /// Waits for a ready key and returns it, not while the clock is paused. The caller processes it and then
    /// calls [`done`](Self::done).
    pub async fn get(&self) -> K {
        loop {
            self.shared.clock.running().await;
            let ready = self.shared.ready.notified();
            let (key, more) = {
                let mut state = self.shared.state.lock();
                (state.take(), !state.ready.is_empty())
            };
            if let Some(key) = key {
                if more {
                    self.shared.ready.notify_one();
                }
                return key;
            }
            ready.await;
        }
    }

    /// Marks a key returned by [`get`](Self::get) as processed.
    pub fn done(&self, key: &K) {
        if self.shared.state.lock().done(key) {
            self.shared.ready.notify_one();
        }
    }

    fn handle_result(
        &self,
        name: &'static str,
        key: K,
        result: Result<ReconcileResult, ReconcileError>,
    ) {
        match result {
            Ok(ReconcileResult::Done) => self.forget(&key),
            Ok(ReconcileResult::RequeueAfter(delay)) => {
                self.forget(&key);
                self.add_after(key.clone(), delay);
            }
            Ok(ReconcileResult::Requeue) => self.add_rate_limited(key.clone()),
            Err(error) => {
                self.add_rate_limited(key.clone());
                self.log_failure(name, &key, &error.to_string());
            }
        }
        self.done(&key);
    }

    /// Logs the error of a reconcile, and one that lasts at a level that is on by default.
    fn log_failure(&self, name: &'static str, key: &K, error: &str) {
        let (failures, is_due) = {
            let mut state = self.shared.state.lock();
            let failures = state.rate_limiter.failures(key);
            let now = self.shared.clock.now();
            (failures, state.reports.is_due(error, failures, now))
        };
        match is_due {
            true => tracing::warn!(
                controller = name, ?key, %error,
                "failed {failures} times in a row, and will be retried"
            ),
            false => tracing::debug!(controller = name, ?key, %error, "will be retried"),
        }
    }

    /// Adds delayed keys when they are due.
    async fn run_delaying_loop(&self) {
        loop {
            let rescheduled = self.shared.rescheduled.notified();
            let (woken, next) = self.shared.state.lock().wake(self.shared.clock.now());
            if woken {
                self.shared.ready.notify_one();
            }
            match next {
                None => rescheduled.await,
                Some(at) => tokio::select! {
                    biased;
                    () = rescheduled => {}
                    () = self.shared.clock.sleep_until(at) => {}
                },
            }
        }
    }
}

/// A panic as the error of its reconcile, controller-runtime's `RecoverPanic`: the key is retried with backoff, and
/// the worker continues with others.
fn recover_panic(panic: Box<dyn Any + Send>) -> Result<ReconcileResult, ReconcileError> {
    let message = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(message), _) => message,
        (_, Some(message)) => message.as_str(),
        _ => "no message",
    };
    Err(ReconcileError::Panic(message.to_owned()))
}

impl<K: Clone + Eq + Hash> State<K> {
    /// Returns whether the key became ready.
    fn add(&mut self, key: K) -> bool {
        if !self.dirty.insert(key.clone()) || self.processing.contains(&key) {
            return false;
        }
        self.ready.push_back(key);
        true
    }

    fn take(&mut self) -> Option<K> {
        let key = self.ready.pop_front()?;
        self.dirty.remove(&key);
        self.processing.insert(key.clone());
        Some(key)
    }

    /// Returns whether the key became ready again.
    fn done(&mut self, key: &K) -> bool {
        self.processing.remove(key);
        let again = self.dirty.contains(key);
        if again {
            self.ready.push_back(key.clone());
        }
        again
    }

    /// Returns whether the earliest due time changed.
    fn schedule(&mut self, key: K, at: Timestamp) -> bool {
        if let Some(&(due, number)) = self.due.get(&key) {
            if due <= at {
                return false;
            }
            self.waiting.remove(&(due, number));
        }
        self.number += 1;
        let due = (at, self.number);
        self.due.insert(key.clone(), due);
        self.waiting.insert(due, key);
        self.waiting
            .first_key_value()
            .is_some_and(|(first, _)| *first == due)
    }

    /// Adds the keys that are due. Returns whether there were any, and the next due time.
    fn wake(&mut self, now: Timestamp) -> (bool, Option<Timestamp>) {
        let mut woken = false;
        while let Some(entry) = self.waiting.first_entry() {
            let at = entry.key().0;
            if at > now {
                return (woken, Some(at));
            }
            let key = entry.remove();
            self.due.remove(&key);
            woken |= self.add(key);
        }
        (woken, None)
    }
}
