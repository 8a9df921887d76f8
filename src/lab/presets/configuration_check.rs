//! Checks the configuration of a preset, and that it fits the objects and samples of the preset.

use kueue_lab_api::config::{FRAMEWORKS, Feature, Framework, LoadedConfiguration, load};
use kueue_lab_api::v1beta2::GROUP;
use kueue_lab_yaml as yaml;
use serde_json::Value;

use super::lab_settings::BaseConfiguration;
use super::parse::finding;
use super::{Finding, Manifest, Sample, Severity, SourceFile};

/// Loads the configuration of a preset. Settings without effect are warnings.
///
/// # Errors
/// All problems of the file.
pub fn load_configuration(
    file: &SourceFile,
) -> Result<(LoadedConfiguration, Vec<Finding>), Vec<Finding>> {
    let text = yaml::utf8(&file.bytes).map_err(|error| vec![finding(file, error.into())])?;
    let loaded = load(text).map_err(|problems| {
        let findings = problems.into_iter().map(|problem| finding(file, problem));
        findings.collect::<Vec<_>>()
    })?;
    let ignored = loaded.ignored.iter().map(|ignored| &ignored.problem);
    let warnings = loaded.warnings.iter().chain(ignored);
    let warnings = warnings.map(|problem| Finding {
        severity: Severity::Warning,
        ..finding(file, problem.clone())
    });
    let warnings = warnings.collect();
    Ok((loaded, warnings))
}

/// Fields of the objects that have no effect with a configuration: errors if the preset has the
/// configuration, otherwise warnings.
pub(super) fn check(
    manifests: &[Manifest],
    samples: &[Sample],
    base: &BaseConfiguration,
    file: Option<&SourceFile>,
) -> Vec<Finding> {
    let remedy = |change: &str| match file {
        Some(file) => format!("add {change} to {}", file.name),
        None => format!("add a kueue.yaml with {change} to the preset"),
    };
    let mut findings = Vec::new();
    for manifest in manifests.iter().filter(|m| m.key.group == GROUP) {
        for field in FIELDS
            .iter()
            .filter(|f| f.kinds.contains(&manifest.key.kind.as_str()))
        {
            if is_set(&manifest.object, field.path) && !(field.has_effect)(base) {
                let path = field.path.trim_start_matches('/').replace('/', ".");
                let message = format!("{path} has no effect without {}", field.needs);
                let finding = manifest.warning(&path, message);
                findings.push(finding.remedy(remedy(field.change)));
            }
        }
    }
    for sample in samples {
        findings.extend(check_frameworks(sample, base).map(|(finding, framework)| {
            finding.remedy(remedy(&format!("integrations.frameworks: [{framework}]")))
        }));
    }
    if file.is_some() {
        for finding in &mut findings {
            finding.severity = Severity::Error;
        }
    }
    findings
}

/// A field that needs a setting of the configuration.
struct DependentField {
    kinds: &'static [&'static str],
    /// A JSON pointer.
    path: &'static str,
    /// The setting, for the message.
    needs: &'static str,
    /// The addition to the configuration, for the message.
    change: &'static str,
    has_effect: fn(&BaseConfiguration) -> bool,
}

const FIELDS: &[DependentField] = &[
    DependentField {
        kinds: &["ClusterQueue", "Cohort"],
        path: "/spec/fairSharing/weight",
        needs: "fair sharing",
        change: "`fairSharing: {preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]}`",
        has_effect: |base| base.configuration.fair_sharing.is_some(),
    },
    DependentField {
        kinds: &["LocalQueue"],
        path: "/spec/fairSharing/weight",
        needs: "admission fair sharing",
        change: "`admissionFairSharing: {usageHalfLifeTime: 168h, usageSamplingInterval: 5m}`",
        has_effect: shares_admission,
    },
    DependentField {
        kinds: &["ClusterQueue"],
        path: "/spec/admissionScope",
        needs: "admission fair sharing",
        change: "`admissionFairSharing: {usageHalfLifeTime: 168h, usageSamplingInterval: 5m}`",
        has_effect: shares_admission,
    },
    DependentField {
        kinds: &["ClusterQueue"],
        path: "/spec/concurrentAdmissionPolicy",
        needs: "the feature gate ConcurrentAdmission",
        change: "`featureGates: {ConcurrentAdmission: true}`",
        has_effect: |base| base.gates.enabled(Feature::ConcurrentAdmission),
    },
    DependentField {
        kinds: &["ResourceFlavor"],
        path: "/spec/topologyName",
        needs: "the feature gate TopologyAwareScheduling",
        change: "`featureGates: {TopologyAwareScheduling: true}`",
        has_effect: |base| base.gates.enabled(Feature::TopologyAwareScheduling),
    },
];

fn shares_admission(base: &BaseConfiguration) -> bool {
    base.configuration.admission_fair_sharing.is_some()
        && base.gates.enabled(Feature::AdmissionFairSharing)
}

fn is_set(object: &Value, pointer: &str) -> bool {
    object
        .pointer(pointer)
        .is_some_and(|value| !value.is_null())
}

/// Warnings about jobs of a sample whose framework is not enabled, with the framework.
fn check_frameworks<'a>(
    sample: &'a Sample,
    base: &'a BaseConfiguration,
) -> impl Iterator<Item = (Finding, &'static str)> + 'a {
    let enabled = base.configuration.frameworks();
    let documents = match sample.is_task {
        true => Vec::new(),
        false => yaml::documents(&sample.text, yaml::Limits::default()).unwrap_or_default(),
    };
    let of_task = sample
        .is_task
        .then(|| (yaml::Position::START, Framework::named("pod")));
    let of_documents = documents.into_iter().map(|node| {
        let text = |key: &str| {
            node.get(key)
                .and_then(yaml::Node::as_str)
                .unwrap_or_default()
        };
        let api_version = text("apiVersion");
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let of_kind = |f: &&Framework| f.group == group && f.kind == text("kind");
        (node.locate("kind"), FRAMEWORKS.iter().find(of_kind))
    });
    of_task
        .into_iter()
        .chain(of_documents)
        .filter_map(|(at, framework)| Some((at, framework?)))
        .filter(|(_, framework)| !enabled.iter().any(|name| name == framework.name))
        .map(|(at, framework)| {
            let message = format!("the framework {} is not enabled", framework.name);
            let finding = Finding::warning(&sample.file, at, message);
            (finding, framework.name)
        })
}
