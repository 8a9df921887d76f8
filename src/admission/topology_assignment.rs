//! [`TopologyAssignment`]: the domains that the pods of a pod set are assigned to, decoded from the
//! compressed form of the API. Encoding is in `tas/assignment_encoding.rs`.

use serde::Serialize;

use kueue_lab_api::v1beta2 as api;

/// A topology assignment of a pod set, in the uncompressed form. The order of domains is
/// significant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TopologyAssignment {
    /// The node labels of the levels, from the highest level to the lowest.
    pub levels: Vec<String>,
    /// The domains with their pod counts.
    pub domains: Vec<TopologyDomainAssignment>,
}

/// The pods assigned to one domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TopologyDomainAssignment {
    /// The value of the domain on each level.
    pub values: Vec<String>,
    /// The number of pods.
    pub count: i32,
}

/// Decodes a compressed topology assignment. Values and counts that the API object does not have
/// read as empty and zero.
pub fn decode(assignment: &api::TopologyAssignment) -> TopologyAssignment {
    let mut domains = Vec::new();
    for slice in &assignment.slices {
        for i in 0..usize::try_from(slice.domain_count)
            .unwrap_or(0)
            .min(MAX_DOMAINS)
        {
            let values = (0..assignment.levels.len())
                .map(|level| {
                    slice
                        .values_per_level
                        .get(level)
                        .map_or(String::new(), |v| value(v, i))
                })
                .collect();
            let count = slice.pod_counts.universal;
            let count = count.or_else(|| slice.pod_counts.individual.get(i).copied());
            domains.push(TopologyDomainAssignment {
                values,
                count: count.unwrap_or(0),
            });
        }
    }
    TopologyAssignment {
        levels: assignment.levels.clone(),
        domains,
    }
}

/// The maximum number of domains in one slice of an assignment, as the API validates.
pub(crate) const MAX_DOMAINS: usize = 100_000;

fn value(values: &api::TopologyAssignmentSliceLevelValues, index: usize) -> String {
    if let Some(universal) = &values.universal {
        return universal.clone();
    }
    let Some(individual) = &values.individual else {
        return String::new();
    };
    format!(
        "{}{}{}",
        individual.prefix.as_deref().unwrap_or_default(),
        individual.roots.get(index).map_or("", String::as_str),
        individual.suffix.as_deref().unwrap_or_default(),
    )
}
