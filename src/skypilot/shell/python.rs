//! The `python -c` one-liners that are understood: `time.sleep` and `print`.

use kueue_lab_container_program::Step;
use kueue_lab_container_program::duration;

/// The steps of a Python one-liner: prints, sleeps and exits.
pub(super) fn python(text: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for statement in text.split([';', '\n']) {
        let argument = |call: &str| {
            let after = &statement[statement.find(call)? + call.len()..];
            Some(after[..after.rfind(')')?].trim())
        };
        if let Some(time) = argument("sleep(") {
            steps.push(Step::Wait(duration(time).unwrap_or_default()));
        } else if let Some(text) = argument("print(") {
            let text = text.trim_matches(['\'', '"']);
            steps.push(Step::Print(text.to_string()));
        } else if let Some(code) = argument("exit(") {
            steps.push(Step::Exit(code.parse().unwrap_or(1)));
        }
    }
    steps
}
