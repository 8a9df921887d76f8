//! The backend of the UI for a lab of this process.

use std::sync::Arc;

use crate::lab_clock_backend::LabClockBackend;
use crate::lab_demos::LabDemos;
use crate::lab_presets::LabPresets;
use kueue_lab_lab::Lab;
use kueue_lab_tui::backend::{Backend, ClockBackend};

/// The backend for `lab`, with its presets, deleted nodes and clock and with `demos`; without an explainer.
pub fn lab_backend(lab: &Lab, demos: &Arc<LabDemos>) -> Backend {
    let clock = lab.lab_clock().map(LabClockBackend::new);
    Backend {
        presets: Some(Arc::new(LabPresets::new(lab))),
        deleted_nodes: lab.machines().deleted_nodes(),
        demos: Some(demos.clone()),
        clock: clock.map(|clock| Arc::new(clock) as Arc<dyn ClockBackend>),
        ..Backend::of_cluster(lab.client())
    }
}
