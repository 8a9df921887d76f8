//! [`Heap`]: pending workloads by precedence, found by key, each change in O(log n).
//!
//! The order may change behind the heap's back (a LocalQueue's usage grows); [`Heap::rebuild`]
//! makes it whole again. Must not know what the order is.

use std::collections::HashMap;
use std::sync::Arc;

use crate::admission::workload::{Info, WorkloadKey};

/// Pending workloads by precedence.
#[derive(Clone, Debug, Default)]
pub struct Heap {
    items: Vec<Arc<Info>>,
    positions: HashMap<WorkloadKey, usize>,
}

impl Heap {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// One of them by key.
    pub fn get(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.positions.get(key).map(|&i| &self.items[i])
    }

    /// All of them, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Info>> {
        self.items.iter()
    }

    /// Adds one, or puts it in the place of its earlier version.
    pub fn push_or_update(&mut self, info: Arc<Info>, before: impl Fn(&Info, &Info) -> bool) {
        match self.positions.get(&info.key) {
            Some(&i) => {
                self.items[i] = info;
                if !self.down(i, &before) {
                    self.up(i, &before);
                }
            }
            None => {
                self.positions.insert(info.key.clone(), self.items.len());
                self.items.push(info);
                self.up(self.items.len() - 1, &before);
            }
        }
    }

    /// Adds one unless it is there; true when it was added.
    pub fn push_if_not_present(
        &mut self,
        info: Arc<Info>,
        before: impl Fn(&Info, &Info) -> bool,
    ) -> bool {
        if self.positions.contains_key(&info.key) {
            return false;
        }
        self.push_or_update(info, before);
        true
    }

    /// Takes the first.
    pub fn pop(&mut self, before: impl Fn(&Info, &Info) -> bool) -> Option<Arc<Info>> {
        if self.items.is_empty() {
            return None;
        }
        Some(self.remove_at(0, &before))
    }

    /// Takes one out by key.
    pub fn remove(
        &mut self,
        key: &WorkloadKey,
        before: impl Fn(&Info, &Info) -> bool,
    ) -> Option<Arc<Info>> {
        let i = *self.positions.get(key)?;
        Some(self.remove_at(i, &before))
    }

    fn remove_at(&mut self, i: usize, before: &impl Fn(&Info, &Info) -> bool) -> Arc<Info> {
        let last = self.items.len() - 1;
        self.swap(i, last);
        let removed = self.items.swap_remove(last);
        self.positions.remove(&removed.key);
        if i < last && !self.down(i, before) {
            self.up(i, before);
        }
        removed
    }

    /// Restores the order after it changed for many.
    pub fn rebuild(&mut self, before: impl Fn(&Info, &Info) -> bool) {
        for i in (0..self.items.len() / 2).rev() {
            self.down(i, &before);
        }
    }

    fn swap(&mut self, i: usize, j: usize) {
        self.items.swap(i, j);
        for at in [i, j] {
            if let Some(position) = self.positions.get_mut(&self.items[at].key) {
                *position = at;
            }
        }
    }

    fn up(&mut self, mut i: usize, before: &impl Fn(&Info, &Info) -> bool) {
        while i > 0 {
            let parent = (i - 1) / 2;
            if !before(&self.items[i], &self.items[parent]) {
                break;
            }
            self.swap(i, parent);
            i = parent;
        }
    }

    fn down(&mut self, start: usize, before: &impl Fn(&Info, &Info) -> bool) -> bool {
        let mut i = start;
        loop {
            let left = 2 * i + 1;
            if left >= self.items.len() {
                break;
            }
            let right = left + 1;
            let first = if right < self.items.len() && before(&self.items[right], &self.items[left])
            {
                right
            } else {
                left
            };
            if !before(&self.items[first], &self.items[i]) {
                break;
            }
            self.swap(i, first);
            i = first;
        }
        i > start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::EngineConfig;
    use crate::api::v1beta2::Workload;
    use proptest::prelude::*;

    fn info(name: usize, priority: i32) -> Arc<Info> {
        let mut wl = Workload::named(format!("w{name}"));
        wl.spec.priority = Some(priority);
        Arc::new(Info::new(Arc::new(wl), &EngineConfig::default()))
    }

    fn higher(a: &Info, b: &Info) -> bool {
        (b.priority, &a.key) < (a.priority, &b.key)
    }

    proptest! {
        #[test]
        fn pops_in_order_after_any_changes(steps in proptest::collection::vec((0usize..20, -5i32..5, 0u8..3), 0..80)) {
            let mut heap = Heap::default();
            let mut model = std::collections::BTreeMap::new();
            for (name, priority, step) in steps {
                let item = info(name, priority);
                match step {
                    0 => { model.insert(item.key.clone(), item.priority); heap.push_or_update(item, higher); }
                    1 => {
                        let added = heap.push_if_not_present(item.clone(), higher);
                        prop_assert_eq!(added, !model.contains_key(&item.key));
                        model.entry(item.key.clone()).or_insert(item.priority);
                    }
                    _ => prop_assert_eq!(heap.remove(&item.key, higher).is_some(), model.remove(&item.key).is_some()),
                }
            }
            let mut want: Vec<_> = model.into_iter().collect();
            want.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            let mut got = Vec::new();
            while let Some(i) = heap.pop(higher) {
                got.push((i.key.clone(), i.priority));
            }
            prop_assert_eq!(got, want);
        }
    }
}
