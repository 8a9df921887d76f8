//! The scheduling queue: pending pods by priority and arrival. Pods that fit the same nodes are one
//! equivalence class: if its head is unschedulable, so are the others until something changes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kueue_lab_controller_runtime::ObjectKey;

/// The position of a pod in the queue.
type QueueKey = (Reverse<i32>, u64);

/// The queue.
#[derive(Default)]
pub(super) struct SchedulingQueue {
    classes: HashMap<Arc<str>, EquivalenceClass>,
    /// The head of every active class.
    heads: BTreeMap<QueueKey, Arc<str>>,
    positions: HashMap<ObjectKey, Position>,
    /// The number of the last [`put`](Self::put).
    last_put: u64,
}

/// Where a pod is in the queue.
#[derive(Clone)]
struct Position {
    class: Arc<str>,
    rank: QueueKey,
    /// The number of the [`put`](SchedulingQueue::put) that put it there.
    put: u64,
}

#[derive(Default)]
struct EquivalenceClass {
    pods: BTreeMap<QueueKey, ObjectKey>,
    /// Whether it is unschedulable.
    unschedulable: bool,
    /// Whether assigned pods may make it schedulable.
    depends_on_other_pods: bool,
    /// Unschedulable pods that were not reported yet, in the order they were put.
    unreported: BTreeMap<u64, ObjectKey>,
}

impl SchedulingQueue {
    /// Adds a pod, or moves it to another class at the same position.
    pub(super) fn put(&mut self, key: &ObjectKey, priority: i32, class: &str, minds_pods: bool) {
        let known = self.positions.get(key);
        if known.is_some_and(|p| &*p.class == class && p.rank.0.0 == priority) {
            return;
        }
        let put = self.last_put + 1;
        let arrival = known.map_or(put, |position| position.rank.1);
        let rank = (Reverse(priority), arrival);
        self.last_put = put;
        self.remove(key);
        let name: Arc<str> = Arc::from(class);
        let class = self.classes.entry(name.clone()).or_default();
        class.depends_on_other_pods = minds_pods;
        class.pods.insert(rank, key.clone());
        class.unreported.insert(put, key.clone());
        let position = Position {
            class: name.clone(),
            rank,
            put,
        };
        self.positions.insert(key.clone(), position);
        self.refresh(&name);
    }

    /// Removes a pod.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> bool {
        let Some(position) = self.positions.remove(key) else {
            return false;
        };
        let Position {
            class: name,
            rank,
            put,
        } = position;
        self.heads.remove(&rank);
        if let Some(class) = self.classes.get_mut(&name) {
            class.pods.remove(&rank);
            class.unreported.remove(&put);
            if class.pods.is_empty() {
                self.classes.remove(&name);
            } else {
                self.refresh(&name);
            }
        }
        true
    }

    /// The next pod to schedule; it stays in the queue.
    pub(super) fn first(&self) -> Option<ObjectKey> {
        let (rank, class) = self.heads.first_key_value()?;
        self.classes.get(class)?.pods.get(rank).cloned()
    }

    /// Marks the class of a pod as unschedulable. Returns the pods to report.
    pub(super) fn mark_unschedulable(&mut self, key: &ObjectKey) -> Vec<ObjectKey> {
        let Some(position) = self.positions.get(key) else {
            return Vec::new();
        };
        self.heads.remove(&position.rank);
        let Some(class) = self.classes.get_mut(&position.class) else {
            return Vec::new();
        };
        class.unschedulable = true;
        let unreported = std::mem::take(&mut class.unreported);
        let was_reported = !unreported.contains_key(&position.put);
        let mut unreported: Vec<ObjectKey> = unreported.into_values().collect();
        if was_reported {
            unreported.push(key.clone());
        }
        // A class may have got a new head since; an unschedulable one has none.
        if let Some((first, _)) = class.pods.first_key_value() {
            self.heads.remove(first);
        }
        unreported
    }

    /// Takes a new pod of an unschedulable class, which has to be reported.
    pub(super) fn take_unreported(&mut self, key: &ObjectKey) -> bool {
        let Some(position) = self.positions.get(key) else {
            return false;
        };
        let Some(class) = self.classes.get_mut(&position.class) else {
            return false;
        };
        class.unschedulable && class.unreported.remove(&position.put).is_some()
    }

    /// Moves the class of a pod to active.
    pub(super) fn activate(&mut self, key: &ObjectKey) {
        let Some(position) = self.positions.get(key) else {
            return;
        };
        let name = position.class.clone();
        if let Some(class) = self.classes.get_mut(&name) {
            class.unschedulable = false;
            self.refresh(&name);
        }
    }

    /// Capacity was freed: moves all classes to active.
    pub(super) fn move_all_to_active(&mut self) {
        self.move_to_active(|_| true);
    }

    /// A pod was assigned: moves classes that depend on other pods to active.
    pub(super) fn move_pod_dependent_to_active(&mut self) {
        self.move_to_active(|class| class.depends_on_other_pods);
    }

    fn move_to_active(&mut self, which: impl Fn(&EquivalenceClass) -> bool) {
        let blocked =
            |(_, class): &(&Arc<str>, &mut EquivalenceClass)| class.unschedulable && which(class);
        for (name, class) in self.classes.iter_mut().filter(|c| blocked(c)) {
            class.unschedulable = false;
            if let Some((rank, _)) = class.pods.first_key_value() {
                self.heads.insert(*rank, name.clone());
            }
        }
    }

    /// Updates the head of a class.
    fn refresh(&mut self, name: &Arc<str>) {
        let Some(class) = self.classes.get(name) else {
            return;
        };
        let mut ranks = class.pods.keys();
        let (first, second) = (ranks.next(), ranks.next());
        // A new pod may be the head.
        if let Some(second) = second {
            self.heads.remove(second);
        }
        if let Some(first) = first
            && !class.unschedulable
        {
            self.heads.insert(*first, name.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("ns", name)
    }

    #[test]
    fn priority_first_then_arrival() {
        let mut queue = SchedulingQueue::default();
        queue.put(&key("a"), 0, "x", false);
        queue.put(&key("b"), 5, "y", false);
        queue.put(&key("c"), 0, "x", false);
        let mut order = Vec::new();
        while let Some(next) = queue.first() {
            queue.remove(&next);
            order.push(next.name);
        }
        assert_eq!(order, ["b", "a", "c"]);
    }

    #[test]
    fn an_equivalence_class_is_unschedulable_as_a_whole_and_reported_once() {
        let mut queue = SchedulingQueue::default();
        for name in ["a", "b"] {
            queue.put(&key(name), 0, "x", false);
        }
        queue.put(&key("c"), 0, "y", false);
        assert_eq!(queue.mark_unschedulable(&key("a")), [key("a"), key("b")]);
        assert_eq!(queue.first(), Some(key("c")));
        queue.put(&key("d"), 0, "x", false);
        assert!(
            queue.take_unreported(&key("d")),
            "d came to a blocked class"
        );
        assert!(!queue.take_unreported(&key("d")));
        queue.remove(&key("c"));
        assert_eq!(queue.first(), None);
        queue.move_pod_dependent_to_active();
        assert_eq!(queue.first(), None);
        queue.move_all_to_active();
        assert_eq!(queue.first(), Some(key("a")));
        assert_eq!(queue.mark_unschedulable(&key("a")), [key("a")]);
        queue.remove(&key("a"));
        assert_eq!(queue.first(), None, "b stays blocked");
    }
}
