//! Checks all files of a preset before anything is applied.

use kueue_lab_yaml::Position;

use super::cluster_objects::ClusterObjects;
use super::clusters_file::read_workers;
use super::configuration_check::{check, load_configuration};
use super::lab_settings::{BaseConfiguration, IgnoredSettings, LabSettings};
use super::lint::{LabNode, Lint, LintContext, NodesSource, lint, unknown_allowed};
use super::{Finding, ParsedPreset, PresetSource, SourceFile, parse};

/// Parses the files of a preset and checks its settings, alone and against its objects and samples.
/// Without `lab`, `nodes.yaml` is not checked; without `nodes` there are no warnings about nodes.
pub fn check_preset(
    source: &PresetSource,
    base: &BaseConfiguration,
    lab: Option<&dyn LabSettings>,
    nodes: &[LabNode],
) -> ParsedPreset {
    let cluster = ClusterObjects {
        nodes,
        ..ClusterObjects::default()
    };
    check_in_cluster(source, base, lab, cluster)
}

/// Checks the files of a preset as [`check_preset`] does, with the objects of the cluster that it is applied to.
pub(super) fn check_in_cluster(
    source: &PresetSource,
    base: &BaseConfiguration,
    lab: Option<&dyn LabSettings>,
    cluster: ClusterObjects<'_>,
) -> ParsedPreset {
    let settings = &source.settings;
    let ignored = lab.map_or_else(IgnoredSettings::default, LabSettings::ignored);
    let mut findings = Vec::new();
    let configuration = settings.configuration.as_ref();
    let used = configuration.filter(|_| ignored.configuration.is_none());
    let mut effective = base.clone();
    if let Some(file) = used {
        match load_configuration(file) {
            Ok((loaded, warnings)) => {
                findings.extend(warnings);
                effective.configuration = loaded.configuration;
                effective.gates = loaded.gates;
            }
            Err(errors) => findings.extend(errors),
        }
    }
    let loads = !findings.iter().any(Finding::is_error);
    let mut parsed = parse(&source.files, &effective.gates);
    if loads {
        findings.extend(check(&parsed.manifests, &source.samples, &effective, used));
    }
    match (&settings.nodes, ignored.nodes) {
        (Some(nodes), None) => {
            findings.extend(lab.map_or_else(Vec::new, |l| l.check_nodes(nodes, &source.samples)));
        }
        (nodes, reason) => findings.extend(notice(nodes.as_ref(), reason)),
    }
    findings.extend(notice(configuration, ignored.configuration));
    if let Some(file) = &settings.clusters {
        findings.extend(check_workers(file, lab));
        for manifest in &mut parsed.manifests {
            manifest.has_workers = true;
        }
    }
    parsed.findings.extend(findings);
    let texts = source.files.iter().map(|file| {
        let text = std::str::from_utf8(&file.bytes).unwrap_or_default();
        (file.name.as_str(), text)
    });
    let context = LintContext {
        texts: texts.collect(),
        configuration: &effective.configuration,
        cluster,
        nodes_source: match (&settings.nodes, ignored.nodes) {
            (_, Some(_)) => NodesSource::Cluster,
            (Some(_), None) => NodesSource::Preset,
            (None, None) => NodesSource::Lab,
        },
        partial_admission: source.partial_admission,
    };
    for (file, text) in &context.texts {
        parsed.findings.extend(unknown_allowed(file, text));
    }
    let lints = lint(&parsed.manifests, &context);
    let lints = lints.into_iter().map(Lint::into_finding);
    parsed.findings.extend(lints);
    // The order of errors is that of their causes.
    let findings = std::mem::take(&mut parsed.findings);
    let (errors, mut warnings): (Vec<Finding>, Vec<Finding>) =
        findings.into_iter().partition(Finding::is_error);
    warnings.sort();
    parsed.findings = errors;
    parsed.findings.extend(warnings);
    parsed
}

/// Checks `clusters.yaml`: its kubeconfigs, or that its number of worker clusters is that of the lab.
fn check_workers(file: &SourceFile, lab: Option<&dyn LabSettings>) -> Vec<Finding> {
    let workers = match read_workers(file) {
        Ok(workers) => workers,
        Err(error) => return vec![error],
    };
    let Some(lab) = lab else {
        return Vec::new();
    };
    let wanted = workers.number();
    let Some(running) = lab.workers() else {
        return lab.check_workers(&workers);
    };
    if running == wanted && workers.existing.is_empty() {
        return Vec::new();
    }
    let message = format!(
        "the file has no effect: the number of worker clusters of this lab is {running}; start a lab with this preset and without --workers for {wanted}"
    );
    vec![Finding::warning(&file.name, Position::START, message)]
}

/// The warning about a file that is ignored for a reason.
fn notice(file: Option<&SourceFile>, reason: Option<&str>) -> Option<Finding> {
    let (file, reason) = (file?, reason?);
    let message = format!("the file has no effect: {reason}");
    Some(Finding::warning(&file.name, Position::START, message))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::check_references;
    use crate::preset_settings::PresetSettings;

    const QUEUES: &str = "apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: a100}
spec: {nodeLabels: {gpu: a100}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: any}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: q}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors:
    - {name: a100, resources: [{name: cpu, nominalQuota: 4}]}
    - {name: any, resources: [{name: cpu, nominalQuota: 4}]}
";

    fn file(name: &str, text: &str) -> SourceFile {
        SourceFile {
            name: name.into(),
            bytes: text.into(),
        }
    }

    #[test]
    fn findings_are_in_the_order_of_lines() {
        let (_, queue) = QUEUES.rsplit_once("---\n").unwrap();
        let queue = queue.replace("spec:\n", "spec:\n  cohort: shared\n");
        let queues =
            (0..12).map(|index| queue.replace("{name: q}", &format!("{{name: q{index}}}")));
        let queues: Vec<String> = queues.collect();
        let source = PresetSource {
            files: vec![file("q.yaml", &queues.join("---\n"))],
            ..PresetSource::default()
        };
        let checked = check_preset(&source, &BaseConfiguration::default(), None, &[]);
        let lines: Vec<u32> = checked.findings.iter().map(|f| f.at.line).collect();
        assert!(lines.len() > 12 && lines.is_sorted(), "{lines:?}");
    }

    #[test]
    fn the_admission_check_of_worker_clusters_exists() {
        let queue = QUEUES.replace(
            "  resourceGroups",
            "  admissionChecksStrategy: {admissionChecks: [{name: multikueue}]}\n  resourceGroups",
        );
        let references = |clusters: Option<SourceFile>| {
            let source = PresetSource {
                files: vec![file("q.yaml", &queue)],
                settings: PresetSettings {
                    clusters,
                    ..PresetSettings::default()
                },
                ..PresetSource::default()
            };
            let checked = check_preset(&source, &BaseConfiguration::default(), None, &[]);
            check_references(&checked.manifests)
        };
        let workers = file("clusters.yaml", "workers: 2");
        assert_eq!(references(Some(workers)), []);
        let missing = "there is no AdmissionCheck \"multikueue\"";
        assert_eq!(references(None)[0].message, missing);
    }

    #[test]
    fn warnings_about_nodes_name_the_source_of_the_nodes() {
        let found = |nodes: Option<SourceFile>| {
            let source = PresetSource {
                files: vec![file("q.yaml", QUEUES)],
                settings: PresetSettings {
                    nodes,
                    ..PresetSettings::default()
                },
                ..PresetSource::default()
            };
            let node = LabNode {
                labels: BTreeMap::new(),
                allocatable: BTreeMap::new(),
            };
            let checked = check_preset(&source, &BaseConfiguration::default(), None, &[node]);
            let texts = checked.findings.iter().map(ToString::to_string);
            texts.collect::<Vec<_>>()
        };
        let of_lab = found(None);
        let basis = "nodes of the lab, which are used as the preset has no nodes.yaml";
        assert_eq!(of_lab.len(), 2, "{of_lab:?}");
        assert!(of_lab.iter().all(|text| text.contains(basis)), "{of_lab:?}");
        let of_preset = found(Some(file("nodes.yaml", "")));
        let basis = |text: &String| text.contains("nodes of nodes.yaml");
        assert!(of_preset.iter().all(basis), "{of_preset:?}");
    }

    #[test]
    fn an_object_of_the_operator_of_openshift_is_left_out() {
        let operator = "---\napiVersion: kueue.openshift.io/v1\nkind: Kueue\nmetadata: {name: cluster}\nspec: {}\n";
        let source = PresetSource {
            files: vec![file("q.yaml", &format!("{QUEUES}{operator}"))],
            ..PresetSource::default()
        };
        let checked = check_preset(&source, &BaseConfiguration::default(), None, &[]);
        assert_eq!(checked.manifests.len(), 3);
        let found = checked.findings[0].to_string();
        assert!(
            found.contains("Kueue.kueue.openshift.io/cluster: it configures"),
            "{found}"
        );
        assert!(!checked.findings[0].is_error());
    }

    #[test]
    fn resources_that_no_node_has_are_one_warning() {
        let mut queue = QUEUES.replace(
            "coveredResources: [cpu]",
            "coveredResources: [cpu, tokens, runs]",
        );
        queue = queue.replace(
            "resources: [{name: cpu, nominalQuota: 4}]",
            "resources: [{name: cpu, nominalQuota: 4}, {name: tokens, nominalQuota: 5}, {name: runs, nominalQuota: 6}]",
        );
        let source = PresetSource {
            files: vec![file("q.yaml", &queue)],
            ..PresetSource::default()
        };
        let node = LabNode {
            labels: BTreeMap::from([("gpu".to_owned(), "a100".to_owned())]),
            allocatable: BTreeMap::from([(
                "cpu".to_owned(),
                kueue_lab_quantity::Quantity::parse("100").unwrap(),
            )]),
        };
        let checked = check_preset(&source, &BaseConfiguration::default(), None, &[node]);
        let texts: Vec<String> = checked.findings.iter().map(ToString::to_string).collect();
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(
            texts[0].contains("has tokens, runs: pods that request it"),
            "{texts:?}"
        );
    }
}
