//! Conversion between a list of topology domains and the compressed form of [`TopologyAssignment`].

use std::collections::HashMap;

use super::{
    TopologyAssignment, TopologyAssignmentSlice, TopologyAssignmentSliceLevelIndividualValues,
    TopologyAssignmentSliceLevelValues, TopologyAssignmentSlicePodCounts,
};

/// The label of hosts, the lowest level of a topology.
pub const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

/// A domain with the number of its pods.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TopologyDomain {
    /// The domain's values, one for each level of the assignment.
    pub values: Vec<String>,
    /// How many pods.
    pub count: i32,
}

/// An inconsistent assignment, which the API server rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedAssignment {
    /// A slice does not have one entry of values for each level.
    #[error("slice {slice}: {got} entries in valuesPerLevel for {want} levels")]
    Levels {
        /// Index of the slice.
        slice: usize,
        /// Entries there are.
        got: usize,
        /// Entries there should be.
        want: usize,
    },
    /// A slice does not have one value, or count, for each of its domains.
    #[error("slice {slice}: fewer values or pod counts than the {want} domains it counts")]
    Domains {
        /// Index of the slice.
        slice: usize,
        /// Domains the slice counts.
        want: i32,
    },
    /// More domains than [`MAX_DOMAINS`].
    #[error("more than {MAX_DOMAINS} domains")]
    TooMany,
}

/// The maximum number of domains of a slice.
const MAX_SLICE: usize = 100_000;
/// The maximum number of slices of an assignment.
const MAX_SLICES: usize = 1_000;
/// Assignments with more domains are rejected, which limits the memory of decoding.
const MAX_DOMAINS: usize = 1_000_000;

impl TopologyAssignment {
    /// Writes domains in the compressed form. Every domain has one value for each level.
    ///
    /// With `by_hostname_prefix` (the gate TASAssignmentsEncodingByHostnamePrefix) hosts are split
    /// into runs with a common prefix up to a dash, unless that makes the JSON longer.
    pub fn encode(
        levels: Vec<String>,
        domains: &[TopologyDomain],
        by_hostname_prefix: bool,
    ) -> Self {
        if by_hostname_prefix {
            let cut = Self::encode_runs(&levels, domains);
            if cut.slices.len() <= 1 || domains.len() > MAX_SLICE {
                return cut;
            }
            let whole = Self::encode_one_slice(levels, domains);
            let size = |a: &Self| serde_json::to_string(a).map_or(usize::MAX, |s| s.len());
            if size(&whole) < size(&cut) {
                whole
            } else {
                cut
            }
        } else {
            Self::encode_one_slice(levels, domains)
        }
    }

    fn encode_one_slice(levels: Vec<String>, domains: &[TopologyDomain]) -> Self {
        let slices = if domains.is_empty() {
            Vec::new()
        } else {
            vec![slice(levels.len(), domains)]
        };
        Self { levels, slices }
    }

    fn encode_runs(levels: &[String], domains: &[TopologyDomain]) -> Self {
        let by_host = levels.last().is_some_and(|l| l == HOSTNAME_LABEL) && domains.len() > 1;
        let hosts: Vec<&str> = match by_host {
            true => domains
                .iter()
                .filter_map(|d| d.values.last())
                .map(String::as_str)
                .collect(),
            false => Vec::new(),
        };
        let slices = runs_by_key(domains.len(), &prefixes(&hosts))
            .flat_map(|run| domains[run].chunks(MAX_SLICE))
            .map(|chunk| slice(levels.len(), chunk))
            .collect();
        Self {
            levels: levels.to_vec(),
            slices,
        }
    }

    /// The domains, in order.
    ///
    /// # Errors
    /// The assignment is inconsistent, or has too many domains.
    pub fn decode(&self) -> Result<Vec<TopologyDomain>, MalformedAssignment> {
        let mut domains = Vec::with_capacity(self.domain_count().min(MAX_SLICE));
        for (index, slice) in self.slices.iter().enumerate() {
            let (got, want) = (slice.values_per_level.len(), self.levels.len());
            if got != want {
                return Err(MalformedAssignment::Levels {
                    slice: index,
                    got,
                    want,
                });
            }
            let short = MalformedAssignment::Domains {
                slice: index,
                want: slice.domain_count,
            };
            for i in 0..usize::try_from(slice.domain_count).unwrap_or(0) {
                if domains.len() == MAX_DOMAINS {
                    return Err(MalformedAssignment::TooMany);
                }
                let values = slice.values_per_level.iter().map(|v| v.value(i));
                domains.push(TopologyDomain {
                    values: values.collect::<Option<_>>().ok_or(short)?,
                    count: slice.pod_counts.count(i).ok_or(short)?,
                });
            }
        }
        Ok(domains)
    }

    /// The number of domains.
    pub fn domain_count(&self) -> usize {
        self.slices
            .iter()
            .map(|s| usize::try_from(s.domain_count).unwrap_or(0))
            .sum()
    }
}

impl TopologyAssignmentSliceLevelValues {
    /// The value of a domain of the slice; `None` if the slice has none for it.
    pub fn value(&self, domain: usize) -> Option<String> {
        if let Some(value) = &self.universal {
            return Some(value.clone());
        }
        let individual = self.individual.as_ref()?;
        let root = individual.roots.get(domain)?;
        let part = |p: &Option<String>| p.clone().unwrap_or_default();
        Some(part(&individual.prefix) + root + &part(&individual.suffix))
    }
}

impl TopologyAssignmentSlicePodCounts {
    /// The number of pods of a domain of the slice; `None` if the slice has none for it.
    pub fn count(&self, domain: usize) -> Option<i32> {
        self.universal
            .or_else(|| self.individual.get(domain).copied())
    }
}

/// Compresses a run of at least one domain.
fn slice(levels: usize, domains: &[TopologyDomain]) -> TopologyAssignmentSlice {
    let value = |domain: &'_ TopologyDomain, level: usize| -> String {
        domain.values.get(level).cloned().unwrap_or_default()
    };
    let counts: Vec<i32> = domains.iter().map(|d| d.count).collect();
    let same = counts.windows(2).all(|w| w[0] == w[1]);
    TopologyAssignmentSlice {
        domain_count: i32::try_from(domains.len()).unwrap_or(i32::MAX),
        values_per_level: (0..levels)
            .map(|level| compress(domains.iter().map(|d| value(d, level)).collect()))
            .collect(),
        pod_counts: TopologyAssignmentSlicePodCounts {
            universal: counts.first().copied().filter(|_| same),
            individual: if same { Vec::new() } else { counts },
        },
    }
}

/// Extracts the common prefix and suffix of the values of a level.
fn compress(values: Vec<String>) -> TopologyAssignmentSliceLevelValues {
    let Some(first) = values.first() else {
        return Default::default();
    };
    if values.iter().all(|v| v == first) {
        return TopologyAssignmentSliceLevelValues {
            universal: values.into_iter().next(),
            individual: None,
        };
    }
    let shortest = values.iter().map(String::len).min().unwrap_or(0);
    let (mut prefix, mut suffix) = (first.as_str(), first.as_str());
    for value in &values[1..] {
        let same = prefix
            .bytes()
            .zip(value.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        prefix = &prefix[..prefix.floor_char_boundary(same)];
        let same = suffix
            .bytes()
            .rev()
            .zip(value.bytes().rev())
            .take_while(|(a, b)| a == b);
        suffix = &suffix[suffix.ceil_char_boundary(suffix.len() - same.count())..];
    }
    // Prefix and suffix must not overlap, as in "aba" beside "ababa".
    if prefix.len() + suffix.len() > shortest {
        prefix = &prefix[..prefix.floor_char_boundary(shortest - suffix.len())];
    }
    let roots = values
        .iter()
        .map(|v| v[prefix.len()..v.len() - suffix.len()].to_owned())
        .collect();
    let part = |p: &str| (!p.is_empty()).then(|| p.to_owned());
    TopologyAssignmentSliceLevelValues {
        universal: None,
        individual: Some(TopologyAssignmentSliceLevelIndividualValues {
            prefix: part(prefix),
            suffix: part(suffix),
            roots,
        }),
    }
}

/// The prefix by which each host is grouped: the longest one up to a dash that another host has as
/// well, or a shorter one if that would make too many slices; empty without a common prefix.
fn prefixes<'a>(hosts: &[&'a str]) -> Vec<&'a str> {
    let mut seen: HashMap<&str, u8> = HashMap::new();
    let mut candidates: Vec<Vec<&'a str>> = Vec::with_capacity(hosts.len());
    for host in hosts {
        let dashes = host
            .bytes()
            .enumerate()
            .filter(|(i, b)| *b == b'-' && i + 1 < host.len());
        let of_host: Vec<&str> = dashes.map(|(i, _)| &host[..=i]).collect();
        for prefix in &of_host {
            let times = seen.entry(prefix).or_default();
            *times = times.saturating_add(1);
        }
        candidates.push(of_host);
    }
    let deepest = candidates.iter().map(Vec::len).max().unwrap_or(0);
    for depth in (1..=deepest).rev() {
        let shared = |p: &&&str| seen.get(**p).is_some_and(|times| *times > 1);
        let keys: Vec<&str> = candidates
            .iter()
            .map(|c| {
                c.iter()
                    .take(depth)
                    .rev()
                    .find(shared)
                    .copied()
                    .unwrap_or("")
            })
            .collect();
        let slices: usize = runs_by_key(hosts.len(), &keys)
            .map(|r| r.len().div_ceil(MAX_SLICE))
            .sum();
        if slices <= MAX_SLICES {
            return keys;
        }
    }
    Vec::new()
}

/// The ranges of consecutive domains with the same key; one range without keys.
fn runs_by_key<'k>(
    length: usize,
    keys: &'k [&'k str],
) -> impl Iterator<Item = std::ops::Range<usize>> + 'k {
    let mut start = 0;
    std::iter::from_fn(move || {
        if start >= length {
            return None;
        }
        let end = match keys.get(start) {
            Some(key) => (start..length)
                .find(|i| keys.get(*i) != Some(key))
                .unwrap_or(length),
            None => length,
        };
        let run = start..end;
        start = end;
        Some(run)
    })
}

#[cfg(test)]
mod tests;
