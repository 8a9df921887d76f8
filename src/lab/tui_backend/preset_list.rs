//! Converts the state of the presets into the list that the UI shows.

use kueue_lab_presets::{Finding, PresetInfo, PresetsState, SyncStatus};
use kueue_lab_tui::backend::{Diagnostic, Preset, PresetList, PresetState};

/// The UI's preset list for `state`.
pub(crate) fn preset_list(state: &PresetsState) -> PresetList {
    PresetList {
        folder: state.origin.clone(),
        presets: state.presets.iter().map(|p| preset(state, p)).collect(),
    }
}

fn preset(state: &PresetsState, info: &PresetInfo) -> Preset {
    let idle = Preset {
        name: info.name.clone(),
        folder: info.folder.clone(),
        description: info.description.clone(),
        files: info.files.clone(),
        samples: info
            .samples
            .iter()
            .map(|s| (s.name.clone(), s.description.clone()))
            .collect(),
        ..Preset::default()
    };
    if state.active.as_ref() != Some(&info.name) {
        return idle;
    }
    let state_of = match (state.errors.is_empty(), state.sync_status) {
        (_, SyncStatus::Held) => PresetState::Held {
            hold_reason: state
                .errors
                .first()
                .map_or_else(String::new, |finding| finding.message.clone()),
        },
        (true, SyncStatus::NotApplied) => PresetState::Applying,
        (true, _) => PresetState::Active,
        (false, sync_status) => PresetState::Invalid {
            diagnostics: state.errors.iter().map(diagnostic).collect(),
            last_good_applied: sync_status == SyncStatus::LastGood,
        },
    };
    Preset {
        state: state_of,
        objects: state.objects,
        summary: state.summary.clone(),
        plan: state.plan.clone(),
        warnings: state.warnings.iter().map(ToString::to_string).collect(),
        revision: state.revision,
        applied_at: state.applied_at,
        ..idle
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
    fn an_invalid_preset_reports_its_findings_and_the_last_good_state() {
        let info = |name: &str| PresetInfo {
            name: name.into(),
            folder: format!("presets/{name}"),
            description: "Teaches.".into(),
            files: vec!["x.yaml".into()],
            samples: Vec::new(),
        };
        let state = PresetsState {
            origin: "presets".into(),
            presets: vec![info("a"), info("b")],
            active: Some("b".into()),
            sync_status: SyncStatus::LastGood,
            errors: vec![
                Finding::error("b/x.yaml", Position::START, "is wrong")
                    .about("ClusterQueue/q")
                    .remedy("fix it"),
            ],
            ..PresetsState::default()
        };
        let list = preset_list(&state);
        assert_eq!(list.presets[0].state, PresetState::Idle);
        assert_eq!(list.presets[0].files, ["x.yaml"]);
        let PresetState::Invalid {
            diagnostics,
            last_good_applied,
        } = &list.presets[1].state
        else {
            panic!("not invalid: {:?}", list.presets[1].state);
        };
        assert!(last_good_applied);
        assert_eq!(diagnostics[0].location(), "b/x.yaml:1:1");
        assert_eq!(diagnostics[0].object.as_deref(), Some("ClusterQueue/q"));
    }
}
