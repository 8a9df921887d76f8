//! Checks that the nodes of a preset can run the Pods of its samples.

use std::collections::BTreeMap;

use kueue_lab_nodes::{NodePool, NodePools};
use kueue_lab_presets::{Finding, Sample, SourceFile};
use kueue_lab_quantity::Quantity;
use kueue_lab_yaml::{Limits, Node, Position, documents};

/// An error for each Pod of a sample that requests more of a resource than any node of `pools` has.
pub(crate) fn check_samples(
    file: &SourceFile,
    pools: &NodePools,
    samples: &[Sample],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for sample in samples.iter().filter(|sample| !sample.is_task) {
        let documents = documents(&sample.text, Limits::default()).unwrap_or_default();
        for document in &documents {
            visit_pods(document, &mut |containers| {
                let requests = requests(containers);
                let finding = shortfall(pools, &requests);
                findings.extend(finding.map(|text| {
                    let at = containers.at;
                    let message = format!("no node can run a Pod of {}:{at}: {text}", sample.file);
                    let remedy =
                        "raise the resources of a pool, or lower the requests of the sample";
                    Finding::error(&file.name, pools_position(file), message).remedy(remedy)
                }));
            });
        }
    }
    findings
}

/// The position of the pools in the file.
fn pools_position(file: &SourceFile) -> Position {
    let text = String::from_utf8_lossy(&file.bytes);
    let documents = documents(&text, Limits::default()).unwrap_or_default();
    documents
        .first()
        .map_or(Position::START, |root| root.locate("pools"))
}

/// Calls `visit` with each list of containers below a node.
fn visit_pods(node: &Node, visit: &mut impl FnMut(&Node)) {
    for entry in node.entries() {
        match entry.key.as_str() {
            "containers" => visit(&entry.value),
            _ => visit_pods(&entry.value, visit),
        }
    }
    node.items().iter().for_each(|item| visit_pods(item, visit));
}

/// The sum of the requests of containers; limits count where there is no request.
fn requests(containers: &Node) -> BTreeMap<String, Quantity> {
    let mut sum: BTreeMap<String, Quantity> = BTreeMap::new();
    for container in containers.items() {
        let resources = container.get("resources");
        let mut of_container = BTreeMap::new();
        for kind in ["limits", "requests"] {
            let entries = resources
                .and_then(|r| r.get(kind))
                .map_or(&[][..], Node::entries);
            for entry in entries {
                let text = match entry.value.as_str() {
                    Some(text) => text.to_owned(),
                    None => entry.value.to_json().to_string(),
                };
                if let Ok(quantity) = Quantity::parse(&text) {
                    of_container.insert(entry.key.clone(), quantity);
                }
            }
        }
        for (name, quantity) in of_container {
            let total = sum.remove(&name).unwrap_or_default();
            sum.insert(name, total + quantity);
        }
    }
    sum
}

/// The reason that no node has the requested resources; `None` if one has.
fn shortfall(pools: &NodePools, requests: &BTreeMap<String, Quantity>) -> Option<String> {
    let capacity =
        |pool: &NodePool, name: &String| pool.resources.get(name).cloned().unwrap_or_default();
    let nodes: Vec<&NodePool> = pools.pools.iter().filter(|pool| size(pool) > 0).collect();
    let fits = |pool: &&NodePool| requests.iter().all(|(name, q)| capacity(pool, name) >= *q);
    if nodes.iter().any(fits) {
        return None;
    }
    let lacking = requests.iter().filter_map(|(name, quantity)| {
        let most = nodes
            .iter()
            .map(|pool| capacity(pool, name))
            .max()
            .unwrap_or_default();
        (most < *quantity)
            .then(|| format!("it requests {quantity} {name}, and no node has more than {most}"))
    });
    let lacking: Vec<_> = lacking.collect();
    Some(match lacking.is_empty() {
        true => "no node has all of its requests at once".to_owned(),
        false => lacking.join("; "),
    })
}

/// The maximum number of nodes of a pool.
fn size(pool: &NodePool) -> u32 {
    pool.autoscale
        .map_or(pool.count, |scale| scale.max.max(pool.count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(nodes: &str, sample: &str) -> Vec<String> {
        let file = SourceFile {
            name: "p/nodes.yaml".into(),
            bytes: nodes.into(),
        };
        let sample = Sample {
            name: "s".into(),
            description: String::new(),
            file: "p/samples/s.yaml".into(),
            is_task: false,
            text: sample.into(),
        };
        let pools = NodePools::parse(nodes).unwrap();
        let findings = check_samples(&file, &pools, &[sample]);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_pod_larger_than_every_node_is_reported() {
        let sample = "kind: Job\nspec:\n  template:\n    spec:\n      containers:\n      - resources: {requests: {cpu: 2, nvidia.com/gpu: 8}}\n      - resources: {limits: {nvidia.com/gpu: 8}}\n";
        let nodes = |gpus: u32| {
            format!(
                "# Nodes.\npools:\n- name: a\n  count: 1\n  resources: {{cpu: 4, memory: 8Gi, nvidia.com/gpu: {gpus}}}\n"
            )
        };
        assert_eq!(check(&nodes(16), sample), Vec::<String>::new());
        assert_eq!(
            check(&nodes(8), sample),
            [
                "p/nodes.yaml:2:1: no node can run a Pod of p/samples/s.yaml:6:9: it requests 16 nvidia.com/gpu, and no node has more than 8; raise the resources of a pool, or lower the requests of the sample"
            ]
        );
    }
}
