//! The states from which cases start: computed once for all cases with the same files, options and seed.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::format::TestFile;
use kueue_lab_lab::{KueueConfig, LabSnapshot, NodePools};

/// From which state cases start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaseStart {
    /// From the state of an idle lab, which all cases of the same configuration share.
    #[default]
    Shared,
    /// From such a state, which each case computes.
    Separate,
    /// From an empty cluster, whose controllers start while the case runs.
    Empty,
}

/// The states of a run. The state of a case depends only on what its lab is configured with, so that cases
/// have the same results with states of their own.
#[derive(Default)]
pub(super) struct StartStates {
    known: Mutex<Vec<(StartKey, Arc<StartState>)>>,
}

/// A state; `None` if cases cannot start from one.
type StartState = OnceLock<Option<Arc<LabSnapshot>>>;

/// The inputs of a state.
#[derive(PartialEq)]
struct StartKey {
    presets: PathBuf,
    preset: String,
    kueue: Option<KueueConfig>,
    nodes: Option<NodePools>,
    seed: u64,
    operators: bool,
}

impl StartStates {
    /// The state of the cases of a file, with operators of jobs or without; `compute` computes it once.
    pub(super) fn get(
        &self,
        file: &TestFile,
        operators: bool,
        compute: impl FnOnce() -> Option<Arc<LabSnapshot>>,
    ) -> Option<Arc<LabSnapshot>> {
        let state = self.known(file, operators);
        state.get_or_init(compute).clone()
    }

    fn known(&self, file: &TestFile, operators: bool) -> Arc<StartState> {
        let key = StartKey {
            // Relative paths can name one folder in several ways.
            presets: file
                .presets
                .canonicalize()
                .unwrap_or_else(|_| file.presets.clone()),
            preset: file.preset.clone(),
            kueue: file.kueue.clone(),
            nodes: file.nodes.clone(),
            seed: file.seed,
            operators,
        };
        let mut known = self.known.lock();
        if let Some((_, state)) = known.iter().find(|(other, _)| *other == key) {
            return state.clone();
        }
        let state = Arc::<StartState>::default();
        known.push((key, state.clone()));
        state
    }
}
