//! [`RandomState`]: random queues, and a history of workloads.

use proptest::prelude::*;

/// Quota of a flavor, in whole CPUs.
#[derive(Clone, Debug)]
pub(crate) struct Quota {
    pub nominal: i64,
    pub borrowing_limit: Option<i64>,
    pub lending_limit: Option<i64>,
}

/// A ClusterQueue and its LocalQueue.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// The index of its Cohort.
    pub cohort: Option<usize>,
    /// The quota of each flavor.
    pub quotas: Vec<Quota>,
    /// The quota of memory, which is in a resource group of its own, if it is covered.
    pub memory: Option<i64>,
    pub strict: bool,
    pub within: &'static str,
    pub reclaim: &'static str,
    /// The threshold of `borrowWithinCohort`.
    pub borrow_within: Option<i32>,
    pub try_next: (bool, bool),
    pub weight: u8,
    pub stop: &'static str,
    pub local_stop: &'static str,
    /// Whether it has an AdmissionCheck, and whether that is active.
    pub check: Option<bool>,
}

/// A Cohort.
#[derive(Clone, Debug)]
pub(crate) struct Cohort {
    /// The index of the parent, less than its own.
    pub parent: Option<usize>,
    pub quota: Option<Quota>,
}

/// The topology request of a pod set.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Placement {
    InRack,
    OnHost,
    PreferRack,
    Anywhere,
}

/// The pods of a job.
#[derive(Clone, Debug)]
pub(crate) struct PodSet {
    pub count: i32,
    pub cpu: i64,
    pub memory: i64,
    pub min_count: Option<i32>,
    pub placement: Option<Placement>,
    /// Whether the pods tolerate the taint of the flavors that have one.
    pub tolerates: bool,
}

/// What holds a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hold {
    /// `spec.active` is false.
    Inactive,
    /// The annotation that gates admission.
    Gate,
    /// The backoff of an eviction, in seconds from its submission.
    Backoff(i64),
}

/// A workload.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub queue: usize,
    pub priority: i32,
    pub pod_sets: Vec<PodSet>,
    pub hold: Option<Hold>,
    /// Whether it can be scaled.
    pub elastic: bool,
}

/// A step of the history.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Submit(Job),
    Finish(usize),
    Delete(usize),
    Priority(usize, i32),
    /// An elastic job has another number of pods.
    Scale(usize, i32),
    /// The quota of a flavor of a ClusterQueue.
    Nominal(usize, usize, i64),
    /// The stop policy of a ClusterQueue.
    Stop(usize, &'static str),
    Settle,
}

/// Queues and a history.
#[derive(Clone, Debug)]
pub(crate) struct RandomState {
    pub fair: bool,
    /// Whether admission waits until the pods of all admitted workloads are ready.
    pub pods_ready: bool,
    /// Whether each flavor has a taint.
    pub taints: Vec<bool>,
    /// The number of hosts of each flavor, two in a rack and of three CPUs each; none without a topology.
    pub hosts: Option<usize>,
    pub cohorts: Vec<Cohort>,
    pub queues: Vec<Queue>,
    pub steps: Vec<Step>,
}

fn quota() -> impl Strategy<Value = Quota> {
    let limit = || prop::option::weighted(0.25, 0..4i64);
    (0..7i64, limit(), limit()).prop_map(|(nominal, borrowing_limit, lending)| Quota {
        nominal,
        borrowing_limit,
        lending_limit: lending.map(|limit| limit.min(nominal)),
    })
}

fn without_limits(quota: Quota) -> Quota {
    Quota {
        borrowing_limit: None,
        lending_limit: None,
        ..quota
    }
}

fn stop() -> impl Strategy<Value = &'static str> {
    prop_oneof![14 => Just("None"), 1 => Just("Hold"), 1 => Just("HoldAndDrain")]
}

fn queue(flavors: usize, fair: bool) -> impl Strategy<Value = Queue> {
    let preemption = (
        prop::sample::select(vec!["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
        prop::sample::select(vec!["Never", "LowerPriority", "Any"]),
        prop::option::weighted(if fair { 0.01 } else { 0.3 }, 0..3i32),
    );
    let quotas = (
        prop::collection::vec(quota(), flavors),
        prop::option::weighted(0.3, 0..6i64),
    );
    let stops = (
        stop(),
        prop_oneof![20 => Just("None"), 1 => Just("Hold")],
        prop_oneof![10 => Just(None), 2 => Just(Some(true)), 1 => Just(Some(false))],
    );
    (
        prop::option::weighted(0.8, 0..3usize),
        quotas,
        preemption,
        (any::<bool>(), any::<(bool, bool)>(), 0..3u8),
        stops,
    )
        .prop_map(
            move |(cohort, (quotas, memory), preemption, other, stops)| {
                let (within, reclaim, borrow_within) = preemption;
                let (strict, try_next, weight) = other;
                let (stop, local_stop, check) = stops;
                let quotas = quotas.into_iter().map(|quota| match cohort {
                    // Limits are for queues in a cohort.
                    None => without_limits(quota),
                    Some(_) => quota,
                });
                Queue {
                    cohort,
                    quotas: quotas.collect(),
                    memory,
                    strict,
                    within,
                    reclaim,
                    // Fair sharing has no threshold.
                    borrow_within: borrow_within.filter(|_| reclaim != "Never" && !fair),
                    try_next,
                    weight,
                    stop,
                    local_stop,
                    check,
                }
            },
        )
}

fn cohorts() -> impl Strategy<Value = Vec<Cohort>> {
    let cohort = (
        prop::option::weighted(0.5, 0..3usize),
        prop::option::weighted(0.3, quota()),
    );
    prop::collection::vec(cohort, 3).prop_map(|all| {
        let all = all.into_iter().enumerate();
        let all = all.map(|(index, (parent, quota))| {
            let parent = parent.filter(|parent| *parent < index);
            let quota = quota.map(|quota| match parent {
                None => without_limits(quota),
                Some(_) => quota,
            });
            Cohort { parent, quota }
        });
        all.collect()
    })
}

fn pod_set(hosts: bool) -> impl Strategy<Value = PodSet> {
    use Placement::{Anywhere, InRack, OnHost, PreferRack};
    let placement = prop::sample::select(vec![Anywhere, InRack, OnHost, PreferRack]);
    let memory = prop_oneof![6 => Just(0), 1 => 1..4i64];
    (
        prop_oneof![2 => Just(1), 1 => 2..5i32],
        1..5i64,
        memory,
        prop::option::weighted(0.15, 1..3i32),
        prop::option::weighted(if hosts { 0.6 } else { 0.01 }, placement),
        prop::bool::weighted(0.3),
    )
        .prop_map(
            move |(count, cpu, memory, min_count, placement, tolerates)| PodSet {
                count,
                cpu,
                memory,
                min_count: min_count.filter(|min| *min < count),
                placement: placement.filter(|_| hosts),
                tolerates,
            },
        )
}

fn job(hosts: bool) -> impl Strategy<Value = Job> {
    let pod_sets = prop_oneof![
        4 => prop::collection::vec(pod_set(hosts), 1),
        1 => prop::collection::vec(pod_set(hosts), 2),
    ];
    let hold = prop_oneof![
        14 => Just(None),
        1 => Just(Some(Hold::Inactive)),
        1 => Just(Some(Hold::Gate)),
        1 => (30..600i64).prop_map(|seconds| Some(Hold::Backoff(seconds))),
    ];
    (
        0..4usize,
        0..4i32,
        pod_sets,
        hold,
        prop::bool::weighted(0.15),
    )
        .prop_map(|(queue, priority, mut pod_sets, hold, elastic)| {
            if elastic {
                pod_sets.truncate(1);
                pod_sets.iter_mut().for_each(|ps| ps.min_count = None);
            }
            Job {
                queue,
                priority,
                pod_sets,
                hold,
                elastic,
            }
        })
}

fn step(hosts: bool) -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => job(hosts).prop_map(Step::Submit),
        1 => (0..12usize).prop_map(Step::Finish),
        1 => (0..12usize).prop_map(Step::Delete),
        1 => (0..12usize, 0..4i32).prop_map(|(job, to)| Step::Priority(job, to)),
        1 => (0..12usize, 1..5i32).prop_map(|(job, to)| Step::Scale(job, to)),
        1 => (0..4usize, 0..2usize, 0..7i64).prop_map(|(q, f, to)| Step::Nominal(q, f, to)),
        1 => (0..4usize, stop()).prop_map(|(queue, to)| Step::Stop(queue, to)),
        4 => Just(Step::Settle),
    ]
}

/// Queues and a history.
pub(crate) fn random_state() -> impl Strategy<Value = RandomState> {
    let hosts = prop_oneof![3 => Just(None), 1 => (1..4usize).prop_map(Some)];
    let first = (
        1..3usize,
        prop::bool::weighted(0.3),
        hosts,
        prop::bool::weighted(0.15),
    );
    first.prop_flat_map(|(flavors, fair, hosts, pods_ready)| {
        let taints = prop::collection::vec(prop::bool::weighted(0.2), flavors);
        let queues = prop::collection::vec(queue(flavors, fair), 1..4);
        let steps = prop::collection::vec(step(hosts.is_some()), 2..16);
        (taints, cohorts(), queues, steps).prop_map(move |(taints, cohorts, queues, steps)| {
            RandomState {
                fair,
                pods_ready,
                taints,
                hosts,
                cohorts,
                queues,
                steps,
            }
        })
    })
}
