//! Every feature gate and every field is read by the program or listed as without effect.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::*;
use super::fixture::*;
use crate::config::Setting;
use crate::config::without_effect::SETTINGS_WITHOUT_EFFECT;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The Rust files below a folder.
fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// The text of the program below `src/`, without tests and the files that list all settings.
fn program() -> String {
    let mut files = Vec::new();
    rust_files(Path::new(SOURCES), &mut files);
    let is_program = |path: &PathBuf| {
        let path = path.to_string_lossy().replace('\\', "/");
        let lists = [
            "/api/feature_gates/",
            "/api/config/defaults.rs",
            "/api/config/v1beta1.rs",
            "/api/config/validate/",
            "/api/config/without_effect.rs",
            "/tests/",
            "/tests.rs",
        ];
        !lists.iter().any(|part| path.contains(part))
    };
    let texts = files.into_iter().filter(is_program).map(|path| {
        let text = fs::read_to_string(path).unwrap();
        let program = text.split("#[cfg(test)]\nmod tests {").next();
        program.unwrap_or_default().to_owned()
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Whether a text contains a word that does not continue.
fn contains_word(text: &str, word: &str) -> bool {
    let continues = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[at + word.len()..].starts_with(continues))
}

/// The gates of the engine with their fields.
fn engine_gates() -> BTreeMap<String, String> {
    let text = fs::read_to_string(format!("{SOURCES}/kueue/engine/feature_gates.rs")).unwrap();
    let (_, table) = text.split_once("\ngates! {").unwrap();
    let (table, _) = table.split_once("\n}").unwrap();
    let rows = table.lines().filter_map(|line| {
        let (field, name) = line.trim().strip_suffix(';')?.split_once(", ")?;
        Some((name.to_owned(), field.to_owned()))
    });
    rows.collect()
}

#[test]
fn every_gate_is_read_or_listed() {
    let program = program();
    // Validation that depends on a gate is an effect.
    let validation = fs::read_to_string(format!(
        "{SOURCES}/kueue/api/config/validate/integrations.rs"
    ));
    let program = program + &validation.unwrap();
    let engine = engine_gates();
    assert!(engine.len() > 20, "{engine:?}");
    let mut wrong = Vec::new();
    for feature in Feature::all() {
        let by_engine = engine.get(feature.name()).is_some_and(|field| {
            let read = contains_word(&program, &format!(".{field}"));
            if !read {
                wrong.push(format!("nothing reads the field {field} of Gates"));
            }
            read
        });
        let read = by_engine || contains_word(&program, &format!("Feature::{feature}"));
        let mut rows = SETTINGS_WITHOUT_EFFECT.iter();
        let listed =
            rows.any(|row| matches!(row.setting, Setting::Gate(gate, _) if gate == feature));
        match (read, listed) {
            (false, false) => wrong.push(format!("nothing reads {feature}")),
            (true, true) => wrong.push(format!("{feature} is read, but listed")),
            _ => {}
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// The fields of the structs of the configuration: name, type.
fn structs() -> BTreeMap<String, Vec<(String, String)>> {
    let mut files = Vec::new();
    rust_files(&Path::new(SOURCES).join("kueue/api/config"), &mut files);
    let mut structs: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for path in files {
        let text = fs::read_to_string(path).unwrap();
        let mut current = None;
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("pub struct ") {
                current = rest.strip_suffix(" {").map(str::to_owned);
            } else if line == "}" {
                current = None;
            } else if let (Some(name), Some(field)) = (&current, line.strip_prefix("    pub "))
                && let Some((field, type_)) = field.split_once(": ")
            {
                let field = (field.to_owned(), type_.trim_end_matches(',').to_owned());
                structs.entry(name.clone()).or_default().push(field);
            }
        }
    }
    structs
}

fn camel_case(field: &str) -> String {
    let mut words = field.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(1);
        name + &head.to_uppercase() + tail
    })
}

/// The paths of all fields without fields below them, with the names of their Rust fields.
fn field_paths(
    structs: &BTreeMap<String, Vec<(String, String)>>,
    type_: &str,
    prefix: &str,
    found: &mut Vec<(String, String)>,
) {
    let inner = type_.rsplit(['<', ' ']).next().unwrap_or_default();
    let inner = inner.trim_end_matches('>');
    for (field, type_) in structs.get(inner).into_iter().flatten() {
        let path = match prefix {
            "" => camel_case(field),
            prefix => format!("{prefix}.{}", camel_case(field)),
        };
        let before = found.len();
        field_paths(structs, type_, &path, found);
        if found.len() == before {
            found.push((path, field.clone()));
        }
    }
}

fn is_listed(path: &str) -> bool {
    SETTINGS_WITHOUT_EFFECT.iter().any(|row| {
        let Setting::Field(listed) = row.setting else {
            return false;
        };
        let everywhere = row.no_effect_in == NoEffectIn::Everywhere;
        let rest = path.strip_prefix(listed);
        everywhere && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

#[test]
fn every_field_is_read_or_listed() {
    let program = program();
    let mut paths = Vec::new();
    field_paths(&structs(), "Configuration", "", &mut paths);
    assert!(paths.len() > 80, "{paths:?}");
    let unread = paths
        .iter()
        .filter(|(path, field)| !is_listed(path) && !contains_word(&program, &format!(".{field}")))
        .map(|(path, _)| path.as_str());
    assert_eq!(unread.collect::<Vec<_>>(), [""; 0]);
    for row in SETTINGS_WITHOUT_EFFECT {
        if let Setting::Field(listed) = row.setting {
            let exists = |(path, _): &(String, String)| {
                let rest = path.strip_prefix(listed);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            assert!(paths.iter().any(exists), "{listed}");
        }
    }
}

#[test]
fn the_documentation_lists_all_settings_without_effect() {
    let docs = fs::read_to_string(format!("{SOURCES}/../docs/configuration.md")).unwrap();
    for row in SETTINGS_WITHOUT_EFFECT {
        let name = match row.setting {
            Setting::Field(path) => path.to_owned(),
            Setting::Gate(feature, _) => feature.to_string(),
        };
        let place = match row.no_effect_in {
            NoEffectIn::EmbeddedCluster => "embedded cluster",
            NoEffectIn::Labs => "labs",
            NoEffectIn::Everywhere => "everywhere",
        };
        let line = format!("| `{name}` | {place} | {} |", row.reason);
        assert!(
            docs.lines().any(|l| l == line),
            "docs/configuration.md lacks\n{line}"
        );
    }
}

fn ignored(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let indent = lines.first().map_or(0, |l| l.len() - l.trim_start().len());
    let body: Vec<&str> = lines.iter().filter_map(|line| line.get(indent..)).collect();
    let loaded = read(&file("v1beta2", &body.join("\n")));
    let ignored = loaded.ignored.into_iter();
    ignored.map(|setting| setting.problem.to_string()).collect()
}

#[test]
fn settings_without_effect_are_named_where_they_are_set() {
    let text = "
        metrics: {}
        webhook:
          port: 9443
        tls: null
        controller:
          groupKindConcurrency: {Job.batch: 5}
          cacheSyncTimeout: 1
    ";
    let named = ignored(text);
    assert_eq!(named.len(), 2, "{named:?}");
    assert!(
        named[0].ends_with("webhook.port: has no effect: the port is that of --webhook-port"),
        "{named:?}"
    );
    assert!(named[1].contains("controller.cacheSyncTimeout: has no effect"));
    assert!(ignored("namespace: kueue-system").is_empty());
}

#[test]
fn gates_are_named_if_the_behaviour_differs() {
    let text = "
        featureGates:
          MultiKueue: false
          TASCacheTopologyTree: true
          RemoveFinalizersWithStrictPatch: false
          PriorityBoost: true
    ";
    let named = ignored(text);
    assert_eq!(named.len(), 1, "{named:?}");
    assert!(
        named[0]
            .contains("featureGates.RemoveFinalizersWithStrictPatch: has no effect: finalizers"),
        "{named:?}"
    );
    let named = ignored("featureGates: {AllAlpha: true}");
    assert!(
        named.iter().any(
            |n| n.contains("featureGates.AllAlpha: WorkloadRequestUseMergePatch has no effect")
        ),
        "{named:?}"
    );
}
