//! [`ControllerContext`]: what all parts of the controller have in common.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::sync::watch;

use super::event_recorder::EventRecorder;
use super::informers::{DraInformers, Informers};
use super::settings::{ControllerConfig, Settings};
use kueue_lab_admission::Engine;
use kueue_lab_admission::cycle::CycleCounts;
use kueue_lab_api::config::Feature;
use kueue_lab_runtime::Context;

/// What all parts of the controller have in common. Clones are handles to the same thing.
#[derive(Clone)]
pub struct ControllerContext(Arc<ControllerContextInner>);

/// An attempt of the scheduler to admit: one of its cycles.
pub struct AdmissionAttempt<'a> {
    /// Whether anything was admitted.
    pub admitted: bool,
    /// How long it took, in lab time.
    pub duration: Duration,
    /// What it passed over and looked at again, by ClusterQueue.
    pub counts: &'a CycleCounts,
}

/// Who is told of attempts.
type AdmissionAttemptObserver = Box<dyn Fn(&AdmissionAttempt<'_>) + Send + Sync>;

/// The parts of [`ControllerContext`].
pub struct ControllerContextInner {
    /// Client, clock, chance and tasks.
    pub ctx: Context,
    /// The settings.
    pub settings: Settings,
    /// What is in the cluster.
    pub informers: Informers,
    /// Where Events are told.
    pub recorder: EventRecorder,
    engine: Mutex<Engine>,
    /// Told whenever the engine may have more to do.
    wake: watch::Sender<()>,
    /// Told after each attempt to admit.
    attempt_observers: RwLock<Vec<AdmissionAttemptObserver>>,
}

impl Deref for ControllerContext {
    type Target = ControllerContextInner;

    fn deref(&self) -> &ControllerContextInner {
        &self.0
    }
}

impl ControllerContext {
    /// Starts watching the cluster, once it said whether it has devices; the engine is fed from now
    /// on.
    pub async fn new(ctx: &Context, config: ControllerConfig) -> Self {
        let settings = Settings::new(config);
        let devices = settings.enabled(Feature::KueueDRAIntegration)
            && DraInformers::resource_api_is_served(ctx).await;
        let shared = Self(Arc::new(ControllerContextInner {
            informers: Informers::start(ctx, settings.gates, devices),
            recorder: EventRecorder::start(ctx, &settings.instance),
            engine: Mutex::new(Engine::new(settings.engine())),
            wake: watch::Sender::new(()),
            attempt_observers: RwLock::default(),
            settings,
            ctx: ctx.clone(),
        }));
        super::event_handlers::add_all_event_handlers(&shared);
        shared
    }

    /// The engine, for a moment: never held while anything is waited for. Use
    /// [`ControllerContext::changing`] where the engine may have more to do afterwards.
    pub fn engine(&self) -> MutexGuard<'_, Engine> {
        self.0.engine.lock()
    }

    /// Changes the engine and wakes the scheduler.
    pub fn update_engine<T>(&self, change: impl FnOnce(&mut Engine) -> T) -> T {
        let result = change(&mut self.engine());
        self.wake_scheduler();
        result
    }

    /// Says that the engine may have more to do.
    pub fn wake_scheduler(&self) {
        self.0.wake.send_replace(());
    }

    /// To be told whenever the engine may have more to do.
    pub(super) fn engine_changes(&self) -> watch::Receiver<()> {
        self.0.wake.subscribe()
    }

    /// Calls `told` after each attempt to admit.
    pub fn on_admission_attempt(
        &self,
        told: impl Fn(&AdmissionAttempt<'_>) + Send + Sync + 'static,
    ) {
        self.0.attempt_observers.write().push(Box::new(told));
    }

    /// Tells of an attempt to admit.
    pub(super) fn notify_admission_attempt(&self, attempt: &AdmissionAttempt<'_>) {
        for told in self.0.attempt_observers.read().iter() {
            told(attempt);
        }
    }

    /// The present moment.
    pub fn now(&self) -> jiff::Timestamp {
        self.ctx.clock.now()
    }
}
