//! Rolls back the changes of a failed run.

use serde_json::Value;

use super::applier::{Applier, ApplyError, with_preset_label};
use crate::api_client::{ApplyMode, RequestError};
use crate::{Finding, Manifest, ObjectWrite, ResourceKey};

/// A change that was made.
#[derive(Debug)]
pub(super) struct AppliedChange {
    /// Index of the manifest.
    pub(super) index: usize,
    /// Whether the object is managed.
    pub(super) managed: bool,
    /// The object as it was applied before.
    pub(super) previous: Option<Value>,
    /// Whether the object did not exist before.
    pub(super) created: bool,
}

/// A change to roll back.
pub(super) struct RollbackStep {
    key: ResourceKey,
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
    /// Restores the previous objects, last change first.
    pub(super) async fn roll_back(
        &mut self,
        preset: &str,
        steps: Vec<RollbackStep>,
        mut findings: Vec<Finding>,
    ) -> ApplyError {
        let mut failed = false;
        for change in steps.into_iter().rev() {
            if let Err(reason) = self.roll_back_one(preset, &change).await {
                failed = true;
                let start = kueue_lab_yaml::Position::START;
                let message = format!("cannot be rolled back: {reason}");
                findings.push(Finding::error("presets", start, message).about(&change.key));
            }
        }
        match failed {
            true => ApplyError::RollbackFailed(findings),
            false => ApplyError::RolledBack(findings),
        }
    }

    async fn roll_back_one(
        &mut self,
        preset: &str,
        change: &RollbackStep,
    ) -> Result<(), RequestError> {
        let found = self
            .kinds
            .find(&self.remote, &change.version, &change.key.kind)
            .await;
        let Some(kind) = found? else {
            return Ok(());
        };
        match &change.applied.previous {
            Some(previous) => {
                let object = with_preset_label(previous, preset, change.applied.managed);
                let mode = ApplyMode {
                    dry_run: false,
                    force: change.applied.managed,
                };
                let applied = self.remote.apply(&kind, &change.key, &object, mode).await;
                let object = applied?.object;
                self.writes.push(ObjectWrite::applied(&change.key, &object));
                Ok(())
            }
            None if change.applied.created => self.remote.delete(&kind, &change.key).await,
            // An unmanaged object, or one from an earlier run: its previous state is unknown.
            None => Ok(()),
        }
    }
}
