//! Undoing what a failed run has done so far.

use serde_json::Value;

use super::{Applier, Failure, labelled};
use crate::remote::ApplyMode;
use crate::{Finding, Manifest, ObjectKey};

/// One change that was made.
#[derive(Debug)]
pub(super) struct Done {
    /// Which manifest.
    pub(super) index: usize,
    /// Whether the object belongs to the lab.
    pub(super) ours: bool,
    /// What the files said of it before.
    pub(super) before: Option<Value>,
    /// Whether nothing stood there before.
    pub(super) created: bool,
}

/// A change to undo.
pub(super) struct Undo {
    key: ObjectKey,
    version: String,
    done: Done,
}

impl Undo {
    pub(super) fn of(done: Done, manifests: &[Manifest]) -> Self {
        let manifest = &manifests[done.index];
        Self {
            key: manifest.key.clone(),
            version: manifest.api_version.clone(),
            done,
        }
    }
}

impl Applier {
    /// Puts back what stood there before, last change first.
    pub(super) async fn undo(
        &mut self,
        preset: &str,
        done: Vec<Undo>,
        mut findings: Vec<Finding>,
    ) -> Failure {
        let mut stuck = false;
        for change in done.into_iter().rev() {
            if let Err(reason) = self.undo_one(preset, &change).await {
                stuck = true;
                let start = kueue_lab_yaml::Position::START;
                let message = format!("could not be put back: {reason}");
                findings.push(Finding::error("presets", start, message).about(&change.key));
            }
        }
        match stuck {
            true => Failure::Stuck(findings),
            false => Failure::Undone(findings),
        }
    }

    async fn undo_one(&mut self, preset: &str, change: &Undo) -> Result<(), String> {
        let found = self
            .kinds
            .find(&self.remote, &change.version, &change.key.kind)
            .await;
        let Some(kind) = found.map_err(|e| e.to_string())? else {
            return Ok(());
        };
        match &change.done.before {
            Some(before) => {
                let object = labelled(before, preset, change.done.ours);
                let mode = ApplyMode {
                    dry_run: false,
                    force: change.done.ours,
                };
                let applied = self.remote.apply(&kind, &change.key, &object, mode).await;
                applied.map(drop).map_err(|e| e.to_string())
            }
            None if change.done.created => {
                let deleted = self.remote.delete(&kind, &change.key).await;
                deleted.map_err(|e| e.to_string())
            }
            // Somebody else's object was touched, or what an earlier run left: it stays as it is.
            None => Ok(()),
        }
    }
}
