//! [`ControllerContext`]: the state shared by all controllers.

use std::fmt::{Debug, Display};
use std::future::Future;
use std::hash::Hash;
use std::ops::Deref;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::OwnedMutexGuard;

use super::client_write::ClientWrite;
use super::event_recorder::EventRecorder;
use super::informers::{DraInformers, Informers};
use super::metric_events::{MetricEvent, MetricObservers};
use super::scheduler::{LoopWarnings, StatusWritePacing};
use super::settings::{ControllerConfig, Settings};
use kueue_lab_api::config::Feature;
use kueue_lab_controller_runtime::{Context, OrderedWatch, ReconcileResult, WorkQueue};
use kueue_lab_engine::{Engine, Gates};
use kueue_lab_preemption_loops::DetectedLoop;
use kueue_lab_reason::CycleHead;

/// The state shared by all controllers. Clones share it.
#[derive(Clone)]
pub struct ControllerContext(Arc<ControllerContextInner>);

/// The fields of [`ControllerContext`].
pub struct ControllerContextInner {
    /// Client, clock, entropy and tasks.
    pub ctx: Context,
    /// The settings.
    pub settings: Settings,
    /// The shared informers.
    pub informers: Informers,
    /// The Event recorder.
    pub recorder: EventRecorder,
    /// The feature gates as the engine's functions take them. They never change.
    pub(crate) engine_gates: Arc<Gates>,
    engine: Mutex<Engine>,
    /// Paces the scheduler's status writes.
    pub(crate) status_write_pacing: StatusWritePacing,
    /// Held by the scheduler while a cycle runs.
    scheduling: Arc<tokio::sync::Mutex<()>>,
    /// Logs loops of scheduling attempts.
    pub(crate) loop_warnings: LoopWarnings,
    /// Notified when the engine may have work.
    wake: OrderedWatch<()>,
    /// The observers of metric events.
    metric_observers: MetricObservers,
}

impl Deref for ControllerContext {
    type Target = ControllerContextInner;

    fn deref(&self) -> &ControllerContextInner {
        &self.0
    }
}

impl ControllerContext {
    /// Starts the informers and the event handlers of the engine, after checking whether the
    /// cluster serves `resource.k8s.io`.
    pub async fn new(ctx: &Context, config: ControllerConfig) -> Self {
        let settings = Settings::new(config);
        let devices = settings.enabled(Feature::KueueDRAIntegration)
            && DraInformers::resource_api_is_served(ctx).await;
        let engine = settings.engine();
        let shared = Self(Arc::new(ControllerContextInner {
            informers: Informers::start(ctx, settings.gates, devices),
            recorder: EventRecorder::start(ctx, &settings.instance),
            engine_gates: Arc::new(engine.gates.clone()),
            engine: Mutex::new(Engine::new(engine)),
            status_write_pacing: StatusWritePacing::default(),
            scheduling: Arc::default(),
            loop_warnings: LoopWarnings::default(),
            wake: OrderedWatch::new(()),
            metric_observers: MetricObservers::default(),
            settings,
            ctx: ctx.clone(),
        }));
        super::event_handlers::add_all_event_handlers(&shared);
        shared
    }

    /// Locks the engine. The guard must not be held across an await. Use
    /// [`ControllerContext::update_engine`] for changes that may create work for the scheduler.
    pub fn engine(&self) -> MutexGuard<'_, Engine> {
        self.0.engine.lock()
    }

    /// Waits for the end of the current scheduling cycle. No cycle runs until the guard is dropped.
    pub async fn hold_scheduling(&self) -> OwnedMutexGuard<()> {
        self.0.scheduling.clone().lock_owned().await
    }

    /// Waits until the engine has observed writes of other clients, by their informers. Writes of kinds that the
    /// engine does not watch count as observed.
    pub async fn wait_until_observed(&self, writes: &[ClientWrite]) {
        let mut changes = self.engine_changes();
        while !writes
            .iter()
            .all(|write| self.informers.have_observed(write))
        {
            changes.changed().await;
        }
    }

    /// The heads of the next scheduling cycle in their order, each with the decision if the cycle begins now.
    pub fn next_cycle_heads(&self) -> Vec<CycleHead> {
        // The cycle must not block the controller.
        let engine = self.engine().clone();
        engine.next_cycle_heads(self.now())
    }

    /// The loops of scheduling attempts that are detected now.
    pub fn scheduling_loops(&self) -> Vec<DetectedLoop> {
        self.0.loop_warnings.loops(self.now())
    }

    /// Updates the engine and wakes the scheduler.
    pub(crate) fn update_engine<T>(&self, change: impl FnOnce(&mut Engine) -> T) -> T {
        let result = change(&mut self.engine());
        self.wake_scheduler();
        result
    }

    /// Notifies the scheduler that the engine may have work.
    pub(crate) fn wake_scheduler(&self) {
        self.0.wake.replace(());
    }

    /// Notified when the engine may have work.
    pub fn engine_changes(&self) -> OrderedWatch<()> {
        self.0.wake.subscribe()
    }

    /// Calls `observer` on each metric event.
    pub fn on_metric_event(&self, observer: impl Fn(&MetricEvent<'_>) + Send + Sync + 'static) {
        self.0.metric_observers.add(observer);
    }

    /// Calls the observers of metric events.
    pub(crate) fn notify_metric_event(&self, event: &MetricEvent<'_>) {
        self.0.metric_observers.notify(event);
    }

    /// Starts the workers of the controller of a kind, such as `Job.batch`: the number in
    /// `groupKindConcurrency`, or `default`.
    pub(crate) fn start_workers<K, F, Fut, E>(
        &self,
        queue: &WorkQueue<K>,
        name: &'static str,
        (group_kind, default): (&str, usize),
        reconcile: F,
    ) where
        K: Clone + Debug + Eq + Hash + Send + Sync + 'static,
        F: Fn(Self, K) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ReconcileResult, E>> + Send + 'static,
        E: Display + Send,
    {
        let (shared, ctx) = (self.clone(), &self.ctx);
        let workers = self.settings.group_kind_concurrency(group_kind, default);
        queue.run(ctx, name, workers, move |key| {
            reconcile(shared.clone(), key)
        });
    }

    /// The current time of the clock.
    pub fn now(&self) -> jiff::Timestamp {
        self.ctx.clock.now()
    }
}
