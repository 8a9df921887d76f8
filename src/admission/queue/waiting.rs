//! [`Waiting`]: the workloads of one ClusterQueue that wait to be tried, and the parked ones.
//!
//! Workloads of one shape are kept together, so that parking a shape and retrying it moves one
//! thing however many workloads there are. Must not know when to do either.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::alike::{Alike, Before};
use super::heap::Heap;
use crate::lookup::Lookup;
use crate::workload::{EquivalenceHash, Info, WorkloadKey};

/// Workloads that wait to be tried, by precedence, and parked ones. Each is in one place only.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    /// Shapes by the precedence of their first workload; none is empty.
    active: Heap<Alike>,
    parked: BTreeMap<EquivalenceHash, Alike>,
    /// The shape each workload is kept under.
    shapes: Lookup<WorkloadKey, EquivalenceHash>,
    parked_count: usize,
}

fn sooner(before: Before<'_>) -> impl Fn(&Alike, &Alike) -> bool {
    move |a, b| match (a.first(), b.first()) {
        (Some(a), Some(b)) => before(a, b),
        (first, _) => first.is_some(),
    }
}

/// Looking.
impl Waiting {
    /// The workload, if it waits to be tried.
    pub fn active(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.active.get(self.shapes.get(key)?)?.get(key)
    }

    /// The workload, if it is parked.
    pub fn parked(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.parked.get(self.shapes.get(key)?)?.get(key)
    }

    /// The workload, in either place.
    pub fn get(&self, key: &WorkloadKey) -> Option<&Arc<Info>> {
        self.active(key).or_else(|| self.parked(key))
    }

    /// How many wait to be tried.
    pub fn active_count(&self) -> usize {
        self.shapes.len() - self.parked_count
    }

    /// How many are parked.
    pub fn parked_count(&self) -> usize {
        self.parked_count
    }

    /// Those that wait to be tried, in no particular order.
    pub fn iter_active(&self) -> impl Iterator<Item = &Arc<Info>> {
        self.active.iter().flat_map(Alike::iter)
    }

    /// The parked ones, in no particular order.
    pub fn iter_parked(&self) -> impl Iterator<Item = &Arc<Info>> {
        self.parked.values().flat_map(Alike::iter)
    }

    /// Whether a workload of this shape waits to be tried.
    pub fn has_active_shape(&self, shape: EquivalenceHash) -> bool {
        self.active.get(&shape).is_some()
    }

    /// How many known shapes wait to be tried, and how many are parked.
    pub fn shape_counts(&self) -> (usize, usize) {
        let unknown = EquivalenceHash::Unknown;
        let active = self.active.len() - usize::from(self.has_active_shape(unknown));
        let parked = self.parked.len() - usize::from(self.parked.contains_key(&unknown));
        (active, parked)
    }
}

/// One by one.
impl Waiting {
    /// Adds a workload to those to be tried, or puts it in the place of its earlier version,
    /// parked or not.
    pub fn activate(&mut self, info: Arc<Info>, before: Before<'_>) {
        let shape = info.scheduling_hash;
        match self.shapes.insert(info.key.clone(), shape) {
            Some(old) if old == shape && self.active(&info.key).is_some() => {}
            Some(old) => {
                self.take_from(&info.key, old, before);
            }
            None => {}
        }
        self.push_active(info, before);
    }

    fn push_active(&mut self, info: Arc<Info>, before: Before<'_>) {
        let shape = info.scheduling_hash;
        if self.active.get(&shape).is_some() {
            self.active
                .change(&shape, |a| a.push_or_update(info, before), sooner(before));
        } else {
            let mut alike = Alike::new(shape);
            alike.push_or_update(info, before);
            self.active.push_or_update(alike, sooner(before));
        }
    }

    /// Parks a workload, or puts it in the place of its earlier version, parked or not.
    pub fn park(&mut self, info: Arc<Info>, before: Before<'_>) {
        let shape = info.scheduling_hash;
        if let Some(old) = self.shapes.insert(info.key.clone(), shape) {
            self.take_from(&info.key, old, before);
        }
        let parked = self.parked.entry(shape);
        let parked = parked.or_insert_with(|| Alike::new(shape));
        parked.push_or_update(info, before);
        self.parked_count += 1;
    }

    fn take_from(
        &mut self,
        key: &WorkloadKey,
        shape: EquivalenceHash,
        before: Before<'_>,
    ) -> Option<Arc<Info>> {
        if let Some(alike) = self.active.get(&shape)
            && alike.get(key).is_some()
        {
            if alike.len() == 1 {
                return self.active.remove(&shape, sooner(before))?.pop(before);
            }
            let take = |alike: &mut Alike| alike.remove(key, before);
            return self.active.change(&shape, take, sooner(before))?;
        }
        let parked = self.parked.get_mut(&shape)?;
        let info = parked.remove(key, before)?;
        if parked.is_empty() {
            self.parked.remove(&shape);
        }
        self.parked_count -= 1;
        Some(info)
    }

    /// Takes a workload out.
    pub fn remove(&mut self, key: &WorkloadKey, before: Before<'_>) -> Option<Arc<Info>> {
        let shape = self.shapes.remove(key)?;
        self.take_from(key, shape, before)
    }

    /// Takes the next workload to try.
    pub fn pop(&mut self, before: Before<'_>) -> Option<Arc<Info>> {
        let popped = if self.active.first()?.len() == 1 {
            self.active.pop(sooner(before))?.pop(before)
        } else {
            let pop = |first: &mut Alike| first.pop(before);
            self.active.change_first(pop, sooner(before))?
        }?;
        self.shapes.remove(&popped.key);
        Some(popped)
    }

    /// Makes a parked workload wait to be tried.
    pub fn unpark(&mut self, key: &WorkloadKey, before: Before<'_>) -> bool {
        let Some(info) = self.parked(key).cloned() else {
            return false;
        };
        self.activate(info, before);
        true
    }
}

/// All of a shape.
impl Waiting {
    /// Parks all workloads of a shape; gives how many there were to park.
    pub fn park_shape(&mut self, shape: EquivalenceHash, before: Before<'_>) -> usize {
        let Some(alike) = self.active.remove(&shape, sooner(before)) else {
            return 0;
        };
        let count = alike.len();
        let alike = match self.parked.remove(&shape) {
            Some(parked) => alike.merged(parked, before),
            None => alike,
        };
        self.parked.insert(shape, alike);
        self.parked_count += count;
        count
    }

    /// Makes parked workloads wait to be tried: whole shapes where all of them may, which
    /// `takes`, asked of namespaces, has a say in, otherwise those that `may_go`. `reordered` says
    /// whether the order may have changed while they were parked. Gives how many.
    pub fn unpark_all(
        &mut self,
        takes: impl Fn(&str) -> bool,
        may_go: impl Fn(&Info) -> bool,
        reordered: bool,
        before: Before<'_>,
    ) -> usize {
        let mut moved = 0;
        for (shape, mut alike) in std::mem::take(&mut self.parked) {
            if alike.may_all_go(&takes) {
                moved += alike.len();
                if reordered {
                    alike.rebuild(before);
                }
                let alike = match self.active.remove(&shape, sooner(before)) {
                    Some(active) => alike.merged(active, before),
                    None => alike,
                };
                self.active.push_or_update(alike, sooner(before));
                continue;
            }
            let (go, stay): (Vec<_>, Vec<_>) = alike.into_items().partition(|info| may_go(info));
            moved += go.len();
            for info in go {
                self.push_active(info, before);
            }
            if !stay.is_empty() {
                let mut alike = Alike::new(shape);
                stay.into_iter()
                    .for_each(|info| alike.push_or_update(info, before));
                self.parked.insert(shape, alike);
            }
        }
        self.parked_count -= moved;
        moved
    }

    /// Restores the order of those to be tried after it changed for many.
    pub fn rebuild(&mut self, before: Before<'_>) {
        let active = std::mem::take(&mut self.active);
        for mut alike in active.into_items() {
            alike.rebuild(before);
            self.active.push_or_update(alike, sooner(before));
        }
    }

    /// Puts a workload where it belongs after its precedence changed.
    pub fn reorder(&mut self, key: &WorkloadKey, before: Before<'_>) {
        let Some(&shape) = self.shapes.get(key) else {
            return;
        };
        let reorder = |alike: &mut Alike| alike.reorder(key, before);
        self.active.change(&shape, reorder, sooner(before));
        if let Some(alike) = self.parked.get_mut(&shape) {
            alike.reorder(key, before);
        }
    }
}
