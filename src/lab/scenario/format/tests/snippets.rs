//! Parts of test files, and the files that they are put into.

/// Snippets of one kind that are accepted, and those that are refused.
pub(super) struct Table {
    /// The test file of a snippet.
    pub(super) file: fn(&str) -> String,
    /// They are accepted.
    pub(super) valid: &'static [&'static str],
    /// They are refused.
    pub(super) invalid: &'static [&'static str],
}

/// A test file of one case, whose second step is `snippet`.
pub(super) fn with_step(snippet: &str) -> String {
    format!("queues: presets/q\ncases:\n- name: c\n  steps:\n  - sample: s\n  - {snippet}\n")
}

/// A test file with an expectation.
pub(super) fn with_expectation(snippet: &str) -> String {
    with_step(&format!("{{expect: [{snippet}]}}"))
}

/// A test file with a time.
pub(super) fn with_time(time: &str) -> String {
    with_step(&format!("{{wait: {time}}}"))
}

/// A test file with a quantity.
pub(super) fn with_quantity(quantity: &str) -> String {
    with_step(&format!(
        "{{jobs: {{name: a, queue: lq, requests: {{cpu: {quantity}}}}}}}"
    ))
}

/// A test file with a comparison with an amount.
pub(super) fn with_comparison(comparison: &str) -> String {
    with_expectation(&format!("{{admitted: {{jobs: a, count: {comparison}}}}}"))
}

/// A test file with a comparison with a time.
pub(super) fn with_time_comparison(comparison: &str) -> String {
    with_expectation(&format!("{{waits: {{jobs: a, time: {comparison}}}}}"))
}

/// The snippet itself.
pub(super) fn whole_file(text: &str) -> String {
    text.to_owned()
}
