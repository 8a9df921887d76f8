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
        // The names of files are not known.
        "{preset: other, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{queues: other, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, kueue: other.yaml, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, nodes: other.yaml, cases: [{name: c, steps: [{wait: 1s}]}]}",
        "{preset: q, cases: [{name: c, steps: [{apply: other.yaml}]}]}",
        "{preset: q, cases: [{name: c, steps: [{launch: {task: other.yaml}}]}]}",
        // Fair sharing is a part of Kueue's configuration.
        "{preset: q, kueue: plain.yaml, cases: [{name: c, steps: [{expect: [{share: {clusterQueue: cq, share: 0}}]}]}]}",
        // Jobs are those of earlier steps.
        "{preset: q, cases: [{name: c, steps: [{expect: [{admitted: a}]}]}]}",
        "{preset: q, cases: [{name: c, steps: [{finish: a}]}]}",
        "{preset: q, cases: [{name: c, steps: [{expect: [{events: {reason: Evicted, object: a}}]}]}]}",
        "{preset: q, cases: [{name: c, steps: [{cancel: a}]}]}",
        "{preset: q, cases: [{name: c, steps: [{expect: [{job: a, status: RUNNING}]}]}]}",
        "{preset: q, cases: [{name: c, steps: [{launch: {task: task.yaml}}, {launch: {task: task.yaml}}]}]}",
        // A schema does not compare the values of fields.
        "{preset: q, cases: [{name: c, steps: [{wait: 1s}]}, {name: c, steps: [{wait: 2s}]}]}",
        "{preset: q, cases: [{name: c, steps: [{at: 2s}, {at: 1s}]}]}",
        "{preset: q, cases: [{name: c, steps: [{jobs: {name: a, queue: lq, pods: 3, minPods: 3}}]}]}",
        "{preset: q, cases: [{name: c, steps: [{jobs: {name: a, queue: lq}}, {jobs: {name: a, queue: lq}}]}]}",
        "{preset: q, cases: [{name: c, steps: [{jobs: {name: a, queue: lq}}, {finish: {jobs: a, pods: 2}}]}]}",
        // JSON does not distinguish whole numbers from others: large ones are read as fractions with an exponent only.
        "{preset: q, seed: 1e19, cases: [{name: c, steps: [{wait: 1s}]}]}",
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
