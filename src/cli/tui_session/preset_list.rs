//! The presets of a lab as the UI shows them.

use kueue_lab_presets::{Finding, PresetInfo, PresetsState, SyncStatus};
use kueue_lab_tui::backend::{Diagnostic, Preset, PresetList, PresetState};

/// Converts the state of the presets.
pub(super) fn preset_list(state: &PresetsState) -> PresetList {
    PresetList {
        folder: state.origin.clone(),
        presets: state.presets.iter().map(|p| preset(state, p)).collect(),
    }
}

fn preset(state: &PresetsState, info: &PresetInfo) -> Preset {
    let plain = Preset {
        name: info.name.clone(),
        description: info.description.clone(),
        samples: info
            .samples
            .iter()
            .map(|s| (s.name.clone(), s.description.clone()))
            .collect(),
        ..Preset::default()
    };
    if info.name != state.active {
        return plain;
    }
    let state_of = match (state.errors.is_empty(), state.sync_status) {
        (true, SyncStatus::NotApplied) => PresetState::Applying,
        (true, _) => PresetState::Active,
        (false, force) => PresetState::Invalid {
            diagnostics: state.errors.iter().map(diagnostic).collect(),
            last_good_applied: force == SyncStatus::LastGood,
        },
    };
    Preset {
        state: state_of,
        objects: state.objects,
        summary: state.summary.clone(),
        warnings: state.warnings.iter().map(ToString::to_string).collect(),
        revision: state.revision,
        applied_at: state.applied_at,
        ..plain
    }
}

fn diagnostic(finding: &Finding) -> Diagnostic {
    Diagnostic {
        file: finding.file.clone(),
        line: Some(finding.at.line.into()),
        column: Some(finding.at.column.into()),
        object: finding.object.clone(),
        reason: finding.message.clone(),
        remedy: finding.remedy.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kueue_lab_yaml::Position;

    #[test]
    fn a_broken_preset_says_where_and_what_is_in_force() {
        let info = |name: &str| PresetInfo {
            name: name.into(),
            description: "Teaches.".into(),
            samples: Vec::new(),
        };
        let state = PresetsState {
            origin: "presets".into(),
            presets: vec![info("a"), info("b")],
            active: "b".into(),
            sync_status: SyncStatus::LastGood,
            errors: vec![
                Finding::error("b/x.yaml", Position::START, "is wrong")
                    .about("ClusterQueue/q")
                    .remedy("mend it"),
            ],
            ..PresetsState::default()
        };
        let list = preset_list(&state);
        assert_eq!(list.presets[0].state, PresetState::Idle);
        let PresetState::Invalid {
            diagnostics: faults,
            last_good_applied: last_good_in_force,
        } = &list.presets[1].state
        else {
            panic!("not broken: {:?}", list.presets[1].state);
        };
        assert!(last_good_in_force);
        assert_eq!(faults[0].location(), "b/x.yaml:1:1");
        assert_eq!(faults[0].object.as_deref(), Some("ClusterQueue/q"));
    }
}
