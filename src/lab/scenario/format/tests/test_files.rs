//! Test files are accepted or refused; the JSON schema accepts those that are accepted.

use std::fs;
use std::path::{Path, PathBuf};

use super::checker::Checker;
use super::expectation_snippets::EXPECTATIONS;
use super::file_snippets::FILES;
use super::snippets::{Table, with_expectation, with_step};
use super::step_snippets::STEPS;
use super::value_snippets::{COMPARISONS, QUANTITIES, TIME_COMPARISONS, TIMES};
use crate::format::test_file_schema;

const TABLES: [Table; 7] = [
    FILES,
    STEPS,
    EXPECTATIONS,
    TIMES,
    QUANTITIES,
    COMPARISONS,
    TIME_COMPARISONS,
];

/// Steps that are accepted, but refused by the schema: a value as the list of its fields.
const REFUSED_BY_THE_SCHEMA: [&str; 2] = [
    "{sample: [s, t]}",
    "{expect: [{object: {kind: Pod, name: a}, conditions: {A: ['True', r, m]}}]}",
];

#[test]
fn test_files_are_accepted_or_refused() {
    let checker = Checker::new();
    let mut wrong = Vec::new();
    for table in TABLES {
        let valid = table.valid.iter().map(|snippet| (snippet, true));
        let invalid = table.invalid.iter().map(|snippet| (snippet, false));
        for (snippet, is_valid) in valid.chain(invalid) {
            let error = checker.load_error(&(table.file)(snippet));
            if error.is_none() != is_valid {
                wrong.push(format!("{snippet}\n  {error:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_schema_accepts_what_is_accepted() {
    let checker = Checker::new();
    let exceptions = REFUSED_BY_THE_SCHEMA.map(with_step);
    let mut wrong = Vec::new();
    for table in TABLES {
        for text in table.valid.iter().map(|snippet| (table.file)(snippet)) {
            let error = checker.schema_error(&text);
            if error.is_some() != exceptions.contains(&text) {
                wrong.push(format!("{text}\n  {error:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_schema_refuses_what_an_editor_can_know() {
    let checker = Checker::new();
    for text in [
        "{cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, queues: p, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, presets: q, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, cases: []}",
        "{preset: q, cases: [{steps: [{wait: 1s}]}]}",
        &with_step("{wiat: 1s}"),
        &with_step("{wait: soon}"),
        &with_step("{wait: 1s, cancel: s}"),
        &with_step("{at: 1s, after: 1s}"),
        &with_step("{jobs: {name: a}}"),
        &with_step("{jobs: {name: A, queue: lq}}"),
        &with_step("{jobs: {name: a, queue: lq, requests: {cpu: many}}}"),
        &with_step("{check: {name: ac, jobs: a, state: Done}}"),
        &with_step("{taint: {node: n, key: k, effect: No}}"),
        &with_step("{finish: {jobs: a, pods: []}}"),
        &with_expectation("{}"),
        &with_expectation("{admitted: a, pending: b}"),
        &with_expectation("{job: s, status: RUNING}"),
        &with_expectation("{admitted: {jobs: a, count: many}}"),
        &with_expectation("{waits: {jobs: a, time: '< soon'}}"),
    ] {
        assert!(checker.schema_error(text).is_some(), "{text}");
        assert!(checker.load_error(text).is_some(), "{text}");
    }
}

#[test]
fn every_field_of_the_schema_has_a_description() {
    let schema = test_file_schema();
    let definitions = schema["$defs"].as_object().unwrap().iter();
    let definitions = definitions.map(|(name, definition)| (name.as_str(), definition));
    for (name, definition) in definitions.chain([("", &schema)]) {
        let properties = definition["properties"].as_object().into_iter().flatten();
        for (field, property) in properties {
            assert!(property["description"].is_string(), "{name}.{field}");
        }
    }
}

#[test]
fn a_case_has_at_most_1000_steps() {
    let checker = Checker::new();
    let file = |steps: usize| {
        let steps = "  - wait: 1s\n".repeat(steps);
        format!("preset: q\ncases:\n- name: c\n  steps:\n{steps}")
    };
    assert_eq!(checker.load_error(&file(1000)), None);
    assert!(checker.load_error(&file(1001)).is_some());
}

#[test]
fn the_schema_accepts_the_shipped_test_files_and_the_documentation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let documentation = fs::read_to_string(root.join("docs/test-format.md")).unwrap();
    let examples = documentation.split("```yaml\n").skip(1);
    let examples = examples.filter_map(|text| text.split("```").next());
    let examples: Vec<String> = examples
        .filter(|text| text.contains("cases:"))
        .map(str::to_owned)
        .collect();
    assert!(!examples.is_empty());
    let files = test_files(&root.join("lab/tests"));
    assert!(files.len() > 30, "{files:?}");
    let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
    let checker = Checker::new();
    for text in texts.chain(examples) {
        assert_eq!(checker.schema_error(&text), None, "{text}");
    }
}

/// The test files in a folder and those below it.
fn test_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let of_path = |path: PathBuf| match path.is_dir() {
        true => test_files(&path),
        false => vec![path],
    };
    let files = paths.flat_map(of_path);
    files
        .filter(|path| path.to_string_lossy().ends_with(".test.yaml"))
        .collect()
}
