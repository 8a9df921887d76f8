//! Pods that wait for a node, in the order of priority and arrival, and which of them it makes sense
//! to try. Pods that fit the same nodes are one class: when the first of a class finds no node, the
//! others would not either, until something changes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kueue_lab_runtime::ObjectKey;

/// The place of a pod in the line.
type Rank = (Reverse<i32>, u64);

/// Waiting pods.
#[derive(Default)]
pub(super) struct Queue {
    classes: HashMap<Arc<str>, Class>,
    /// The first pod of every class that may be tried.
    heads: BTreeMap<Rank, Arc<str>>,
    places: HashMap<ObjectKey, (Arc<str>, Rank)>,
    arrivals: u64,
}

#[derive(Default)]
struct Class {
    pods: BTreeMap<Rank, ObjectKey>,
    /// No node was found since anything became freer.
    blocked: bool,
    /// Pods placed elsewhere may help.
    minds_pods: bool,
    /// Pods nobody has told yet that there is no node for them.
    untold: Vec<ObjectKey>,
}

impl Queue {
    /// Puts a pod in the line, or in another class at the same place.
    pub(super) fn put(&mut self, key: &ObjectKey, priority: i32, class: &str, minds_pods: bool) {
        let rank = match self.places.get(key) {
            Some((known, rank)) if &**known == class && rank.0.0 == priority => return,
            Some((_, rank)) => (Reverse(priority), rank.1),
            None => {
                self.arrivals += 1;
                (Reverse(priority), self.arrivals)
            }
        };
        self.remove(key);
        let name: Arc<str> = Arc::from(class);
        let class = self.classes.entry(name.clone()).or_default();
        class.minds_pods = minds_pods;
        class.pods.insert(rank, key.clone());
        class.untold.push(key.clone());
        self.places.insert(key.clone(), (name.clone(), rank));
        self.refresh(&name);
    }

    /// Takes a pod out of the line.
    pub(super) fn remove(&mut self, key: &ObjectKey) -> bool {
        let Some((name, rank)) = self.places.remove(key) else {
            return false;
        };
        self.heads.remove(&rank);
        if let Some(class) = self.classes.get_mut(&name) {
            class.pods.remove(&rank);
            class.untold.retain(|k| k != key);
            if class.pods.is_empty() {
                self.classes.remove(&name);
            } else {
                self.refresh(&name);
            }
        }
        true
    }

    /// The pod to try next; it stays in the line.
    pub(super) fn first(&self) -> Option<ObjectKey> {
        let (rank, class) = self.heads.first_key_value()?;
        self.classes.get(class)?.pods.get(rank).cloned()
    }

    /// Notes that there is no node for this pod, hence for none of its class. Returns the pods that
    /// are to be told.
    pub(super) fn block(&mut self, key: &ObjectKey) -> Vec<ObjectKey> {
        let Some((name, rank)) = self.places.get(key).cloned() else {
            return Vec::new();
        };
        self.heads.remove(&rank);
        let Some(class) = self.classes.get_mut(&name) else {
            return Vec::new();
        };
        class.blocked = true;
        let mut told = std::mem::take(&mut class.untold);
        if !told.contains(key) {
            told.push(key.clone());
        }
        // A class may have got a new head since; a blocked one has none.
        if let Some((first, _)) = class.pods.first_key_value() {
            self.heads.remove(first);
        }
        told
    }

    /// Pods arrived whose class is blocked: they are to be told as well.
    pub(super) fn take_untold(&mut self, key: &ObjectKey) -> bool {
        let Some((name, _)) = self.places.get(key) else {
            return false;
        };
        let Some(class) = self.classes.get_mut(name) else {
            return false;
        };
        if !class.blocked {
            return false;
        }
        let before = class.untold.len();
        class.untold.retain(|k| k != key);
        before != class.untold.len()
    }

    /// Something became freer: every class may be tried again.
    pub(super) fn unblock_all(&mut self) {
        self.unblock(|_| true);
    }

    /// A pod was placed: classes that mind pods may be tried again.
    pub(super) fn unblock_minding(&mut self) {
        self.unblock(|class| class.minds_pods);
    }

    fn unblock(&mut self, which: impl Fn(&Class) -> bool) {
        let blocked = |(_, class): &(&Arc<str>, &mut Class)| class.blocked && which(class);
        for (name, class) in self.classes.iter_mut().filter(|c| blocked(c)) {
            class.blocked = false;
            if let Some((rank, _)) = class.pods.first_key_value() {
                self.heads.insert(*rank, name.clone());
            }
        }
    }

    /// Makes the first pod of a class the one to try.
    fn refresh(&mut self, name: &Arc<str>) {
        let Some(class) = self.classes.get(name) else {
            return;
        };
        let mut ranks = class.pods.keys();
        let (first, second) = (ranks.next(), ranks.next());
        // A newcomer may have taken the place of the head.
        if let Some(second) = second {
            self.heads.remove(second);
        }
        if let Some(first) = first
            && !class.blocked
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
        let mut queue = Queue::default();
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
    fn a_class_is_blocked_as_a_whole_and_told_once() {
        let mut queue = Queue::default();
        for name in ["a", "b"] {
            queue.put(&key(name), 0, "x", false);
        }
        queue.put(&key("c"), 0, "y", false);
        assert_eq!(queue.block(&key("a")), [key("a"), key("b")]);
        assert_eq!(queue.first(), Some(key("c")));
        queue.put(&key("d"), 0, "x", false);
        assert!(queue.take_untold(&key("d")), "d came to a blocked class");
        assert!(!queue.take_untold(&key("d")));
        queue.remove(&key("c"));
        assert_eq!(queue.first(), None);
        queue.unblock_minding();
        assert_eq!(queue.first(), None);
        queue.unblock_all();
        assert_eq!(queue.first(), Some(key("a")));
        assert_eq!(queue.block(&key("a")), [key("a")]);
        queue.remove(&key("a"));
        assert_eq!(queue.first(), None, "b stays blocked");
    }
}
