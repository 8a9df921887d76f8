//! [`EquivalenceClassTree`]: equivalence classes by queue order, with the numbers that decide
//! whether a retry can succeed.
//!
//! Operations on all classes or on the first ones are O(log n), so that a retry of many classes
//! costs as much as the classes it evaluates. Must not depend on what the numbers mean.

use std::cmp::Ordering;
use std::sync::Arc;

use crate::hash_map::FastHashMap;
use crate::workload::{EquivalenceHash, Info, QueueOrderKey};

/// The position of a class in the queue order: that of its first workload.
#[derive(Clone, Debug)]
pub(super) struct ClassPosition(pub Arc<Info>);

impl ClassPosition {
    /// The order of workloads without preemptor and usage of LocalQueues.
    pub(super) fn order(&self, other: &ClassPosition) -> Ordering {
        let (a, b) = (&self.0, &other.0);
        let by_priority = b.priority.cmp(&a.priority);
        by_priority
            .then_with(|| a.queue_timestamp.cmp(&b.queue_timestamp))
            .then_with(|| a.uid().cmp(b.uid()))
    }
}

/// The index of a node; [`NONE`] is no node.
type Index = u32;

const NONE: Index = Index::MAX;

/// A class, and the summary of its subtree.
#[derive(Clone, Debug)]
struct Node {
    hash: EquivalenceHash,
    position: ClassPosition,
    /// Its random rank, higher than those below it.
    rank: u64,
    left: Index,
    right: Index,
    /// Whether the class is requeued.
    requeued: bool,
    /// The state of all classes below the node that is not passed to its children yet.
    below: Option<bool>,
    /// The number of classes of the subtree.
    size: usize,
    /// The number of requeued classes of the subtree.
    count: usize,
    /// The order key of the first class of the subtree.
    first: QueueOrderKey,
}

/// Classes by queue order, each either requeued or not. A treap.
#[derive(Clone, Debug)]
pub(super) struct EquivalenceClassTree {
    nodes: Vec<Node>,
    /// The numbers of each node, `width` each.
    numbers: Vec<i64>,
    /// The least numbers of the subtree of each node.
    least: Vec<i64>,
    width: usize,
    free: Vec<Index>,
    root: Index,
    by_hash: FastHashMap<EquivalenceHash, Index>,
    random: u64,
}

/// Updates.
impl EquivalenceClassTree {
    /// An empty tree of classes with `width` numbers each.
    pub(super) fn new(width: usize) -> Self {
        EquivalenceClassTree {
            nodes: Vec::new(),
            numbers: Vec::new(),
            least: Vec::new(),
            width,
            free: Vec::new(),
            root: NONE,
            by_hash: FastHashMap::default(),
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// Adds a class that is not in the tree.
    pub(super) fn insert(
        &mut self,
        hash: EquivalenceHash,
        position: ClassPosition,
        numbers: &[i64],
        requeued: bool,
    ) {
        // xorshift64: the shape of the tree is the same in every run.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let node = Node {
            hash,
            rank: self.random,
            left: NONE,
            right: NONE,
            requeued,
            below: None,
            size: 1,
            count: usize::from(requeued),
            first: position.0.queue_order_key(),
            position,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.nodes[at as usize] = node;
                at
            }
            None => {
                self.nodes.push(node);
                let length = self.nodes.len() * self.width;
                self.numbers.resize(length, 0);
                self.least.resize(length, 0);
                self.nodes.len() as Index - 1
            }
        };
        let range = self.range(at);
        self.numbers[range.clone()].copy_from_slice(numbers);
        self.least[range].copy_from_slice(numbers);
        self.by_hash.insert(hash, at);
        let (before, after) = self.split(self.root, at);
        let joined = self.join(before, at);
        self.root = self.join(joined, after);
    }

    /// Removes a class; returns whether it was requeued.
    pub(super) fn remove(&mut self, hash: EquivalenceHash) -> Option<bool> {
        let at = self.by_hash.remove(&hash)?;
        self.root = self.remove_below(self.root, at);
        self.free.push(at);
        Some(self.nodes[at as usize].requeued)
    }

    /// Requeues all classes.
    pub(super) fn requeue_all(&mut self) {
        self.set_all(self.root, true);
    }

    /// Unmarks the first requeued classes.
    pub(super) fn unmark(&mut self, classes: usize) {
        self.unmark_below(self.root, classes);
    }
}

/// Queries.
impl EquivalenceClassTree {
    /// The number of requeued classes.
    pub(super) fn requeued(&self) -> usize {
        self.count(self.root)
    }

    /// The order key of the first class, requeued or not.
    pub(super) fn first_key(&self) -> Option<QueueOrderKey> {
        let root = self.nodes.get(self.root as usize)?;
        Some(root.first)
    }

    /// The first requeued class.
    pub(super) fn first(&mut self) -> Option<(EquivalenceHash, &ClassPosition)> {
        let mut at = self.root;
        while self.count(at) > 0 {
            self.push_down(at);
            let node = &self.nodes[at as usize];
            if self.count(node.left) > 0 {
                at = node.left;
            } else if node.requeued {
                let node = &self.nodes[at as usize];
                return Some((node.hash, &node.position));
            } else {
                at = node.right;
            }
        }
        None
    }

    /// The number of requeued classes before a position.
    pub(super) fn requeued_before(&mut self, position: &ClassPosition) -> usize {
        let (mut at, mut before) = (self.root, 0);
        while self.count(at) > 0 {
            self.push_down(at);
            let node = &self.nodes[at as usize];
            if node.position.order(position) == Ordering::Less {
                before += self.count(node.left) + usize::from(node.requeued);
                at = node.right;
            } else {
                at = node.left;
            }
        }
        before
    }

    /// The number of requeued classes before the first one that passes a test of its order key and
    /// its numbers; none if no class passes. With a later key or higher numbers the test must not
    /// pass more.
    pub(super) fn requeued_before_passing(
        &mut self,
        passes: &impl Fn(QueueOrderKey, &[i64]) -> bool,
    ) -> Option<usize> {
        self.first_passing(self.root, passes)
    }

    fn first_passing(
        &mut self,
        at: Index,
        passes: &impl Fn(QueueOrderKey, &[i64]) -> bool,
    ) -> Option<usize> {
        if self.count(at) == 0 {
            return None;
        }
        let range = self.range(at);
        if !passes(self.nodes[at as usize].first, &self.least[range.clone()]) {
            return None;
        }
        self.push_down(at);
        let node = &self.nodes[at as usize];
        let (left, right, requeued) = (node.left, node.right, node.requeued);
        if let Some(before) = self.first_passing(left, passes) {
            return Some(before);
        }
        let on_left = self.count(left);
        let key = self.nodes[at as usize].position.0.queue_order_key();
        if requeued && passes(key, &self.numbers[range]) {
            return Some(on_left);
        }
        let before = self.first_passing(right, passes)?;
        Some(on_left + usize::from(requeued) + before)
    }
}

/// The nodes.
impl EquivalenceClassTree {
    fn range(&self, at: Index) -> std::ops::Range<usize> {
        let start = at as usize * self.width;
        start..start + self.width
    }

    fn size(&self, at: Index) -> usize {
        self.nodes.get(at as usize).map_or(0, |node| node.size)
    }

    fn count(&self, at: Index) -> usize {
        self.nodes.get(at as usize).map_or(0, |node| node.count)
    }

    /// Whether one class is before another.
    fn before(&self, a: Index, b: Index) -> bool {
        let (a, b) = (&self.nodes[a as usize], &self.nodes[b as usize]);
        let by_position = a.position.order(&b.position);
        by_position.then_with(|| a.hash.cmp(&b.hash)) == Ordering::Less
    }

    fn set_all(&mut self, at: Index, requeued: bool) {
        if let Some(node) = self.nodes.get_mut(at as usize) {
            node.requeued = requeued;
            node.below = Some(requeued);
            node.count = if requeued { node.size } else { 0 };
        }
    }

    /// Passes the state of all classes below a node to its children.
    fn push_down(&mut self, at: Index) {
        let node = &mut self.nodes[at as usize];
        let (left, right) = (node.left, node.right);
        if let Some(requeued) = node.below.take() {
            self.set_all(left, requeued);
            self.set_all(right, requeued);
        }
    }

    /// Computes the summary of a subtree from the node and its children.
    fn pull_up(&mut self, at: Index) {
        let node = &self.nodes[at as usize];
        let children = [node.left, node.right];
        let left = self.nodes.get(node.left as usize);
        let first = left.map_or_else(|| node.position.0.queue_order_key(), |left| left.first);
        let (mut size, mut count) = (1, usize::from(node.requeued));
        let range = self.range(at);
        self.least[range.clone()].copy_from_slice(&self.numbers[range.clone()]);
        for child in children.into_iter().filter(|&child| child != NONE) {
            size += self.size(child);
            count += self.count(child);
            for (mine, below) in range.clone().zip(self.range(child)) {
                self.least[mine] = self.least[mine].min(self.least[below]);
            }
        }
        let node = &mut self.nodes[at as usize];
        (node.size, node.count, node.first) = (size, count, first);
    }

    /// Splits a subtree into the classes before one that is not in it, and the others.
    fn split(&mut self, root: Index, at: Index) -> (Index, Index) {
        if root == NONE {
            return (NONE, NONE);
        }
        self.push_down(root);
        if self.before(root, at) {
            let (before, after) = self.split(self.nodes[root as usize].right, at);
            self.nodes[root as usize].right = before;
            self.pull_up(root);
            (root, after)
        } else {
            let (before, after) = self.split(self.nodes[root as usize].left, at);
            self.nodes[root as usize].left = after;
            self.pull_up(root);
            (before, root)
        }
    }

    /// Joins two subtrees; all classes of the first are before those of the second.
    fn join(&mut self, before: Index, after: Index) -> Index {
        if before == NONE || after == NONE {
            return before.min(after);
        }
        if self.nodes[before as usize].rank > self.nodes[after as usize].rank {
            self.push_down(before);
            let joined = self.join(self.nodes[before as usize].right, after);
            self.nodes[before as usize].right = joined;
            self.pull_up(before);
            before
        } else {
            self.push_down(after);
            let joined = self.join(before, self.nodes[after as usize].left);
            self.nodes[after as usize].left = joined;
            self.pull_up(after);
            after
        }
    }

    /// Removes a node from a subtree; returns the new root.
    fn remove_below(&mut self, root: Index, at: Index) -> Index {
        self.push_down(root);
        let (left, right) = (
            self.nodes[root as usize].left,
            self.nodes[root as usize].right,
        );
        if root == at {
            return self.join(left, right);
        }
        if self.before(at, root) {
            let left = self.remove_below(left, at);
            self.nodes[root as usize].left = left;
        } else {
            let right = self.remove_below(right, at);
            self.nodes[root as usize].right = right;
        }
        self.pull_up(root);
        root
    }

    fn unmark_below(&mut self, at: Index, classes: usize) {
        if classes == 0 || self.count(at) == 0 {
            return;
        }
        if classes >= self.count(at) {
            return self.set_all(at, false);
        }
        self.push_down(at);
        let node = &self.nodes[at as usize];
        let (left, right) = (node.left, node.right);
        let on_left = self.count(left);
        self.unmark_below(left, classes);
        let mut rest = classes.saturating_sub(on_left);
        if rest > 0 && self.nodes[at as usize].requeued {
            self.nodes[at as usize].requeued = false;
            rest -= 1;
        }
        self.unmark_below(right, rest);
        self.pull_up(at);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::config::EngineConfig;

    fn class_position(name: u64, priority: i32, second: i64) -> ClassPosition {
        let created = jiff::Timestamp::from_second(second).unwrap().to_string();
        let wl = json!({
            "metadata": {"name": "w", "namespace": "ns", "uid": format!("{name:02}"), "creationTimestamp": created},
            "spec": {"queueName": "q", "priority": priority, "podSets": []},
        });
        let wl = serde_json::from_value(wl).unwrap();
        ClassPosition(Arc::new(Info::new(Arc::new(wl), &EngineConfig::default())))
    }

    /// A class of the model.
    #[derive(Clone)]
    struct Class {
        hash: EquivalenceHash,
        position: ClassPosition,
        numbers: [i64; 2],
        requeued: bool,
    }

    proptest! {
        #[test]
        fn the_tree_is_a_sorted_list(steps in proptest::collection::vec((0u8..6, 0u64..20, 0i32..3, 0i64..5, [0i64..9, 0i64..9]), 0..80)) {
            let mut tree = EquivalenceClassTree::new(2);
            let mut list: Vec<Class> = Vec::new();
            for (step, name, priority, second, numbers) in steps {
                let hash = EquivalenceHash::Known(name);
                let known = list.iter().position(|class| class.hash == hash);
                let requeued = list.iter().filter(|class| class.requeued).count();
                match (step, known) {
                    (0 | 1, None) => {
                        let requeued = numbers[0] % 2 == 0;
                        let position = class_position(name, priority, second);
                        tree.insert(hash, position.clone(), &numbers, requeued);
                        list.push(Class { hash, position, numbers, requeued });
                        list.sort_by(|a, b| a.position.order(&b.position));
                    }
                    (2, Some(at)) => prop_assert_eq!(tree.remove(hash), Some(list.remove(at).requeued)),
                    (3, _) => {
                        tree.requeue_all();
                        list.iter_mut().for_each(|class| class.requeued = true);
                    }
                    (4, _) => {
                        let classes = name as usize % (requeued + 1);
                        tree.unmark(classes);
                        let first = list.iter_mut().filter(|class| class.requeued).take(classes);
                        first.for_each(|class| class.requeued = false);
                    }
                    _ => {}
                }
                let requeued: Vec<&Class> = list.iter().filter(|class| class.requeued).collect();
                prop_assert_eq!(tree.requeued(), requeued.len());
                prop_assert_eq!(tree.first_key(), list.first().map(|class| class.position.0.queue_order_key()));
                prop_assert_eq!(tree.first().map(|(hash, _)| hash), requeued.first().map(|class| class.hash));
                let at = class_position(name, priority, second);
                let before = requeued.iter().filter(|class| class.position.order(&at).is_lt()).count();
                prop_assert_eq!(tree.requeued_before(&at), before);
                let passes = |first: QueueOrderKey, least: &[i64]| {
                    first.priority >= i64::from(priority) && least.iter().zip(numbers).all(|(n, limit)| *n <= limit)
                };
                let first = requeued.iter().position(|class| passes(class.position.0.queue_order_key(), &class.numbers));
                prop_assert_eq!(tree.requeued_before_passing(&passes), first);
            }
        }
    }
}
