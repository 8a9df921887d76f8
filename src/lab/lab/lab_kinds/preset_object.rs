//! The kind `Preset`: a preset of the folder, and for the active one the state of its files.

use jiff::Timestamp;
use kube::ResourceExt;
use kube::core::{ApiResource, DynamicObject};
use serde::{Deserialize, Serialize};

use super::definition::api_resource;
use kueue_lab_presets::{Finding, PresetInfo, PresetsState, Sample, Severity, SyncStatus};
use kueue_lab_yaml::Position;

/// The spec of a `Preset`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PresetSpec {
    /// Whether it is the active preset; a client sets it to switch to the preset.
    pub active: bool,
    /// A new value requests that the preset is applied also if it is active: a save that waits, or its files
    /// again. Clients set the time of the request.
    pub apply_requested_at: String,
}

/// The status of a `Preset`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PresetStatus {
    /// The generation that this status answers.
    pub observed_generation: i64,
    /// The presets folder.
    pub folder: String,
    /// The folder of the preset.
    pub path: String,
    /// Lab seconds per second.
    pub speed: f64,
    /// Whether it is the active preset.
    pub active: bool,
    /// `Active`, `Invalid`, `Held`, `NotApplied`, or empty.
    pub state: String,
    /// The leading comment of its files.
    pub description: String,
    /// The names of its files, without samples.
    pub files: Vec<String>,
    /// The number of applied objects.
    pub objects: usize,
    /// The number of successful applies.
    pub revision: u64,
    /// The result of the last apply.
    pub summary: String,
    /// The time of the last apply.
    pub applied_at: Option<Timestamp>,
    /// The effects of the last save on the cluster, as text; empty if it was not planned. At most 32 KiB.
    pub plan: String,
    /// The errors of the files, or of the last switch to this preset.
    pub errors: Vec<FindingStatus>,
    /// Warnings about the applied files.
    pub warnings: Vec<FindingStatus>,
    /// The samples.
    pub samples: Vec<SampleStatus>,
}

/// A finding.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct FindingStatus {
    file: String,
    line: u32,
    column: u32,
    object: Option<String>,
    message: String,
    remedy: Option<String>,
}

/// A sample.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct SampleStatus {
    name: String,
    description: String,
    file: String,
    task: bool,
    text: String,
}

/// The most bytes of a plan in a status.
const MAX_PLAN: usize = 32 << 10;
/// The state of a preset whose files are applied.
const ACTIVE: &str = "Active";

impl PresetSpec {
    /// A request to apply a preset and make it the active one.
    pub fn apply_request(now: Timestamp) -> Self {
        Self {
            active: true,
            apply_requested_at: now.to_string(),
        }
    }

    /// The resource of the kind.
    pub fn api_resource() -> ApiResource {
        api_resource("Preset", "presets")
    }

    /// The spec of an object.
    pub fn of(object: &DynamicObject) -> Self {
        Self::deserialize(&object.data["spec"]).unwrap_or_default()
    }
}

impl PresetStatus {
    /// The status of an object.
    pub fn of(object: &DynamicObject) -> Self {
        Self::deserialize(&object.data["status"]).unwrap_or_default()
    }

    /// The status of a preset of the folder.
    pub(super) fn new(state: &PresetsState, info: &PresetInfo, speed: f64) -> Self {
        let idle = Self {
            folder: state.origin.clone(),
            path: info.folder.clone(),
            speed,
            description: info.description.clone(),
            files: info.files.clone(),
            samples: info.samples.iter().map(SampleStatus::new).collect(),
            ..Self::default()
        };
        if state.active.as_ref() != Some(&info.name) {
            return idle;
        }
        let findings = |findings: &[Finding]| findings.iter().map(FindingStatus::new).collect();
        let word = match (state.errors.is_empty(), state.sync_status) {
            (true, SyncStatus::Synced) => ACTIVE,
            (_, SyncStatus::LastGood) => "Invalid",
            (_, SyncStatus::Held) => "Held",
            _ => "NotApplied",
        };
        Self {
            active: true,
            state: word.to_owned(),
            objects: state.objects,
            revision: state.revision,
            summary: state.summary.clone(),
            applied_at: state.applied_at,
            plan: first_lines(&state.plan, MAX_PLAN),
            errors: findings(&state.errors),
            warnings: findings(&state.warnings),
            ..idle
        }
    }

    /// Sets why a switch to the preset failed.
    pub(super) fn with_errors(mut self, errors: &[Finding]) -> Self {
        self.errors = errors.iter().map(FindingStatus::new).collect();
        self
    }

    /// Whether it is the active preset and its files are applied.
    pub fn is_applied(&self) -> bool {
        self.active && self.state == ACTIVE
    }

    /// The errors as text.
    pub fn error_lines(&self) -> Vec<String> {
        let findings = self.errors.iter();
        findings
            .map(|finding| finding.finding(Severity::Error).to_string())
            .collect()
    }

    /// The warnings as text.
    pub fn warning_lines(&self) -> Vec<String> {
        let findings = self.warnings.iter();
        findings
            .map(|finding| finding.finding(Severity::Warning).to_string())
            .collect()
    }

    /// The state of the presets that objects describe.
    pub fn presets_state(objects: &[impl AsRef<DynamicObject>]) -> PresetsState {
        let mut state = PresetsState::default();
        for object in objects {
            let object = object.as_ref();
            let (name, status) = (object.name_any(), Self::of(object));
            state.origin.clone_from(&status.folder);
            if status.active {
                let of = |findings: &[FindingStatus], severity| {
                    findings.iter().map(|f| f.finding(severity)).collect()
                };
                state.active = Some(name.clone());
                state.sync_status = match status.state.as_str() {
                    ACTIVE => SyncStatus::Synced,
                    "Invalid" => SyncStatus::LastGood,
                    "Held" => SyncStatus::Held,
                    _ => SyncStatus::NotApplied,
                };
                state.revision = status.revision;
                state.objects = status.objects;
                state.summary.clone_from(&status.summary);
                state.applied_at = status.applied_at;
                state.plan.clone_from(&status.plan);
                state.errors = of(&status.errors, Severity::Error);
                state.warnings = of(&status.warnings, Severity::Warning);
            }
            state.presets.push(PresetInfo {
                name,
                folder: status.path,
                description: status.description,
                files: status.files,
                samples: status.samples.into_iter().map(Sample::from).collect(),
            });
        }
        state.presets.sort_by(|a, b| a.name.cmp(&b.name));
        state
    }
}

/// As many lines of a text as have at most `most` bytes.
fn first_lines(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut kept = String::new();
    for line in text.split_inclusive('\n') {
        if kept.len() + line.len() > most {
            break;
        }
        kept.push_str(line);
    }
    kept + "...\n"
}

impl FindingStatus {
    fn new(finding: &Finding) -> Self {
        Self {
            file: finding.file.clone(),
            line: finding.at.line,
            column: finding.at.column,
            object: finding.object.clone(),
            message: finding.message.clone(),
            remedy: finding.remedy.clone(),
        }
    }

    fn finding(&self, severity: Severity) -> Finding {
        let at = Position {
            line: self.line,
            column: self.column,
        };
        Finding {
            severity,
            object: self.object.clone(),
            remedy: self.remedy.clone(),
            ..Finding::error(&self.file, at, &self.message)
        }
    }
}

impl SampleStatus {
    fn new(sample: &Sample) -> Self {
        Self {
            name: sample.name.clone(),
            description: sample.description.clone(),
            file: sample.file.clone(),
            task: sample.is_task,
            text: sample.text.clone(),
        }
    }
}

impl From<SampleStatus> for Sample {
    fn from(sample: SampleStatus) -> Self {
        Self {
            name: sample.name,
            description: sample.description,
            file: sample.file,
            is_task: sample.task,
            text: sample.text,
        }
    }
}
