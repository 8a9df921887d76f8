//! [`SaveReview`]: the plans of saves of the active preset, and saves that are held.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use futures::future::BoxFuture;
use kube::Client;

use super::state_publisher::StatePublisher;
use super::{Finding, SyncStatus, folder};
use kueue_lab_yaml::Position;

/// A preset whose files were saved.
#[derive(Clone, Debug)]
pub struct SavedPreset {
    /// The presets folder.
    pub folder: PathBuf,
    /// The name of the preset.
    pub name: String,
}

/// The plan of a save.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewedSave {
    /// The plan as text.
    pub plan: String,
    /// The reason that the save needs a confirmation, one sentence; `None` if it needs none.
    pub hold_reason: Option<String>,
}

/// Why a save cannot be planned.
pub type ReviewError = Box<dyn std::error::Error + Send + Sync>;

/// Plans saves of the active preset.
#[async_trait]
pub trait SaveReview: Send + Sync {
    /// Whether a save with a hold reason is held until the preset is applied explicitly.
    fn holds_saves(&self) -> bool;

    /// Reads the state of the cluster before the save is applied. The future computes the plan, also while
    /// the save is being applied; its error has its causes.
    ///
    /// # Errors
    /// The error of reading the cluster.
    async fn begin(
        &self,
        client: &Client,
        saved: SavedPreset,
    ) -> Result<BoxFuture<'static, Result<ReviewedSave, ReviewError>>, ReviewError>;
}

/// Holds a save: the applied state stays until the preset is applied explicitly.
pub(super) fn hold_save(
    state: &StatePublisher,
    presets: &Path,
    name: &str,
    hold_reason: String,
    plan: String,
) {
    tracing::warn!(
        "preset {name}: {hold_reason}; the save is held until the preset is applied, by `kueue-lab preset {name}` or in the UI"
    );
    for line in plan.lines() {
        tracing::info!("plan: {line}");
    }
    let file = folder::preset_folder(presets, name);
    let file = file.display().to_string();
    let finding = Finding::error(&file, Position::START, hold_reason).remedy(format!(
        "apply it with `kueue-lab preset {name}`, or undo the save"
    ));
    state.publish(|state| {
        state.sync_status = SyncStatus::Held;
        state.plan = plan;
        state.errors = vec![finding];
    });
}
