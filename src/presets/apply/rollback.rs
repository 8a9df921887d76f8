//! Undoing what a failed run has done so far.

use serde_json::Value;

use super::{Applier, ApplyError, with_preset_label};
use crate::api_client::ApplyMode;
use crate::{Finding, Manifest, ObjectKey};

/// One change that was made.
#[derive(Debug)]
pub(super) struct AppliedChange {
    /// Which manifest.
    pub(super) index: usize,
    /// Whether the object belongs to the lab.
    pub(super) managed: bool,
    /// What the files said of it before.
    pub(super) previous: Option<Value>,
    /// Whether nothing stood there before.
    pub(super) created: bool,
}

/// A change to undo.
pub(super) struct RollbackStep {
    key: ObjectKey,
    version: String,
    applied: AppliedChange,
}

impl RollbackStep {
    pub(super) fn of(applied: AppliedChange, manifests: &[Manifest]) -> Self {
        let manifest = &manifests[applied.index];
        Self {
            key: manifest.key.clone(),
            version: manifest.api_version.clone(),
            applied,
        }
    }
}

impl Applier {
    /// Puts back what stood there before, last change first.
    pub(super) async fn roll_back(
        &mut self,
        preset: &str,
        done: Vec<RollbackStep>,
        mut findings: Vec<Finding>,
    ) -> ApplyError {
        let mut stuck = false;
        for change in done.into_iter().rev() {
            if let Err(reason) = self.roll_back_one(preset, &change).await {
                stuck = true;
                let start = kueue_lab_yaml::Position::START;
                let message = format!("could not be put back: {reason}");
                findings.push(Finding::error("presets", start, message).about(&change.key));
            }
        }
        match stuck {
            true => ApplyError::RollbackFailed(findings),
            false => ApplyError::RolledBack(findings),
        }
    }

    async fn roll_back_one(&mut self, preset: &str, change: &RollbackStep) -> Result<(), String> {
        let found = self
            .kinds
            .find(&self.remote, &change.version, &change.key.kind)
            .await;
        let Some(kind) = found.map_err(|e| e.to_string())? else {
            return Ok(());
        };
        match &change.applied.previous {
            Some(before) => {
                let object = with_preset_label(before, preset, change.applied.managed);
                let mode = ApplyMode {
                    dry_run: false,
                    force: change.applied.managed,
                };
                let applied = self.remote.apply(&kind, &change.key, &object, mode).await;
                applied.map(drop).map_err(|e| e.to_string())
            }
            None if change.applied.created => {
                let deleted = self.remote.delete(&kind, &change.key).await;
                deleted.map_err(|e| e.to_string())
            }
            // Somebody else's object was touched, or what an earlier run left: it stays as it is.
            None => Ok(()),
        }
    }
}
