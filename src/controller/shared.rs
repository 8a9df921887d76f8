//! [`Shared`]: what all parts of the controller have in common.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::sync::watch;

use super::events::Recorder;
use super::informers::{DeviceInformers, Informers};
use super::settings::{ControllerConfig, Settings};
use kueue_lab_admission::Engine;
use kueue_lab_admission::cycle::Counts;
use kueue_lab_api::config::Feature;
use kueue_lab_runtime::Context;

/// What all parts of the controller have in common. Clones are handles to the same thing.
#[derive(Clone)]
pub struct Shared(Arc<Inner>);

/// An attempt of the scheduler to admit: one of its cycles.
pub struct Attempt<'a> {
    /// Whether anything was admitted.
    pub admitted: bool,
    /// How long it took, in lab time.
    pub took: Duration,
    /// What it passed over and looked at again, by ClusterQueue.
    pub counts: &'a Counts,
}

/// Who is told of attempts.
type Told = Box<dyn Fn(&Attempt<'_>) + Send + Sync>;

/// The parts of [`Shared`].
pub struct Inner {
    /// Client, clock, chance and tasks.
    pub ctx: Context,
    /// The settings.
    pub settings: Settings,
    /// What is in the cluster.
    pub informers: Informers,
    /// Where Events are told.
    pub recorder: Recorder,
    engine: Mutex<Engine>,
    /// Told whenever the engine may have more to do.
    wake: watch::Sender<()>,
    /// Told after each attempt to admit.
    attempts: RwLock<Vec<Told>>,
}

impl Deref for Shared {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl Shared {
    /// Starts watching the cluster, once it said whether it has devices; the engine is fed from now
    /// on.
    pub async fn new(ctx: &Context, config: ControllerConfig) -> Self {
        let settings = Settings::new(config);
        let devices = settings.enabled(Feature::KueueDRAIntegration)
            && DeviceInformers::are_served(ctx).await;
        let shared = Self(Arc::new(Inner {
            informers: Informers::start(ctx, settings.gates, devices),
            recorder: Recorder::start(ctx, &settings.instance),
            engine: Mutex::new(Engine::new(settings.engine())),
            wake: watch::Sender::new(()),
            attempts: RwLock::default(),
            settings,
            ctx: ctx.clone(),
        }));
        super::feed::connect(&shared);
        shared
    }

    /// The engine, for a moment: never held while anything is waited for. Use
    /// [`Shared::changing`] where the engine may have more to do afterwards.
    pub fn engine(&self) -> MutexGuard<'_, Engine> {
        self.0.engine.lock()
    }

    /// Changes the engine and wakes the scheduler.
    pub fn changing<T>(&self, change: impl FnOnce(&mut Engine) -> T) -> T {
        let result = change(&mut self.engine());
        self.wake();
        result
    }

    /// Says that the engine may have more to do.
    pub fn wake(&self) {
        self.0.wake.send_replace(());
    }

    /// To be told whenever the engine may have more to do.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.0.wake.subscribe()
    }

    /// Calls `told` after each attempt to admit.
    pub fn on_attempt(&self, told: impl Fn(&Attempt<'_>) + Send + Sync + 'static) {
        self.0.attempts.write().push(Box::new(told));
    }

    /// Tells of an attempt to admit.
    pub(super) fn attempted(&self, attempt: &Attempt<'_>) {
        for told in self.0.attempts.read().iter() {
            told(attempt);
        }
    }

    /// The present moment.
    pub fn now(&self) -> jiff::Timestamp {
        self.ctx.clock.now()
    }
}
