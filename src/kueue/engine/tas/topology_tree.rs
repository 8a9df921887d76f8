//! [`TopologyTree`]: the topology domains of one flavor's nodes.
//!
//! Names and structure only: no capacity, no usage.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::nodes_cache::NodeInfo;
use kueue_lab_api::v1beta2::HOSTNAME_LABEL;

/// A domain of a tree.
///
/// Domains are numbered by level from the highest, and within a level by their values from the
/// highest level down. So the children of a domain are consecutive, a parent has a smaller number
/// than its children, and domains of one level compare by name as by number.
pub(super) type Domain = u32;

/// A leaf: the index of a domain of the lowest level.
pub(super) type Leaf = usize;

const NO_PARENT: Domain = Domain::MAX;

#[derive(Clone, Debug)]
struct DomainEntry {
    value: Arc<str>,
    parent: Domain,
    children: Range<Domain>,
}

/// The topology domains with at least one node of a flavor.
#[derive(Clone, Debug, Default)]
pub(super) struct TopologyTree {
    levels: Vec<String>,
    lowest_is_node: bool,
    domains: Vec<DomainEntry>,
    /// The first domain of each level, and the end.
    starts: Vec<Domain>,
    leaf_by_id: HashMap<Box<str>, Leaf>,
    leaf_by_node: HashMap<Arc<str>, Leaf>,
    /// The node of each leaf if the lowest level is the hostname.
    nodes: Vec<Arc<NodeInfo>>,
}

/// The id of a domain: its values joined.
pub(super) fn domain_id(values: &[String]) -> std::borrow::Cow<'_, str> {
    match values {
        [one] => one.into(),
        many => many.join(",").into(),
    }
}

impl TopologyTree {
    /// The tree of some nodes, which must have a label for each level. With duplicate hostnames the
    /// first node represents the domain.
    pub(super) fn new<'n>(
        levels: &[String],
        nodes: impl Iterator<Item = &'n Arc<NodeInfo>>,
    ) -> Self {
        let mut tree = TopologyTree {
            levels: levels.to_vec(),
            lowest_is_node: levels.last().is_some_and(|l| l == HOSTNAME_LABEL),
            ..Default::default()
        };
        if levels.is_empty() {
            return tree;
        }
        let nodes: Vec<&Arc<NodeInfo>> = nodes.collect();
        let value = |node: &'n NodeInfo, level: &String| -> &'n str {
            node.labels.get(level).map_or("", String::as_str)
        };
        let mut seen: HashMap<Box<str>, usize> = HashMap::with_capacity(nodes.len());
        let mut leaves: Vec<(Vec<&str>, usize)> = Vec::with_capacity(nodes.len());
        let mut of_node = Vec::with_capacity(nodes.len());
        for node in &nodes {
            let values: Vec<&str> = levels.iter().map(|l| value(node, l)).collect();
            let id = if tree.lowest_is_node {
                values.last().copied().unwrap_or_default().to_owned()
            } else {
                values.join(",")
            };
            let next = leaves.len();
            let found = *seen.entry(id.into()).or_insert(next);
            if found == next {
                leaves.push((values, next));
            }
            of_node.push(found);
        }
        leaves.sort_unstable();
        let mut position = vec![0; leaves.len()];
        for (leaf, (_, number)) in leaves.iter().enumerate() {
            position[*number] = leaf;
        }
        tree.leaf_by_id = seen.into_iter().map(|(id, n)| (id, position[n])).collect();
        for (node, number) in nodes.iter().zip(&of_node) {
            tree.leaf_by_node
                .insert(node.name.clone(), position[*number]);
        }
        if tree.lowest_is_node {
            let mut behind: Vec<Option<&Arc<NodeInfo>>> = vec![None; leaves.len()];
            for (node, number) in nodes.iter().zip(&of_node) {
                behind[position[*number]].get_or_insert(node);
            }
            tree.nodes = behind.into_iter().flatten().cloned().collect();
        }
        tree.grow(&leaves);
        tree
    }

    /// Creates the domains from the sorted values of all leaves.
    fn grow(&mut self, leaves: &[(Vec<&str>, usize)]) {
        let depth = self.levels.len();
        let mut levels: Vec<Vec<DomainEntry>> = vec![Vec::new(); depth];
        let mut previous: Option<&[&str]> = None;
        for (values, _) in leaves {
            let shared = previous.map_or(0, |p| {
                let equal = p.iter().zip(values).take_while(|(a, b)| a == b);
                equal.count().min(depth - 1)
            });
            for level in shared..depth {
                let parent = match level {
                    0 => NO_PARENT,
                    _ => {
                        let parent = levels[level - 1].len() - 1;
                        levels[level - 1][parent].children.end += 1;
                        parent as Domain
                    }
                };
                let first = levels.get(level + 1).map_or(0, Vec::len) as Domain;
                levels[level].push(DomainEntry {
                    value: values[level].into(),
                    parent,
                    children: first..first,
                });
            }
            previous = Some(values);
        }
        self.starts = vec![0];
        for (level, entries) in levels.into_iter().enumerate() {
            let start = self.starts[level];
            let end = start + entries.len() as Domain;
            let above = if level == 0 {
                0
            } else {
                self.starts[level - 1]
            };
            self.domains.extend(entries.into_iter().map(|mut e| {
                if e.parent != NO_PARENT {
                    e.parent += above;
                }
                e.children = e.children.start + end..e.children.end + end;
                e
            }));
            self.starts.push(end);
        }
    }

    /// The levels, from the highest to the lowest.
    pub(super) fn levels(&self) -> &[String] {
        &self.levels
    }

    /// Whether the lowest level is the hostname.
    pub(super) fn lowest_is_node(&self) -> bool {
        self.lowest_is_node
    }

    /// The index of a level.
    pub(super) fn level_index(&self, level: &str) -> Option<usize> {
        self.levels.iter().position(|l| l == level)
    }

    /// The number of domains on all levels.
    pub(super) fn domain_count(&self) -> usize {
        self.domains.len()
    }

    /// The number of leaves.
    pub(super) fn leaf_count(&self) -> usize {
        self.at_level(self.levels.len().wrapping_sub(1)).len()
    }

    /// The domains of a level; none for a level that does not exist.
    pub(super) fn at_level(&self, level: usize) -> Range<Domain> {
        match (
            self.starts.get(level),
            self.starts.get(level.wrapping_add(1)),
        ) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }

    /// The children of a domain.
    pub(super) fn children(&self, domain: Domain) -> Range<Domain> {
        self.domains[domain as usize].children.clone()
    }

    /// The ancestor of a domain (or the domain itself) `steps` levels up.
    pub(super) fn ancestor(&self, domain: Domain, steps: usize) -> Domain {
        (0..steps).fold(domain, |d, _| match self.domains[d as usize].parent {
            NO_PARENT => d,
            parent => parent,
        })
    }

    /// The domain of a leaf.
    pub(super) fn leaf_domain(&self, leaf: Leaf) -> Domain {
        self.at_level(self.levels.len().wrapping_sub(1)).start + leaf as Domain
    }

    /// The leaves of a domain of a level (the domain itself on the lowest).
    pub(super) fn leaves_below(&self, domain: Domain) -> Range<Leaf> {
        let first = self.leaf_domain(0);
        let (mut start, mut end) = (domain, domain + 1);
        while start < first {
            // Every domain has children down to the lowest level.
            start = self.children(start).start;
            end = self.children(end - 1).end;
        }
        (start - first) as Leaf..(end - first) as Leaf
    }

    /// The leaf with these assignment values.
    pub(super) fn leaf(&self, values: &[String]) -> Option<Leaf> {
        self.leaf_of_id(&domain_id(values))
    }

    /// The leaf with this id.
    pub(super) fn leaf_of_id(&self, id: &str) -> Option<Leaf> {
        self.leaf_by_id.get(id).copied()
    }

    /// The leaf of a node.
    pub(super) fn leaf_of_node(&self, name: &str) -> Option<Leaf> {
        self.leaf_by_node.get(name).copied()
    }

    /// The node of each leaf; empty if the lowest level is not the hostname.
    pub(super) fn nodes(&self) -> &[Arc<NodeInfo>] {
        &self.nodes
    }

    /// Replaces the node of a leaf by a newer version.
    pub(super) fn replace_node(&mut self, leaf: Leaf, node: Arc<NodeInfo>) {
        if let Some(behind) = self.nodes.get_mut(leaf).filter(|n| n.name == node.name) {
            *behind = node;
        }
    }

    /// The values of a domain from the level `from` down to its own.
    pub(super) fn values(&self, domain: Domain, from: usize) -> Vec<String> {
        let mut values = Vec::with_capacity(self.levels.len());
        let mut at = domain;
        loop {
            let entry = &self.domains[at as usize];
            values.push((*entry.value).to_owned());
            match entry.parent {
                NO_PARENT => break,
                parent => at = parent,
            }
        }
        values.reverse();
        values.drain(..from.min(values.len()));
        values
    }

    /// The first level in assignments: only the hostname if that is the lowest level.
    pub(super) fn first_assigned_level(&self) -> usize {
        if self.lowest_is_node {
            self.levels.len() - 1
        } else {
            0
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::resources::Requests;

    /// A tree of nodes given by their values.
    pub(in crate::tas) fn tree(levels: &[&str], nodes: &[&[&str]]) -> TopologyTree {
        let levels: Vec<String> = levels.iter().map(|l| (*l).to_owned()).collect();
        let nodes: Vec<Arc<NodeInfo>> = nodes
            .iter()
            .enumerate()
            .map(|(i, values)| {
                let labels = levels
                    .iter()
                    .cloned()
                    .zip(values.iter().map(|v| (*v).to_owned()));
                Arc::new(NodeInfo {
                    name: format!("n{i}").into(),
                    labels: labels.collect(),
                    taints: Vec::new(),
                    allocatable: Requests::new(),
                })
            })
            .collect();
        TopologyTree::new(&levels, nodes.iter())
    }

    #[test]
    fn domains_are_numbered_in_order() {
        let t = tree(
            &["block", "rack"],
            &[&["b2", "r1"], &["b1", "r2"], &["b1", "r1"], &["b1", "r2"]],
        );
        assert_eq!(t.at_level(0), 0..2);
        assert_eq!(t.at_level(1), 2..5);
        assert_eq!(t.at_level(2), 0..0);
        assert_eq!(t.children(0), 2..4);
        assert_eq!(t.children(1), 4..5);
        assert!(t.children(4).is_empty());
        assert_eq!(t.values(3, 0), ["b1", "r2"]);
        assert_eq!(t.ancestor(3, 1), 0);
        assert_eq!(t.leaves_below(0), 0..2);
        assert_eq!(t.leaves_below(1), 2..3);
        assert_eq!(t.leaves_below(4), 2..3);
        assert_eq!(t.leaf(&["b1".into(), "r2".into()]), Some(1));
        assert_eq!(t.leaf_of_node("n3"), Some(1));
        assert!(t.nodes().is_empty());
    }

    #[test]
    fn host_domains_are_identified_by_hostname_only() {
        let t = tree(
            &["rack", HOSTNAME_LABEL],
            &[&["r2", "a"], &["r1", "b"], &["r3", "a"]],
        );
        assert!(t.lowest_is_node());
        assert_eq!(t.leaf_count(), 2);
        // The second node named `a` is in the domain of the first one.
        assert_eq!(t.leaf_of_node("n2"), t.leaf_of_node("n0"));
        let a = t.leaf(&["a".into()]).unwrap();
        assert_eq!(t.values(t.leaf_domain(a), 0), ["r2", "a"]);
        assert_eq!(t.values(t.leaf_domain(a), t.first_assigned_level()), ["a"]);
        assert_eq!(&*t.nodes()[a].name, "n0");
    }

    #[test]
    fn a_tree_without_nodes_is_empty() {
        let none = TopologyTree::new(&[], [].iter());
        assert_eq!((none.leaf_count(), none.domain_count()), (0, 0));
        let empty = tree(&["rack"], &[]);
        assert_eq!((empty.leaf_count(), empty.domain_count()), (0, 0));
        assert_eq!(empty.level_index("rack"), Some(0));
    }
}
