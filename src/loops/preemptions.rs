//! [`Preemptions`]: which workloads preempt each other.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::scheduling_loop::{LoopKind, SchedulingLoop};

/// Preemptions that are this old do not count.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// The same preemptor and target, this many times, are a repetition.
const REPETITIONS: usize = 3;
/// Pairs beyond which those outside of the window are removed.
const MAX_PAIRS: usize = 4096;

/// Preemptor and target, by UID.
type Pair = (String, String);

/// The preemptions in the window.
#[derive(Clone, Debug, Default)]
pub(super) struct Preemptions(BTreeMap<Pair, BTreeSet<Timestamp>>);

impl Preemptions {
    /// Records a preemption, once for each time; returns whether the pair is a repetition since.
    pub(super) fn record(&mut self, at: Timestamp, preemptor: &str, target: &str) -> bool {
        if self.0.len() > MAX_PAIRS {
            self.0
                .retain(|_, times| times.last().is_some_and(|last| in_window(*last, at)));
        }
        let pair = (preemptor.to_owned(), target.to_owned());
        let times = self.0.entry(pair).or_default();
        while times.first().is_some_and(|first| !in_window(*first, at)) {
            times.pop_first();
        }
        let new = times.insert(at);
        new && times.len() == REPETITIONS
    }

    /// The loops among the repeated preemptions: workloads from each of which every other is reached.
    pub(super) fn loops(&self, now: Timestamp) -> Vec<SchedulingLoop> {
        let mut targets: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for ((preemptor, target), times) in &self.0 {
            if times.iter().filter(|at| in_window(**at, now)).count() >= REPETITIONS {
                targets.entry(preemptor).or_default().insert(target);
            }
        }
        let reached: BTreeMap<&str, BTreeSet<&str>> = targets
            .keys()
            .map(|from| (*from, reached_from(&targets, from)))
            .collect();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut found = Vec::new();
        for (from, to) in &reached {
            if !to.contains(from) || seen.contains(from) {
                continue;
            }
            let back = |other: &&&str| reached.get(**other).is_some_and(|to| to.contains(from));
            let members: BTreeSet<&str> = to.iter().filter(back).copied().collect();
            seen.extend(&members);
            found.extend(self.loop_of(&members, now));
        }
        found
    }

    /// The loop of these workloads.
    fn loop_of(&self, members: &BTreeSet<&str>, now: Timestamp) -> Option<SchedulingLoop> {
        let within = self.0.iter().filter(|((preemptor, target), _)| {
            members.contains(preemptor.as_str()) && members.contains(target.as_str())
        });
        let times: Vec<Timestamp> = within
            .flat_map(|(_, times)| times.iter().copied())
            .filter(|at| in_window(*at, now))
            .collect();
        Some(SchedulingLoop {
            kind: LoopKind::Preemptions,
            uids: members.iter().map(|uid| (*uid).to_owned()).collect(),
            names: Vec::new(),
            count: times.len(),
            since: *times.iter().min()?,
            last: *times.iter().max()?,
        })
    }
}

fn in_window(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at) <= WINDOW
}

/// The workloads that a workload preempts, also through others.
fn reached_from<'a>(
    targets: &BTreeMap<&'a str, BTreeSet<&'a str>>,
    from: &'a str,
) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(next) = open.pop() {
        for target in targets.get(next).into_iter().flatten() {
            if reached.insert(*target) {
                open.push(target);
            }
        }
    }
    reached
}
