//! The presets of a lab for the UI.

use std::sync::Arc;

use async_trait::async_trait;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::preset_list::preset_list;
use crate::preset_samples::{TaskTarget, submit_named_sample};
use kueue_lab_lab::{Lab, sky_config_file};
use kueue_lab_presets::Presets;
use kueue_lab_tui::backend::{OperationError, PresetBackend, PresetList};

/// Switches the preset of a lab and submits samples.
pub struct LabPresets {
    client: Client,
    tasks: TaskTarget,
    presets: Arc<Presets>,
    list: watch::Receiver<Arc<PresetList>>,
    /// Keeps `list` up to date.
    list_task: JoinHandle<()>,
}

impl LabPresets {
    /// The presets of `lab`.
    pub fn new(lab: &Lab) -> Self {
        let presets = lab.presets().clone();
        let mut changes = presets.changes();
        let first = preset_list(&changes.borrow_and_update());
        let (sender, list) = watch::channel(Arc::new(first));
        let follow = async move {
            while changes.changed().await.is_ok() {
                let next = preset_list(&changes.borrow_and_update());
                sender.send_replace(Arc::new(next));
            }
        };
        Self {
            client: lab.client(),
            tasks: TaskTarget::Jobs(match sky_config_file() {
                Some(file) => lab.jobs().clone().with_config_file(file),
                None => lab.jobs().clone(),
            }),
            presets,
            list,
            list_task: tokio::spawn(follow),
        }
    }
}

impl Drop for LabPresets {
    fn drop(&mut self) {
        self.list_task.abort();
    }
}

#[async_trait]
impl PresetBackend for LabPresets {
    fn changes(&self) -> watch::Receiver<Arc<PresetList>> {
        self.list.clone()
    }

    async fn switch(&self, name: &str) -> Result<String, OperationError> {
        match self.presets.switch(name).await {
            Ok(()) => Ok(format!("preset {name} is active")),
            Err(findings) => {
                let findings: Vec<_> = findings.iter().map(ToString::to_string).collect();
                Err(OperationError(findings.join("; ")))
            }
        }
    }

    async fn submit_sample(&self, preset: &str, sample: &str) -> Result<String, OperationError> {
        let state = self.presets.state();
        submit_named_sample(&self.client, &self.tasks, &state, preset, sample).await
    }
}
