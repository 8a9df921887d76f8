//! Manifests of documents that users start from, unchanged: valid ones are loaded, invalid ones are rejected
//! with the line of the error.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use kueue_lab_api::config::FeatureGates;
use kueue_lab_api::load::{LoadedObject, Problem, objects};
use kueue_lab_testing::shared;

/// The text of the document whose file name starts with `number`; `None` without `../shared`.
fn seed(number: &str) -> Option<String> {
    let entries = std::fs::read_dir(shared("seeds")?).unwrap();
    let mut files = entries.map(|e| e.unwrap().path());
    let named = |p: &std::path::Path| p.file_name().unwrap().to_string_lossy().starts_with(number);
    files
        .find(|p| named(p))
        .map(|p| std::fs::read_to_string(p).unwrap())
}

/// The manifests in a document: from `apiVersion:` at the start of a line to the next empty line.
fn manifests(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let starts = line.starts_with("apiVersion: kueue.x-k8s.io");
        if starts && !inside {
            found.push(String::new());
        }
        inside = (inside || starts) && !line.trim().is_empty();
        if let (true, Some(last)) = (inside, found.last_mut()) {
            last.push_str(line);
            last.push('\n');
        }
    }
    found
}

fn read(text: &str) -> Result<Vec<LoadedObject>, Vec<Problem>> {
    objects(text, &FeatureGates::default())
}

#[test]
fn skypilot_manifests_are_loaded() {
    let Some(text) = seed("000") else { return };
    let all: Vec<LoadedObject> = manifests(&text)
        .iter()
        .flat_map(|m| read(m).unwrap())
        .collect();
    let kinds: Vec<&str> = all.iter().map(LoadedObject::kind).collect();
    for kind in [
        "ResourceFlavor",
        "AdmissionCheck",
        "ProvisioningRequestConfig",
        "ClusterQueue",
        "LocalQueue",
    ] {
        assert!(kinds.contains(&kind), "{kind} among {kinds:?}");
    }
    assert!(
        all.iter()
            .all(|o| o.unknown_fields.is_empty() && o.warnings.is_empty())
    );
}

#[test]
fn manifests_without_indentation_are_rejected() {
    let Some(text) = seed("003") else { return };
    let all = manifests(&text);
    assert!(!all.is_empty());
    for problems in all.iter().filter_map(|m| read(m).err()) {
        assert!(
            problems[0].message.contains("is given twice"),
            "{}",
            problems[0]
        );
    }
    assert!(all.iter().any(|m| read(m).is_err()));
}

#[test]
fn snippets_are_loaded_unless_they_are_invalid_yaml() {
    let Some(text) = seed("004") else { return };
    let all = manifests(&text);
    let of_kind = |kind: &str| {
        let line = format!("kind: {kind}");
        all.iter()
            .find(|m| m.lines().any(|l| l.trim_end() == line))
            .unwrap()
    };
    // A comment in the syntax of another language.
    let flavor = of_kind("ResourceFlavor");
    let problems = read(flavor).unwrap_err();
    let wrong = flavor
        .lines()
        .position(|l| l.trim_start().starts_with("//"))
        .unwrap()
        + 1;
    assert!(
        (wrong..=wrong + 1).contains(&(problems[0].at.line as usize)),
        "{}",
        problems[0]
    );
    let fixed = flavor.replace("// extra", "# extra");
    assert_eq!(read(&fixed).unwrap()[0].name(), "spot");
    // An old apiVersion with a current spec.
    let queue = &read(of_kind("ClusterQueue")).unwrap()[0];
    assert_eq!(queue.api_version(), "kueue.x-k8s.io/v1beta2");
    assert_eq!(queue.warnings.len(), 1);
    for kind in ["LocalQueue", "Workload"] {
        assert_eq!(read(of_kind(kind)).unwrap()[0].namespace(), "team-a");
    }
}
