//! [`Heap`]: a binary heap with lookup by key; every update is O(log n).
//!
//! When the order of many items changes at once (the usage of a LocalQueue grows),
//! [`Heap::rebuild`] restores the heap property. Must not depend on the order or the items.

use std::hash::Hash;

use crate::hash_map::FastHashMap;

/// An item with a key.
pub(crate) trait Item {
    /// The key type, unique within a heap.
    type Key: Clone + Eq + Hash;

    /// Its key.
    fn key(&self) -> &Self::Key;
}

/// The number of an item while it is in the heap. Moving an item updates only its position by
/// number; keys are hashed on insertion and removal.
type Slot = u32;

/// A binary heap with lookup by key.
#[derive(Clone, Debug)]
pub(crate) struct Heap<T: Item> {
    items: Vec<(Slot, T)>,
    /// The index in `items` of each slot.
    positions: Vec<u32>,
    free: Vec<Slot>,
    slots: FastHashMap<T::Key, Slot>,
}

impl<T: Item> Default for Heap<T> {
    fn default() -> Self {
        Heap {
            items: Vec::new(),
            positions: Vec::new(),
            free: Vec::new(),
            slots: FastHashMap::default(),
        }
    }
}

impl<T: Item> Heap<T> {
    /// The number of items.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the heap is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The first item.
    pub(crate) fn first(&self) -> Option<&T> {
        self.items.first().map(|(_, item)| item)
    }

    /// An item by key.
    pub(crate) fn get(&self, key: &T::Key) -> Option<&T> {
        self.position(key).map(|i| &self.items[i].1)
    }

    fn position(&self, key: &T::Key) -> Option<usize> {
        let slot = *self.slots.get(key)?;
        Some(self.positions[slot as usize] as usize)
    }

    /// All items, in no particular order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter().map(|(_, item)| item)
    }

    /// All items, in no particular order.
    pub(crate) fn into_items(self) -> impl Iterator<Item = T> {
        self.items.into_iter().map(|(_, item)| item)
    }

    /// Inserts an item, or replaces and returns the item with the same key.
    pub(crate) fn push_or_update(&mut self, item: T, before: impl Fn(&T, &T) -> bool) -> Option<T> {
        if let Some(i) = self.position(item.key()) {
            let old = std::mem::replace(&mut self.items[i].1, item);
            self.fix(i, &before);
            return Some(old);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.positions.push(0);
            self.positions.len() as Slot - 1
        });
        self.slots.insert(item.key().clone(), slot);
        self.positions[slot as usize] = self.items.len() as u32;
        self.items.push((slot, item));
        self.up(self.items.len() - 1, &before);
        None
    }

    /// Updates an item, which may move it.
    pub(crate) fn change<R>(
        &mut self,
        key: &T::Key,
        f: impl FnOnce(&mut T) -> R,
        before: impl Fn(&T, &T) -> bool,
    ) -> Option<R> {
        let i = self.position(key)?;
        let result = f(&mut self.items[i].1);
        self.fix(i, &before);
        Some(result)
    }

    /// Updates the first item, which may move it.
    pub(crate) fn change_first<R>(
        &mut self,
        f: impl FnOnce(&mut T) -> R,
        before: impl Fn(&T, &T) -> bool,
    ) -> Option<R> {
        let result = f(&mut self.items.first_mut()?.1);
        self.fix(0, &before);
        Some(result)
    }

    /// Removes and returns the first item.
    pub(crate) fn pop(&mut self, before: impl Fn(&T, &T) -> bool) -> Option<T> {
        if self.items.is_empty() {
            return None;
        }
        Some(self.remove_at(0, &before))
    }

    /// Removes an item by key.
    pub(crate) fn remove(&mut self, key: &T::Key, before: impl Fn(&T, &T) -> bool) -> Option<T> {
        let i = self.position(key)?;
        Some(self.remove_at(i, &before))
    }

    fn remove_at(&mut self, i: usize, before: &impl Fn(&T, &T) -> bool) -> T {
        let last = self.items.len() - 1;
        self.swap(i, last);
        let (slot, removed) = self.items.swap_remove(last);
        self.slots.remove(removed.key());
        self.free.push(slot);
        if i < last {
            self.fix(i, before);
        }
        removed
    }

    /// Restores the heap property after the order changed for many items.
    pub(crate) fn rebuild(&mut self, before: impl Fn(&T, &T) -> bool) {
        for i in (0..self.items.len() / 2).rev() {
            self.down(i, &before);
        }
    }

    fn swap(&mut self, i: usize, j: usize) {
        self.items.swap(i, j);
        for at in [i, j] {
            self.positions[self.items[at].0 as usize] = at as u32;
        }
    }

    fn fix(&mut self, i: usize, before: &impl Fn(&T, &T) -> bool) {
        if !self.down(i, before) {
            self.up(i, before);
        }
    }

    fn is_before(&self, i: usize, j: usize, before: &impl Fn(&T, &T) -> bool) -> bool {
        before(&self.items[i].1, &self.items[j].1)
    }

    fn up(&mut self, mut i: usize, before: &impl Fn(&T, &T) -> bool) {
        while i > 0 {
            let parent = (i - 1) / 2;
            if !self.is_before(i, parent, before) {
                break;
            }
            self.swap(i, parent);
            i = parent;
        }
    }

    fn down(&mut self, start: usize, before: &impl Fn(&T, &T) -> bool) -> bool {
        let mut i = start;
        loop {
            let left = 2 * i + 1;
            if left >= self.items.len() {
                break;
            }
            let right = left + 1;
            let first = if right < self.items.len() && self.is_before(right, left, before) {
                right
            } else {
                left
            };
            if !self.is_before(first, i, before) {
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
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[derive(Clone, Debug)]
    struct Named(usize, i32);

    impl Item for Named {
        type Key = usize;
        fn key(&self) -> &usize {
            &self.0
        }
    }

    fn higher(a: &Named, b: &Named) -> bool {
        (b.1, a.0) < (a.1, b.0)
    }

    proptest! {
        #[test]
        fn pops_in_order_after_any_changes(steps in proptest::collection::vec((0usize..20, -5i32..5, 0u8..5), 0..80)) {
            let mut heap = Heap::default();
            let mut model = BTreeMap::new();
            for (name, rank, step) in steps {
                match step {
                    0 | 1 => {
                        let old = heap.push_or_update(Named(name, rank), higher);
                        prop_assert_eq!(old.map(|n| n.1), model.insert(name, rank));
                    }
                    2 => {
                        let changed = heap.change(&name, |n| std::mem::replace(&mut n.1, rank), higher);
                        let known = model.get_mut(&name).map(|r| std::mem::replace(r, rank));
                        prop_assert_eq!(changed, known);
                    }
                    3 => {
                        let first = model.iter().min_by_key(|&(name, rank)| (-*rank, *name));
                        let first = first.map(|(name, _)| *name);
                        let changed = heap.change_first(|n| std::mem::replace(&mut n.1, rank), higher);
                        let known = first.and_then(|name| model.insert(name, rank));
                        prop_assert_eq!(changed, known);
                    }
                    _ => {
                        let removed = heap.remove(&name, higher).map(|n| n.1);
                        prop_assert_eq!(removed, model.remove(&name));
                    }
                }
                prop_assert_eq!(heap.len(), model.len());
                for (name, rank) in &model {
                    prop_assert_eq!(heap.get(name).map(|n| n.1), Some(*rank));
                }
            }
            let mut want: Vec<_> = model.into_iter().collect();
            want.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            let mut got = Vec::new();
            while let Some(Named(name, rank)) = heap.pop(higher) {
                got.push((name, rank));
            }
            prop_assert_eq!(got, want);
        }
    }
}
