//! The backend of the UI for a lab of this process.

use std::sync::Arc;

use crate::lab_demos::LabDemos;
use crate::lab_presets::LabPresets;
use crate::lab_speed::LabSpeed;
use kueue_lab_lab::Lab;
use kueue_lab_tui::backend::{Backend, SpeedBackend};

/// The backend for `lab`, with its presets, deleted nodes and speed and with `demos`; without an explainer.
pub fn lab_backend(lab: &Lab, demos: &Arc<LabDemos>) -> Backend {
    let speed = LabSpeed::new(lab.clock());
    Backend {
        presets: Some(Arc::new(LabPresets::new(lab))),
        deleted_nodes: lab.machines().deleted_nodes(),
        demos: Some(demos.clone()),
        speed: speed.map(|speed| Arc::new(speed) as Arc<dyn SpeedBackend>),
        ..Backend::of_cluster(lab.client())
    }
}
