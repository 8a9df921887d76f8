//! Results as text.

use std::fmt::Write;
use std::time::Duration;

use super::run_case::{CaseFailure, CaseResult};
use crate::duration::format_duration;

/// The result of a case, with the whole failure.
pub fn case_text(result: &CaseResult) -> String {
    if result.is_skipped {
        return format!("skip  {}: {}\n", result.file, result.name);
    }
    let Some(failure) = &result.failure else {
        return format!("ok    {}: {}\n", result.file, result.name);
    };
    let mut text = format!("FAIL  {}: {}\n", result.file, result.name);
    failure_text(&mut text, &result.file, failure);
    text
}

fn failure_text(text: &mut String, file: &str, failure: &CaseFailure) {
    let position = failure
        .at
        .map_or_else(|| file.to_owned(), |at| format!("{file}:{at}"));
    let step = failure.step.as_ref();
    let step = step.map_or_else(String::new, |(number, description)| {
        format!(": step {number} ({description})")
    });
    line(text, 2, &format!("{position}{step}"));
    failure.snippet.lines().for_each(|l| line(text, 4, l));
    match &failure.expected {
        Some(expected) => {
            line(text, 4, &format!("expected  {expected}"));
            line(text, 4, &format!("observed  {}", failure.observed));
        }
        None => line(text, 4, &format!("error     {}", failure.observed)),
    }
    line(
        text,
        4,
        &format!("after     {} of lab time", format_duration(failure.after)),
    );
    for explanation in &failure.explanations {
        explanation.lines().for_each(|l| line(text, 4, l));
    }
}

fn line(text: &mut String, indentation: usize, content: &str) {
    let line = format!("{:indentation$}{content}", "");
    let _ = writeln!(text, "{}", line.trim_end());
}

/// The last line: how many cases passed and failed, and how many did not run.
pub fn summary_text(results: &[CaseResult], took: Duration) -> String {
    let failed = results.iter().filter(|r| r.failure.is_some()).count();
    let skipped = results.iter().filter(|r| r.is_skipped).count();
    let passed = results.len() - failed - skipped;
    let not_run = match skipped {
        0 => String::new(),
        number => format!(", {number} not run"),
    };
    let lab: Duration = results.iter().map(|r| r.lab_time).sum();
    let cases = if results.len() == 1 { "case" } else { "cases" };
    format!(
        "{} {cases}: {passed} passed, {failed} failed{not_run}, in {:.1} s ({} of lab time)\n",
        results.len(),
        took.as_secs_f64(),
        format_duration(lab)
    )
}
