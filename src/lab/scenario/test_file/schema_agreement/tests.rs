use std::fs;
use std::path::{Path, PathBuf};

use super::checker::{Checker, Outcome};
use super::differences::{REFUSED_BY_THE_PARSER, REFUSED_BY_THE_SCHEMA};
use super::expectation_snippets::EXPECTATIONS;
use super::file_snippets::FILES;
use super::snippets::Table;
use super::step_snippets::STEPS;
use super::value_snippets::{COMPARISONS, QUANTITIES, TIME_COMPARISONS, TIMES};

const TABLES: [Table; 7] = [
    FILES,
    STEPS,
    EXPECTATIONS,
    TIMES,
    QUANTITIES,
    COMPARISONS,
    TIME_COMPARISONS,
];

#[test]
fn parser_and_schema_agree() {
    let checker = Checker::new();
    let mut wrong = Vec::new();
    for table in TABLES {
        let valid = table.valid.iter().map(|snippet| (snippet, true));
        let invalid = table.invalid.iter().map(|snippet| (snippet, false));
        for (snippet, is_valid) in valid.chain(invalid) {
            let Outcome { parser, schema } = checker.check(&(table.file)(snippet));
            // A name of no object would hide another error.
            let of_name = parser.as_ref().is_some_and(|e| e.contains("there is no"));
            if parser.is_none() != is_valid || schema.is_none() != is_valid || of_name {
                wrong.push(format!(
                    "{snippet}\n  parser: {parser:?}\n  schema: {schema:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn parser_and_schema_differ_only_in_the_listed_differences() {
    let checker = Checker::new();
    let refused_by_parser = REFUSED_BY_THE_PARSER.iter().map(|d| (d, true));
    let differences = refused_by_parser.chain(REFUSED_BY_THE_SCHEMA.iter().map(|d| (d, false)));
    let mut wrong = Vec::new();
    for (difference, by_parser) in differences {
        for snippet in difference.snippets {
            let Outcome { parser, schema } = checker.check(&(difference.file)(snippet));
            if parser.is_some() != by_parser || schema.is_some() == by_parser {
                let reason = difference.reason;
                wrong.push(format!(
                    "{snippet} ({reason})\n  parser: {parser:?}\n  schema: {schema:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_case_has_at_most_1000_steps() {
    let checker = Checker::new();
    let file = |steps: usize| {
        let steps = "  - wait: 1s\n".repeat(steps);
        format!("preset: q\ncases:\n- name: c\n  steps:\n{steps}")
    };
    let most = checker.check(&file(1000));
    assert_eq!((most.parser, most.schema), (None, None));
    let more = checker.check(&file(1001));
    assert!(more.parser.is_some() && more.schema.is_some());
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
