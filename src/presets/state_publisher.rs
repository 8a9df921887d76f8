//! [`StatePublisher`]: the state of the presets, for the UI and other readers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::watch;

use super::folder;
use super::{PresetInfo, PresetsState};

/// Publishes the state of the presets with the presets of the folder. Clones publish the same state.
#[derive(Clone)]
pub(super) struct StatePublisher {
    folder: PathBuf,
    state: watch::Sender<Arc<PresetsState>>,
}

impl StatePublisher {
    /// The publisher of a presets folder, and a receiver of the state.
    pub(super) fn new(folder: &Path) -> (Self, watch::Receiver<Arc<PresetsState>>) {
        let initial = PresetsState {
            origin: folder.display().to_string(),
            ..PresetsState::default()
        };
        let (state, received) = watch::channel(Arc::new(initial));
        let folder = folder.to_owned();
        (Self { folder, state }, received)
    }

    /// The state published last.
    pub(super) fn current(&self) -> Arc<PresetsState> {
        self.state.borrow().clone()
    }

    /// Updates the state and the list of presets.
    pub(super) fn publish(&self, change: impl FnOnce(&mut PresetsState)) {
        let mut state = PresetsState::clone(&self.state.borrow());
        let known: BTreeMap<_, _> = std::mem::take(&mut state.presets)
            .into_iter()
            .map(|p| (p.name.clone(), p))
            .collect();
        state.presets = self.list_presets(known);
        change(&mut state);
        self.state.send_if_modified(|old| {
            let different = **old != state;
            if different {
                *old = Arc::new(state);
            }
            different
        });
    }

    /// All presets of the folder. A preset that cannot be read keeps its previous entry.
    fn list_presets(&self, mut known: BTreeMap<String, PresetInfo>) -> Vec<PresetInfo> {
        let Ok(names) = folder::list(&self.folder) else {
            return known.into_values().collect();
        };
        let info = |name: String| match folder::read(&self.folder, &name) {
            Ok(source) => PresetInfo {
                name,
                files: source.file_names(),
                description: source.description,
                samples: source.samples,
            },
            Err(_) => known.remove(&name).unwrap_or(PresetInfo {
                name,
                ..PresetInfo::default()
            }),
        };
        names.into_iter().map(info).collect()
    }
}
