//! The presets of a lab that another process runs, for the UI: its `Preset` objects.

use std::sync::Arc;

use async_trait::async_trait;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::object_list::ObjectList;
use crate::preset_list::preset_list;
use crate::preset_samples::{TaskTarget, submit_named_sample};
use kueue_lab_clock::Clock;
use kueue_lab_lab::{PresetSpec, PresetStatus};
use kueue_lab_tui::backend::{OperationError, PresetBackend, PresetList};

/// The presets of a lab that another process runs.
pub struct ClusterPresets {
    client: Client,
    objects: ObjectList,
    list: watch::Receiver<Arc<PresetList>>,
    /// Keeps `list` up to date.
    list_task: JoinHandle<()>,
}

impl ClusterPresets {
    /// The presets of a cluster; `None` if it is not that of a lab.
    pub async fn find(client: &Client) -> Option<Self> {
        let objects = ObjectList::find(client, &PresetSpec::api_resource()).await?;
        let mut changes = objects.changes();
        let read = |changes: &mut watch::Receiver<Vec<_>>| {
            let state = PresetStatus::presets_state(&changes.borrow_and_update());
            Arc::new(preset_list(&state))
        };
        let (sender, list) = watch::channel(read(&mut changes));
        let follow = async move {
            while changes.changed().await.is_ok() {
                sender.send_replace(read(&mut changes));
            }
        };
        Some(Self {
            client: client.clone(),
            objects,
            list,
            list_task: tokio::spawn(follow),
        })
    }
}

impl Drop for ClusterPresets {
    fn drop(&mut self) {
        self.list_task.abort();
    }
}

#[async_trait]
impl PresetBackend for ClusterPresets {
    fn changes(&self) -> watch::Receiver<Arc<PresetList>> {
        self.list.clone()
    }

    async fn switch(&self, name: &str) -> Result<String, OperationError> {
        let request = PresetSpec::apply_request(Clock::real().now());
        let object = self.objects.request(name, &request).await?;
        let status = PresetStatus::of(&object);
        match status.is_applied() {
            true => Ok(format!("preset {name} is active")),
            false => Err(OperationError(status.error_lines().join("; "))),
        }
    }

    async fn submit_sample(&self, preset: &str, sample: &str) -> Result<String, OperationError> {
        let state = PresetStatus::presets_state(&self.objects.changes().borrow());
        let target = TaskTarget::Objects;
        submit_named_sample(&self.client, &target, &state, preset, sample).await
    }
}
