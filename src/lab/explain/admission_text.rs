//! Renders where a Workload is admitted: the flavor of each resource, and the topology domains of the pods.

use std::fmt::Write;

use kueue_lab_api::v1beta2::{
    Admission, DelayedTopologyRequestState, PodSetAssignment, TopologyAssignment,
};

/// The most topology domains of a pod set that are listed; JSON has all of them.
const MAX_DOMAINS: usize = 10;

/// The assignments of all pod sets, one or more lines each.
pub fn admission_lines(out: &mut String, admission: &Admission) {
    for pod_set in &admission.pod_set_assignments {
        let pods = pod_set.count.map(|count| counted(count, "pod"));
        let parts = pods.into_iter().chain(resources(pod_set));
        let parts: Vec<String> = parts.collect();
        let _ = writeln!(out, "  pod set {}: {}", pod_set.name, parts.join(", "));
        if let Some(topology) = &pod_set.topology_assignment {
            domains(out, topology);
        }
        if pod_set.delayed_topology_request == Some(DelayedTopologyRequestState::Pending) {
            out.push_str("    topology domains: assigned when its nodes are provisioned\n");
        }
    }
}

/// `4 cpu from spot`, for each resource.
fn resources(pod_set: &PodSetAssignment) -> Vec<String> {
    let flavors = pod_set.flavors.iter();
    let flavors = flavors.map(
        |(resource, flavor)| match pod_set.resource_usage.get(resource) {
            Some(amount) => format!("{} {resource} from {flavor}", amount.0),
            None => format!("{resource} from {flavor}"),
        },
    );
    let flavors: Vec<String> = flavors.collect();
    match flavors.is_empty() {
        true => vec!["no requests".to_owned()],
        false => flavors,
    }
}

/// The levels of a topology assignment, and its domains with their pods.
fn domains(out: &mut String, assignment: &TopologyAssignment) {
    let levels = assignment.levels.join(", ");
    let _ = writeln!(out, "    topology domains, by {levels}");
    let domains = match assignment.decode() {
        Ok(domains) => domains,
        Err(error) => {
            let _ = writeln!(out, "      cannot be read: {error}");
            return;
        }
    };
    for domain in domains.iter().take(MAX_DOMAINS) {
        let pods = counted(domain.count, "pod");
        let _ = writeln!(out, "      {}: {pods}", domain.values.join(", "));
    }
    let more = domains.len().saturating_sub(MAX_DOMAINS);
    if more > 0 {
        let _ = writeln!(out, "      and {more} more; -o json lists all");
    }
}

fn counted(number: i32, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(assignment: serde_json::Value) -> String {
        let admission = json!({"clusterQueue": "q", "podSetAssignments": [assignment]});
        let mut out = String::new();
        admission_lines(&mut out, &serde_json::from_value(admission).unwrap());
        out
    }

    #[test]
    fn flavors_amounts_and_topology_domains_are_named() {
        let hosts: Vec<String> = (0..12).map(|host| host.to_string()).collect();
        let assignment = json!({
            "name": "main", "count": 12, "flavors": {"cpu": "f", "gpu": "g"}, "resourceUsage": {"cpu": "24", "gpu": "12"},
            "topologyAssignment": {"levels": ["rack", "kubernetes.io/hostname"], "slices": [{
                "domainCount": 12,
                "valuesPerLevel": [{"universal": "r1"}, {"individual": {"prefix": "h", "roots": hosts}}],
                "podCounts": {"universal": 1},
            }]},
        });
        let text_of_all = text(assignment);
        let lines: Vec<&str> = text_of_all.lines().collect();
        assert_eq!(
            lines[0],
            "  pod set main: 12 pods, 24 cpu from f, 12 gpu from g"
        );
        assert_eq!(
            lines[1],
            "    topology domains, by rack, kubernetes.io/hostname"
        );
        assert_eq!(lines[2], "      r1, h0: 1 pod");
        assert_eq!(lines[12..], ["      and 2 more; -o json lists all"]);
        let without = text(json!({"name": "main", "count": 1}));
        assert_eq!(without, "  pod set main: 1 pod, no requests\n");
    }
}
