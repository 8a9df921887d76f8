//! Results as JSON.

use serde_json::{Value, json};

use super::run_case::CaseResult;

/// The results as one JSON object.
pub fn json_report(results: &[CaseResult]) -> Value {
    let failed = results.iter().filter(|r| r.failure.is_some()).count();
    let cases: Vec<Value> = results.iter().map(case).collect();
    let skipped = results.iter().filter(|r| r.is_skipped).count();
    let passed = results.len() - failed - skipped;
    json!({"passed": passed, "failed": failed, "skipped": skipped, "cases": cases})
}

fn case(result: &CaseResult) -> Value {
    let failure = result.failure.as_ref().map(|failure| {
        json!({
            "line": failure.at.map(|at| at.line),
            "column": failure.at.map(|at| at.column),
            "step": failure.step.as_ref().map(|(number, _)| number),
            "description": failure.step.as_ref().map(|(_, text)| text),
            "expected": failure.expected,
            "observed": failure.observed,
            "labSeconds": failure.after.as_secs_f64(),
            "explanations": failure.explanations,
        })
    });
    json!({
        "file": result.file,
        "name": result.name,
        "passed": result.failure.is_none() && !result.is_skipped,
        "skipped": result.is_skipped,
        "failure": failure,
        "labSeconds": result.lab_time.as_secs_f64(),
        "seconds": result.real_time.as_secs_f64(),
    })
}
