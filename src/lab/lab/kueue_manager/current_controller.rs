//! The current instance of the controller, for everything that outlives an instance.

use std::sync::Arc;

use kueue_lab_api::config::FeatureGates;
use kueue_lab_controller::{Controller, JobWebhooks};
use parking_lot::RwLock;

/// The current instance of the controller. Clones share it.
#[derive(Clone)]
pub(crate) struct CurrentController(Arc<RwLock<Instance>>);

struct Instance {
    controller: Controller,
    webhooks: Arc<JobWebhooks>,
}

impl Instance {
    fn new(controller: Controller) -> Self {
        let webhooks = Arc::new(controller.webhooks().clone());
        Self {
            controller,
            webhooks,
        }
    }
}

impl CurrentController {
    /// The first instance.
    pub(crate) fn new(controller: Controller) -> Self {
        Self(Arc::new(RwLock::new(Instance::new(controller))))
    }

    /// The current instance.
    pub(crate) fn get(&self) -> Controller {
        self.0.read().controller.clone()
    }

    /// Its webhooks of jobs.
    pub(crate) fn webhooks(&self) -> Arc<JobWebhooks> {
        self.0.read().webhooks.clone()
    }

    /// Replaces the current instance.
    pub(super) fn set(&self, controller: Controller) {
        *self.0.write() = Instance::new(controller);
    }
}

/// The feature gates of the current instance. Clones share them.
#[derive(Clone)]
pub(crate) struct CurrentGates(Arc<RwLock<FeatureGates>>);

impl CurrentGates {
    /// The gates of the first instance.
    pub(crate) fn new(gates: FeatureGates) -> Self {
        Self(Arc::new(RwLock::new(gates)))
    }

    /// The current gates.
    pub(crate) fn get(&self) -> FeatureGates {
        *self.0.read()
    }

    /// Replaces the gates.
    pub(super) fn set(&self, gates: FeatureGates) {
        *self.0.write() = gates;
    }
}
