//! Serves the presets as objects of the kind `Preset`: writes the state of each preset to its object, and
//! switches to a preset whose object is set active.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use kube::core::ApiResource;
use parking_lot::Mutex;
use serde_json::Value;

use super::preset_object::{PresetSpec, PresetStatus};
use super::served_kind::{ServedKind, serve_kind};
use kueue_lab_clock::Clock;
use kueue_lab_controller_runtime::Context;
use kueue_lab_presets::{Finding, Presets};

struct PresetObjects {
    presets: Arc<Presets>,
    clock: Clock,
    /// The error of the last switch to a preset, by name, and the revision of the presets then.
    rejected: Mutex<BTreeMap<String, (u64, Vec<Finding>)>>,
}

/// Starts the controller in the tasks of `context`.
pub(crate) fn serve(context: &Context, presets: &Arc<Presets>) {
    let kind = PresetObjects {
        presets: presets.clone(),
        clock: context.clock.clone(),
        rejected: Mutex::default(),
    };
    serve_kind(context, kind, presets.changes());
}

#[async_trait]
impl ServedKind for PresetObjects {
    type Status = PresetStatus;
    const REQUEST_FIELD: &'static str = "active";
    const REPEAT_FIELD: Option<&'static str> = Some("applyRequestedAt");
    const CONTROLLER: &'static str = "preset-objects";

    fn resource() -> ApiResource {
        PresetSpec::api_resource()
    }

    fn read_names(&self) -> Vec<String> {
        let state = self.presets.state();
        let names = state.presets.iter().map(|preset| preset.name.clone());
        names.collect()
    }

    async fn carry_out(&self, name: &str, _: &Value) {
        match self.presets.switch(name).await {
            Ok(()) => self.rejected.lock().clear(),
            Err(findings) => {
                let rejected = (self.presets.state().revision, findings);
                self.rejected.lock().insert(name.to_owned(), rejected);
            }
        }
    }

    fn is_on(&self, name: &str) -> bool {
        self.presets.state().active.as_deref() == Some(name)
    }

    fn status(&self, name: &str, generation: i64, _: PresetStatus) -> Option<PresetStatus> {
        let state = self.presets.state();
        let info = state.presets.iter().find(|preset| preset.name == name)?;
        let mut rejected = self.rejected.lock();
        let applied = state.active.as_deref() == Some(name);
        if applied
            && rejected
                .get(name)
                .is_some_and(|(revision, _)| *revision < state.revision)
        {
            rejected.remove(name);
        }
        let mut status = PresetStatus::new(&state, info, self.clock.speed());
        if let Some((_, errors)) = rejected.get(name) {
            status = status.with_errors(errors);
        }
        status.observed_generation = generation;
        Some(status)
    }
}
