//! The snippets on which the parser and the schema do not agree, with the reasons.

use super::snippets::{whole_file, with_expectation, with_quantity, with_step, with_time};

/// Snippets on which the parser and the schema do not agree.
pub(super) struct Difference {
    /// The reason of the difference.
    pub(super) reason: &'static str,
    /// The test file of a snippet.
    pub(super) file: fn(&str) -> String,
    /// The snippets.
    pub(super) snippets: &'static [&'static str],
}

/// Snippets that only the parser refuses.
pub(super) const REFUSED_BY_THE_PARSER: [Difference; 10] = [
    Difference {
        reason: "The names of files are not known.",
        file: whole_file,
        snippets: &[
            "{preset: other, cases: [{name: c, steps: [{wait: 1s}]}]}",
            "{queues: other, cases: [{name: c, steps: [{wait: 1s}]}]}",
            "{preset: q, kueue: other.yaml, cases: [{name: c, steps: [{wait: 1s}]}]}",
            "{preset: q, nodes: other.yaml, cases: [{name: c, steps: [{wait: 1s}]}]}",
            "{preset: q, cases: [{name: c, steps: [{apply: other.yaml}]}]}",
            "{preset: q, cases: [{name: c, steps: [{launch: {task: other.yaml}}]}]}",
        ],
    },
    Difference {
        reason: "The names of objects are those of the queues, nodes and samples.",
        file: with_step,
        snippets: &[
            "{jobs: {name: a, queue: other}}",
            "{jobs: {name: a, queue: lq, namespace: other}}",
            "{jobs: {name: a, queue: lq, priority: other}}",
            "{priority: {jobs: a, class: other}}",
            "{failNode: other}",
            "{finish: {node: other}}",
            "{taint: {node: other, key: k, effect: NoExecute}}",
            "{check: {name: other, active: true}}",
            "{sample: other}",
            "{switch: other}",
        ],
    },
    Difference {
        reason: "The names of objects are those of the queues; reasons can be patterns.",
        file: with_expectation,
        snippets: &[
            "{usage: {clusterQueue: other, resources: {cpu: 1}}}",
            "{usage: {clusterQueue: cq, flavor: other, resources: {cpu: 1}}}",
            "{borrowed: {clusterQueue: cq, resources: {memory: 1}}}",
            "{flavors: {jobs: a, flavors: {cpu: other}}}",
            "{share: {cohort: other, share: 1}}",
            "{victims: {jobs: a, reason: 'Other*'}}",
            "{evicted: {jobs: a, reason: 'Other*'}}",
            "{events: {reason: Evicted, kind: Other}}",
        ],
    },
    Difference {
        reason: "Fair sharing is a part of Kueue's configuration.",
        file: whole_file,
        snippets: &[
            "{preset: q, kueue: plain.yaml, cases: [{name: c, steps: [{expect: [{share: {clusterQueue: cq, share: 0}}]}]}]}",
        ],
    },
    Difference {
        reason: "Jobs are those of earlier steps.",
        file: whole_file,
        snippets: &[
            "{preset: q, cases: [{name: c, steps: [{expect: [{admitted: a}]}]}]}",
            "{preset: q, cases: [{name: c, steps: [{finish: a}]}]}",
            "{preset: q, cases: [{name: c, steps: [{expect: [{events: {reason: Evicted, object: a}}]}]}]}",
            "{preset: q, cases: [{name: c, steps: [{cancel: a}]}]}",
            "{preset: q, cases: [{name: c, steps: [{expect: [{job: a, status: RUNNING}]}]}]}",
            "{preset: q, cases: [{name: c, steps: [{launch: {task: task.yaml}}, {launch: {task: task.yaml}}]}]}",
        ],
    },
    Difference {
        reason: "A schema does not compare the values of fields.",
        file: whole_file,
        snippets: &[
            "{preset: q, cases: [{name: c, steps: [{wait: 1s}]}, {name: c, steps: [{wait: 2s}]}]}",
            "{preset: q, cases: [{name: c, steps: [{at: 2s}, {at: 1s}]}]}",
            "{preset: q, cases: [{name: c, steps: [{jobs: {name: a, queue: lq, pods: 3, minPods: 3}}]}]}",
            "{preset: q, cases: [{name: c, steps: [{jobs: {name: a, queue: lq}}, {jobs: {name: a, queue: lq}}]}]}",
            "{preset: q, cases: [{name: c, steps: [{jobs: {name: a, queue: lq}}, {finish: {jobs: a, pods: 2}}]}]}",
        ],
    },
    Difference {
        reason: "The fields of Kueue's objects are those of its CustomResourceDefinitions.",
        file: with_step,
        snippets: &[
            "{apply: {apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: x}, spec: {cohort_name: y}}}",
            "{create: [{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueues, metadata: {name: x}}]}",
        ],
    },
    Difference {
        reason: "A pattern does not add: each part is at most 3650d, and the sum is not.",
        file: with_time,
        snippets: &["3650d1s", "3649d25h", "50000h50000h"],
    },
    Difference {
        reason: "The pattern has no limit of exponents, that of 64 bits.",
        file: with_quantity,
        snippets: &["'1e9223372036854775808'"],
    },
    Difference {
        reason: "JSON does not distinguish whole numbers from others: large ones are read as fractions with an exponent only.",
        file: whole_file,
        snippets: &["{preset: q, seed: 1e19, cases: [{name: c, steps: [{wait: 1s}]}]}"],
    },
];

/// Snippets that only the schema refuses.
pub(super) const REFUSED_BY_THE_SCHEMA: [Difference; 4] = [
    Difference {
        reason: "The pattern has the white space of ASCII only.",
        file: with_time,
        snippets: &["'\u{a0}5s'", "'5s\u{2003}'"],
    },
    Difference {
        reason: "The parser rounds to 64 bits.",
        file: with_time,
        snippets: &[
            "3650.00000000000000000001d",
            "315360000.00000000000000000001s",
        ],
    },
    Difference {
        reason: "The parser does not check the objects of a step that is refused.",
        file: with_step,
        snippets: &[
            "{apply: [], refused: x}",
            "{apply: {apiVersion: v1, kind: '', metadata: {name: x}}, refused: x}",
        ],
    },
    Difference {
        reason: "The parser also takes the values of the mapping as a list.",
        file: with_step,
        snippets: &[
            "{sample: [s, t]}",
            "{expect: [{object: {kind: Pod, name: a}, conditions: {A: ['True', r, m]}}]}",
        ],
    },
];
