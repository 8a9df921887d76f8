//! The limits of containers as a table.

use kueue_lab_container::{ALL_PROCESSES_MEMORY, MAX_COMMANDS, PROCESS_MEMORY, ScriptLimits};
use kueue_lab_container_program::MAX_RETAINED;

use super::simulated_runtime::STORAGE;

/// The remedy at a limit of scripts.
const ANNOTATIONS: &str = "annotations kueue-lab.dev/run-for and kueue-lab.dev/exit-code";

/// The limits of containers: name, value, meaning, and how to raise or avoid each.
pub fn limits() -> impl Iterator<Item = (&'static str, u64, &'static str, &'static str)> {
    let script = ScriptLimits::default();
    let limits: [(_, usize, _, _); 8] = [
        (
            "script-bytes",
            script.bytes,
            "words, variables and output of the scripts of a pod; then exit code 137",
            ANNOTATIONS,
        ),
        (
            "script-commands",
            script.commands,
            "commands of the scripts of a pod; then exit code 137",
            ANNOTATIONS,
        ),
        (
            "script-steps",
            script.steps,
            "lines and waits of the scripts of a pod; then exit code 137",
            ANNOTATIONS,
        ),
        (
            "container-output-bytes",
            MAX_RETAINED,
            "output that is kept of all containers; then output is not kept",
            "delete other pods",
        ),
        (
            "container-files-bytes",
            STORAGE,
            "files of all containers; then ENOSPC",
            "delete files or pods",
        ),
        (
            "exec-memory-bytes",
            PROCESS_MEMORY,
            "memory of a command of exec; then exit code 137",
            "fixed",
        ),
        (
            "exec-memory-bytes (all commands)",
            ALL_PROCESSES_MEMORY,
            "memory of all commands of exec; then exit code 137",
            "fixed",
        ),
        (
            "exec-commands",
            MAX_COMMANDS as usize,
            "commands that a command of exec runs; then exit code 137",
            "fixed",
        ),
    ];
    limits
        .into_iter()
        .map(|(name, value, meaning, raise)| (name, value as u64, meaning, raise))
}
