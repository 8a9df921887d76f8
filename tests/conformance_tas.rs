//! Replays upstream's own test tables on topology-aware scheduling.

#[path = "conformance/tas.rs"]
mod tas;

use std::path::PathBuf;

use serde_json::Value;

fn folder() -> PathBuf {
    std::env::var_os("KUEUE_LAB_CONFORMANCE").map_or_else(
        || concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/conformance").into(),
        PathBuf::from,
    )
}

#[test]
fn suites() {
    let folder = folder();
    if !folder.is_dir() {
        eprintln!("skipped: no conformance tables in {}", folder.display());
        return;
    }
    let mut failed = 0;
    for (suite, judge) in tas::SUITES {
        let Ok(text) = std::fs::read_to_string(folder.join(format!("{suite}.json"))) else {
            eprintln!("{suite}: not there");
            continue;
        };
        let table: Value = serde_json::from_str(&text).unwrap();
        let cases = table["cases"].as_array().unwrap();
        let mut passed = 0;
        for case in cases {
            match judge(case) {
                Ok(()) => passed += 1,
                Err(difference) => {
                    let (name, variant) = (&case["name"], &case["variant"]);
                    eprintln!("{suite} {name} {variant}: {difference}");
                }
            }
        }
        eprintln!("{suite}: {passed} of {}", cases.len());
        failed += cases.len() - passed;
    }
    assert_eq!(failed, 0, "cases that differ");
}
