//! Results as JUnit XML.

use std::fmt::Write;

use super::report_text::case_text;
use super::run_case::CaseResult;

/// The results as a JUnit report: a test suite for each file, a test case for each case.
pub fn junit_report(results: &[CaseResult]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites{}>", totals(results));
    for suite in results.chunk_by(|a, b| a.file == b.file) {
        let file = suite.first().map_or("", |result| &result.file);
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{}\"{}>",
            escape(file),
            totals(suite)
        );
        for result in suite {
            case(&mut xml, result);
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn totals(results: &[CaseResult]) -> String {
    let failures = results.iter().filter(|r| r.failure.is_some()).count();
    let skipped = results.iter().filter(|r| r.is_skipped).count();
    let time: f64 = results.iter().map(|r| r.real_time.as_secs_f64()).sum();
    format!(
        " tests=\"{}\" failures=\"{failures}\" skipped=\"{skipped}\" time=\"{time:.3}\"",
        results.len()
    )
}

fn case(xml: &mut String, result: &CaseResult) {
    let (name, file) = (escape(&result.name), escape(&result.file));
    let time = result.real_time.as_secs_f64();
    let _ = write!(
        xml,
        "    <testcase name=\"{name}\" classname=\"{file}\" file=\"{file}\" time=\"{time:.3}\""
    );
    if result.is_skipped {
        xml.push_str(">\n      <skipped message=\"another case failed\"/>\n    </testcase>\n");
        return;
    }
    let Some(failure) = &result.failure else {
        xml.push_str("/>\n");
        return;
    };
    let message = match &failure.expected {
        Some(expected) => format!("expected {expected}; observed {}", failure.observed),
        None => failure.observed.clone(),
    };
    let _ = writeln!(
        xml,
        ">\n      <failure message=\"{}\">{}</failure>\n    </testcase>",
        escape(&message),
        escape(&case_text(result))
    );
}

/// Escapes a text for XML; characters that XML 1.0 does not permit are replaced.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push('\t'),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
