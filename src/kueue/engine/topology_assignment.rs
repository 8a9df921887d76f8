//! [`TopologyAssignment`]: the domains that the pods of a pod set are assigned to, decoded from the
//! compressed form of the API. Encoding is in `tas/assignment_encoding.rs`.

use serde::{Deserialize, Serialize};

use kueue_lab_api::v1beta2 as api;

/// A topology assignment of a pod set, in the uncompressed form. The order of domains is
/// significant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopologyAssignment {
    /// The node labels of the levels, from the highest level to the lowest.
    pub levels: Vec<String>,
    /// The domains with their pod counts.
    pub domains: Vec<TopologyDomainAssignment>,
}

/// The pods assigned to one domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
        let left = MAX_ALL_DOMAINS.saturating_sub(domains.len());
        let count = usize::try_from(slice.domain_count).unwrap_or(0);
        for i in 0..count.min(MAX_DOMAINS).min(left) {
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

/// The nodes to which an assignment assigns pods; none unless its lowest level is the hostname.
/// Decodes no other level.
pub fn assigned_node_names(assignment: &api::TopologyAssignment) -> impl Iterator<Item = String> {
    let lowest = assignment.levels.len().checked_sub(1);
    let hostname = lowest.filter(|&lowest| assignment.levels[lowest] == api::HOSTNAME_LABEL);
    hostname.into_iter().flat_map(|lowest| {
        assignment.slices.iter().flat_map(move |slice| {
            let domains = usize::try_from(slice.domain_count).unwrap_or(0);
            (0..domains.min(MAX_DOMAINS)).filter_map(move |i| {
                let counts = &slice.pod_counts;
                let individual = counts.individual.get(i).copied();
                let count = counts.universal.or(individual).unwrap_or(0);
                let values = slice.values_per_level.get(lowest)?;
                (count > 0).then(|| value(values, i))
            })
        })
    })
}

/// The maximum number of domains in one slice of an assignment, as the API validates.
pub(crate) const MAX_DOMAINS: usize = 100_000;
/// The maximum number of domains of an assignment.
const MAX_ALL_DOMAINS: usize = 1_000_000;

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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn assignment(levels: &[&str]) -> api::TopologyAssignment {
        let nodes = json!({"individual": {"prefix": "node-", "roots": ["1", "2", "3"]}});
        let node = json!({"universal": "node-4"});
        let rack = json!({"universal": "rack"});
        let slices = json!([
            {"domainCount": 3, "podCounts": {"individual": [1, 0, 2]}, "valuesPerLevel": [rack, nodes]},
            {"domainCount": 1, "podCounts": {"universal": 1}, "valuesPerLevel": [rack, node]},
        ]);
        serde_json::from_value(json!({"levels": levels, "slices": slices})).unwrap()
    }

    #[test]
    fn assigned_nodes_are_those_of_the_decoded_assignment() {
        let assignment = assignment(&["rack", api::HOSTNAME_LABEL]);
        let names: Vec<String> = assigned_node_names(&assignment).collect();
        assert_eq!(names, ["node-1", "node-3", "node-4"]);
        let decoded = decode(&assignment).domains.into_iter();
        let decoded = decoded.filter(|d| d.count > 0);
        let decoded: Vec<String> = decoded.filter_map(|d| d.values.last().cloned()).collect();
        assert_eq!(names, decoded);
    }

    #[test]
    fn an_assignment_without_hostname_has_no_nodes() {
        let assignment = assignment(&["block", "rack"]);
        assert_eq!(assigned_node_names(&assignment).count(), 0);
    }
}
