//! Whole test files.

use super::snippets::{Table, whole_file};

/// Whole test files.
pub(super) const FILES: Table = Table {
    file: whole_file,
    valid: &[
        "{queues: presets/q, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, queues: null, kueue: null, nodes: null, seed: null, cases: [{name: c, limit: null, steps: [{wait: 1s}]}]}",
        "{preset: q, kueue: kueue.yaml, nodes: nodes.yaml, seed: 0, cases: [{name: c, limit: 30m, steps: [{wait: 1s}]}]}",
        "{preset: q, seed: 18446744073709551615, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, seed: 7.0, cases: [{name: c, steps: [{wait: 1s}]}]}",
    ],
    invalid: &[
        "[]",
        "x",
        "{cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: null, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, queues: presets/q, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: 1, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, kueue: 1, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, nodes: [], cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, seed: -1, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, seed: 1.5, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, seed: 1e20, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, seed: '1', cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, presets: q, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q}",
        "{preset: q, cases: null}",
        "{preset: q, cases: []}",
        "{preset: q, cases: {}}",
        "{preset: q, cases: [null]}",
        "{preset: q, cases: [{name: c}]}",
        "{preset: q, cases: [{steps: [{wait: 1s}]}]}",
        "{preset: q, cases: [{name: null, steps: [{wait: 1s}]}]}",
        "{preset: q, cases: [{name: 1, steps: [{wait: 1s}]}]}",
        "{preset: q, cases: [{name: c, steps: []}]}",
        "{preset: q, cases: [{name: c, steps: {}}]}",
        "{preset: q, cases: [{name: c, steps: [null]}]}",
        "{preset: q, cases: [{name: c, limit: soon, steps: [{wait: 1s}]}]}",
        "{preset: q, cases: [{name: c, summary: x, steps: [{wait: 1s}]}]}",
    ],
};
