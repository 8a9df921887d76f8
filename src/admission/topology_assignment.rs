//! [`TopologyAssignment`]: the domains that the pods of a pod set are assigned to, decoded from the
//! compressed form of the API. Encoding is in `tas/assignment_encoding.rs`.

use serde::Serialize;

use kueue_lab_api::v1beta2 as api;

/// Where the pods of a pod set are placed: the uncompressed form of the API's assignment. The
/// order of domains matters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TopologyAssignment {
    /// The node labels of the levels, from the highest down.
    pub levels: Vec<String>,
    /// The domains with their pods.
    pub domains: Vec<TopologyDomainAssignment>,
}

/// Pods on one domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TopologyDomainAssignment {
    /// The domain's value on each level.
    pub values: Vec<String>,
    /// How many pods.
    pub count: i32,
}

/// The domains of a compressed assignment with their pods, one by one. Lists of the API object
/// that are too short for the number of domains they announce read as empty and zero.
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

/// The most domains one slice of an assignment may announce; the API allows no more.
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
