//! Encodes topology assignments for the API; truncates them and counts their pods.
//!
//! Decoding is [`crate::topology_assignment::decode`]. Must not depend on trees or capacity.

use std::collections::HashMap;
use std::io::Write;

use crate::topology_assignment::{MAX_DOMAINS, TopologyAssignment, TopologyDomainAssignment};
use kueue_lab_api::v1beta2::{
    HOSTNAME_LABEL, TopologyAssignment as Compressed, TopologyAssignmentSlice as Slice,
    TopologyAssignmentSliceLevelIndividualValues as IndividualValues,
    TopologyAssignmentSliceLevelValues as LevelValues,
    TopologyAssignmentSlicePodCounts as PodCounts,
};

/// The maximum number of slices in an assignment.
const MAX_SLICES: usize = 1_000;

/// The number of pods of an assignment.
pub fn count_pods(assignment: &TopologyAssignment) -> i32 {
    let counts = assignment.domains.iter().map(|d| d.count);
    counts.fold(0, i32::saturating_add)
}

/// The first `count` pods of an assignment.
pub fn truncate(assignment: &TopologyAssignment, count: i32) -> TopologyAssignment {
    let mut left = count;
    let mut domains = Vec::new();
    for domain in &assignment.domains {
        if left <= 0 {
            break;
        }
        let taken = domain.count.min(left);
        left -= taken;
        domains.push(TopologyDomainAssignment {
            values: domain.values.clone(),
            count: taken,
        });
    }
    TopologyAssignment {
        levels: assignment.levels.clone(),
        domains,
    }
}

/// Encodes an assignment.
///
/// With `by_hostname_prefix` hosts are grouped into slices by common prefixes up to a dash, if that
/// is shorter; otherwise all domains are in one slice.
pub fn encode(assignment: &TopologyAssignment, by_hostname_prefix: bool) -> Compressed {
    let single = || compressed(assignment, [assignment.domains.as_slice()]);
    if !by_hostname_prefix {
        return single();
    }
    let runs = compact_domain_runs(assignment);
    let chunks = runs.into_iter().flat_map(|run| run.chunks(MAX_DOMAINS));
    let by_prefix = compressed(assignment, chunks);
    if by_prefix.slices.len() <= 1 || assignment.domains.len() > MAX_DOMAINS {
        return by_prefix;
    }
    let single = single();
    if json_length(&single) < json_length(&by_prefix) {
        single
    } else {
        by_prefix
    }
}

fn compressed<'d>(
    assignment: &TopologyAssignment,
    runs: impl IntoIterator<Item = &'d [TopologyDomainAssignment]>,
) -> Compressed {
    let runs = runs.into_iter().filter(|run| !run.is_empty());
    Compressed {
        levels: assignment.levels.clone(),
        slices: runs
            .map(|run| slice(assignment.levels.len(), run))
            .collect(),
    }
}

fn slice(levels: usize, domains: &[TopologyDomainAssignment]) -> Slice {
    let first = domains.first().map_or(0, |d| d.count);
    let pod_counts = if domains.iter().all(|d| d.count == first) {
        PodCounts {
            universal: Some(first),
            individual: Vec::new(),
        }
    } else {
        PodCounts {
            universal: None,
            individual: domains.iter().map(|d| d.count).collect(),
        }
    };
    Slice {
        domain_count: i32::try_from(domains.len()).unwrap_or(i32::MAX),
        values_per_level: (0..levels).map(|l| level_values(l, domains)).collect(),
        pod_counts,
    }
}

fn value(domain: &TopologyDomainAssignment, level: usize) -> &str {
    domain.values.get(level).map_or("", String::as_str)
}

/// The values of one level, with their common prefix and suffix.
fn level_values(level: usize, domains: &[TopologyDomainAssignment]) -> LevelValues {
    let values = || domains.iter().map(|d| value(d, level));
    let first = values().next().unwrap_or_default();
    let shortest = values().map(str::len).min().unwrap_or(0);
    if values().all(|v| v == first) {
        return LevelValues {
            universal: Some(first.to_owned()),
            individual: None,
        };
    }
    let common = |same: fn(&[u8], &[u8]) -> usize| {
        let of_two = values().map(|v| same(first.as_bytes(), v.as_bytes()));
        of_two.min().unwrap_or(0)
    };
    let mut prefix = common(|a, b| a.iter().zip(b).take_while(|(x, y)| x == y).count());
    let mut suffix = common(|a, b| {
        a.iter()
            .rev()
            .zip(b.iter().rev())
            .take_while(|(x, y)| x == y)
            .count()
    });
    // Prefix and suffix must not overlap in the shortest value.
    prefix = prefix.min(shortest - suffix);
    // Do not split a multi-byte character.
    while values().any(|v| !v.is_char_boundary(prefix)) {
        prefix -= 1;
    }
    while values().any(|v| !v.is_char_boundary(v.len() - suffix)) {
        suffix -= 1;
    }
    let part = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    LevelValues {
        universal: None,
        individual: Some(IndividualValues {
            prefix: part(&first[..prefix]),
            suffix: part(&first[first.len() - suffix..]),
            roots: values()
                .map(|v| v[prefix..v.len() - suffix].to_owned())
                .collect(),
        }),
    }
}

/// Runs of hosts with a common prefix; one run when the lowest level is not the hostname, or there
/// would be too many runs.
fn compact_domain_runs(assignment: &TopologyAssignment) -> Vec<&[TopologyDomainAssignment]> {
    let domains = assignment.domains.as_slice();
    let by_host = assignment
        .levels
        .last()
        .is_some_and(|l| l == HOSTNAME_LABEL);
    let keys = (by_host && domains.len() > 1)
        .then(|| prefix_keys(domains, assignment.levels.len() - 1))
        .flatten();
    let Some(keys) = keys else {
        return vec![domains];
    };
    let mut runs = Vec::new();
    let mut start = 0;
    for end in 1..=domains.len() {
        if keys.get(end) != Some(&keys[start]) {
            runs.push(&domains[start..end]);
            start = end;
        }
    }
    runs
}

/// The longest prefix up to a dash that each host has in common with another, empty without one.
/// The number of dashes is limited by the maximum number of slices; none if a single dash exceeds
/// it.
fn prefix_keys(domains: &[TopologyDomainAssignment], level: usize) -> Option<Vec<&str>> {
    let mut shared: HashMap<&str, bool> = HashMap::with_capacity(domains.len());
    let mut candidates: Vec<Vec<&str>> = Vec::with_capacity(domains.len());
    for domain in domains {
        let host = value(domain, level);
        let dashes = host.match_indices('-').map(|(i, _)| i + 1);
        let prefixes: Vec<&str> = dashes
            .filter(|&end| end < host.len())
            .map(|end| &host[..end])
            .collect();
        for &prefix in &prefixes {
            shared.entry(prefix).and_modify(|s| *s = true).or_default();
        }
        candidates.push(prefixes);
    }
    let deepest = candidates.iter().map(Vec::len).max().unwrap_or(0);
    let is_shared = |prefix: &&&str| shared.get(**prefix).copied().unwrap_or(false);
    (1..=deepest).rev().find_map(|depth| {
        let keys: Vec<&str> = candidates
            .iter()
            .map(|prefixes| {
                let usable = prefixes.iter().take(depth);
                usable.rev().find(is_shared).copied().unwrap_or_default()
            })
            .collect();
        let slices: usize = keys
            .chunk_by(|a, b| a == b)
            .map(|run| run.len().div_ceil(MAX_DOMAINS))
            .sum();
        (slices <= MAX_SLICES).then_some(keys)
    })
}

fn json_length(assignment: &Compressed) -> usize {
    struct Counter(usize);
    impl Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    // Serialization of these types into a counter cannot fail.
    let written = serde_json::to_writer(&mut counter, assignment);
    written.map_or(usize::MAX, |()| counter.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology_assignment::decode;
    use proptest::prelude::*;
    use serde_json::json;

    fn assignment(levels: &[&str], domains: &[(&[&str], i32)]) -> TopologyAssignment {
        TopologyAssignment {
            levels: levels.iter().map(|l| (*l).to_owned()).collect(),
            domains: domains
                .iter()
                .map(|(values, count)| TopologyDomainAssignment {
                    values: values.iter().map(|v| (*v).to_owned()).collect(),
                    count: *count,
                })
                .collect(),
        }
    }

    fn hosts(names: &[&str]) -> TopologyAssignment {
        let domains: Vec<(&[&str], i32)> =
            names.iter().map(|n| (std::slice::from_ref(n), 1)).collect();
        assignment(&[HOSTNAME_LABEL], &domains)
    }

    #[test]
    fn common_prefixes_and_suffixes_are_written_once() {
        let a = assignment(
            &["block", "rack"],
            &[(&["b1", "ababa"], 2), (&["b1", "aba"], 1)],
        );
        assert_eq!(
            serde_json::to_value(encode(&a, true)).unwrap(),
            json!({"levels": ["block", "rack"], "slices": [{
                "domainCount": 2,
                "valuesPerLevel": [
                    {"universal": "b1"},
                    {"individual": {"suffix": "aba", "roots": ["ab", ""]}},
                ],
                "podCounts": {"individual": [2, 1]},
            }]})
        );
        let none = assignment(&["rack"], &[]);
        assert_eq!(encode(&none, true).slices, []);
        assert_eq!(encode(&none, false).slices, []);
    }

    #[test]
    fn hosts_are_grouped_by_prefix_if_that_is_shorter() {
        let long = |pool: &str, i: usize| format!("gke-cluster-{pool}-with-a-long-name-node-{i}");
        let names: Vec<String> = (0..40)
            .map(|i| long(if i < 20 { "alpha" } else { "beta-and-more" }, i))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let encoded = encode(&hosts(&names), true);
        assert_eq!(encoded.slices.len(), 2);
        assert_eq!(encode(&hosts(&names), false).slices.len(), 1);
        assert_eq!(encode(&hosts(&["a-1", "a-2", "b-1"]), true).slices.len(), 1);
    }

    #[test]
    fn the_number_of_slices_is_limited() {
        // More pairs of hosts with a common prefix than the maximum number of slices.
        let names: Vec<String> = (0..2400)
            .map(|i| format!("pool-{}-{}", i / 2, i % 2))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let encoded = encode(&hosts(&names), true);
        assert!(encoded.slices.len() <= MAX_SLICES);
        assert_eq!(decode(&encoded), hosts(&names));
    }

    #[test]
    fn truncating_removes_from_the_end() {
        let a = assignment(&["rack"], &[(&["r1"], 2), (&["r2"], 3)]);
        assert_eq!(
            truncate(&a, 3),
            assignment(&["rack"], &[(&["r1"], 2), (&["r2"], 1)])
        );
        assert_eq!(truncate(&a, 2), assignment(&["rack"], &[(&["r1"], 2)]));
        assert_eq!(truncate(&a, 0), assignment(&["rack"], &[]));
        assert_eq!(count_pods(&truncate(&a, 9)), 5);
    }

    proptest! {
        #[test]
        fn decoding_inverts_encoding(
            domains in proptest::collection::vec(("[a-c]{1,2}", "(é|[a-b-]){0,6}", 1i32..4), 0..12),
            by_prefix: bool,
        ) {
            let a = TopologyAssignment {
                levels: vec!["rack".into(), HOSTNAME_LABEL.into()],
                domains: domains.into_iter().map(|(rack, host, count)| TopologyDomainAssignment {
                    values: vec![rack, host],
                    count,
                }).collect(),
            };
            prop_assert_eq!(decode(&encode(&a, by_prefix)), a);
        }
    }
}
