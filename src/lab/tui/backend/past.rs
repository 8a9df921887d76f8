//! The past of a cluster, to go back to.

use std::sync::Arc;

use kueue_lab_recording::{Playback, SharedHistory};

use super::Explainer;

/// The past of a cluster.
#[derive(Clone)]
pub struct PastBackend {
    /// The recorded course of the cluster.
    pub history: SharedHistory,
    /// Makes the explainer of admission decisions at the position of a playback.
    pub explainer: fn(&Playback) -> Arc<dyn Explainer>,
}
