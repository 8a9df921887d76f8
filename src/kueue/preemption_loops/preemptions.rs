//! [`Preemptions`]: the recent preemptions, by preemptor and target.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::detected_loop::{DetectedLoop, LoopKind};

/// Preemptions older than this do not count.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);
/// The same preemptor and target, this many times, are a repetition.
const REPETITIONS: usize = 3;
/// The number of pairs above which those outside of the window are removed.
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

    /// The loops among the repeated preemptions: workloads from each of which every other is
    /// reached, and preemptors of others.
    pub(super) fn loops(&self, now: Timestamp) -> Vec<DetectedLoop> {
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
        let mutual = |a: &str, b: &str| {
            let reaches = |a: &str, b: &str| reached.get(a).is_some_and(|to| to.contains(b));
            reaches(a, b) && reaches(b, a)
        };
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let (mut found, mut one_way) = (Vec::new(), Vec::new());
        for (preemptor, targets) in &targets {
            let others = targets.iter().filter(|target| {
                let back = (target.to_string(), preemptor.to_string());
                !mutual(preemptor, target) && !self.0.contains_key(&back)
            });
            let others: Vec<&str> = others.copied().collect();
            if !others.is_empty() {
                let uids = [&[*preemptor], others.as_slice()].concat();
                one_way.extend(self.loop_of(LoopKind::Preemptions, &uids, now));
            }
            let members = reached.get(preemptor).into_iter().flatten();
            let members: Vec<&str> = members
                .filter(|other| mutual(preemptor, other))
                .copied()
                .collect();
            if !members.is_empty() && !seen.contains(preemptor) {
                seen.extend(&members);
                found.extend(self.loop_of(LoopKind::MutualPreemptions, &members, now));
            }
        }
        found.extend(one_way);
        found
    }

    /// The loop of these workloads.
    fn loop_of(&self, kind: LoopKind, uids: &[&str], now: Timestamp) -> Option<DetectedLoop> {
        let preemptors = match kind {
            LoopKind::Preemptions => &uids[..1],
            _ => uids,
        };
        let within = self.0.iter().filter(|((preemptor, target), _)| {
            preemptors.contains(&preemptor.as_str()) && uids.contains(&target.as_str())
        });
        let times: Vec<Timestamp> = within
            .flat_map(|(_, times)| times.iter().copied())
            .filter(|at| in_window(*at, now))
            .collect();
        Some(DetectedLoop {
            kind,
            uids: uids.iter().map(|uid| (*uid).to_owned()).collect(),
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
