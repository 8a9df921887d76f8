//! [`SaveReview`]: a plan of what a save of the active preset does.

use std::path::PathBuf;

use async_trait::async_trait;
use futures::future::BoxFuture;
use kube::Client;

/// A preset whose files were saved.
#[derive(Clone, Debug)]
pub struct SavedPreset {
    /// The presets folder.
    pub folder: PathBuf,
    /// The name of the preset.
    pub name: String,
}

/// What a save does to the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewedSave {
    /// The plan as text.
    pub plan: String,
    /// Why the save needs a confirmation, one sentence; `None` if it needs none.
    pub objection: Option<String>,
}

/// Plans saves of the active preset.
#[async_trait]
pub trait SaveReview: Send + Sync {
    /// Whether a save with an objection waits until the preset is applied explicitly.
    fn holds_saves(&self) -> bool;

    /// Reads the state of the cluster before the save is applied. The future computes the plan, also while
    /// the save is being applied; its error is one sentence.
    ///
    /// # Errors
    /// Why the cluster cannot be read, one sentence.
    async fn begin(
        &self,
        client: &Client,
        saved: SavedPreset,
    ) -> Result<BoxFuture<'static, Result<ReviewedSave, String>>, String>;
}
