//! Random ClusterQueues, cohorts and histories of workloads.

use proptest::option;
use proptest::prelude::*;

/// Quota for one flavor, in whole CPUs or units of memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quota {
    pub nominal: i64,
    pub borrowing_limit: Option<i64>,
    pub lending_limit: Option<i64>,
}

/// A ClusterQueue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    /// The index of the cohort.
    pub cohort: Option<usize>,
    /// The quota of each flavor: CPU flavors first, then memory flavors.
    pub quotas: Vec<Quota>,
    pub strict: bool,
    pub within_cluster_queue: &'static str,
    pub reclaim_within_cohort: &'static str,
    /// Whether it may preempt while borrowing, and up to which priority.
    pub borrow_within_cohort: Option<Option<i32>>,
    pub try_next: (bool, bool),
    pub weight: u8,
}

/// A cohort.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cohort {
    /// The index of the parent; always less than its own.
    pub parent: Option<usize>,
    pub quota: Option<Quota>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    pub queues: Vec<Queue>,
    pub cohorts: Vec<Cohort>,
    pub fair: bool,
    /// The number of memory flavors, which are in a resource group of their own.
    pub memory_flavors: usize,
    /// The number of hosts per flavor, if all flavors have a topology.
    pub hosts: Option<usize>,
}

/// The topology request of a workload, if flavors have a topology.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Placement {
    /// Unconstrained.
    Anywhere,
    /// Required: one rack.
    InRack,
    /// Required: one host.
    OnHost,
    /// Preferred: one rack.
    PreferRack,
}

impl Setup {
    /// One ClusterQueue with one flavor that preempts workloads of lower priority.
    pub(crate) fn single(nominal: i64) -> Self {
        let quota = Quota {
            nominal,
            ..Default::default()
        };
        let queue = Queue {
            quotas: vec![quota],
            within_cluster_queue: "LowerPriority",
            reclaim_within_cohort: "Never",
            weight: 1,
            ..Default::default()
        };
        Setup {
            queues: vec![queue],
            ..Default::default()
        }
    }
}

/// A step of a history.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Submit {
        queue: usize,
        priority: i32,
        count: i32,
        cpu: i64,
        /// Requested if there are memory flavors.
        memory: i64,
        placement: Option<Placement>,
        /// The minimum count of partial admission.
        min_count: Option<i32>,
    },
    /// A workload finishes, admitted or not.
    Finish(usize),
    Delete(usize),
    Deactivate(usize),
    Activate(usize),
    Prioritize(usize, i32),
    /// The pods of all evicted workloads are deleted.
    EvictedPodsGone,
    /// The quota of a ClusterQueue increases.
    AddQuota(usize, i64),
    AdvanceTime(i64),
    Cycle,
}

fn quota() -> impl Strategy<Value = Quota> {
    let limit = || option::weighted(0.3, 0..5i64);
    (0..7i64, limit(), limit()).prop_map(|(nominal, borrow, lend)| Quota {
        nominal,
        borrowing_limit: borrow,
        lending_limit: lend.map(|l| l.min(nominal)),
    })
}

fn policy() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["Never", "LowerPriority", "Any"])
}

fn queue(flavors: usize, fair: bool) -> impl Strategy<Value = Queue> {
    let within = prop::sample::select(vec!["Never", "LowerPriority", "LowerOrNewerEqualPriority"]);
    let borrowing = if fair {
        Just(None).boxed()
    } else {
        option::weighted(0.3, option::of(0..3i32)).boxed()
    };
    (
        option::weighted(0.8, 0..4usize),
        proptest::collection::vec(quota(), flavors),
        any::<bool>(),
        within,
        policy(),
        borrowing,
        any::<(bool, bool)>(),
        0..3u8,
    )
        .prop_map(
            |(cohort, quotas, strict, within, reclaim, while_borrowing, try_next, weight)| Queue {
                // Limits have an effect only in a cohort.
                quotas: quotas
                    .into_iter()
                    .map(|q| {
                        if cohort.is_some() {
                            q
                        } else {
                            Quota {
                                borrowing_limit: None,
                                lending_limit: None,
                                ..q
                            }
                        }
                    })
                    .collect(),
                cohort,
                strict,
                within_cluster_queue: within,
                reclaim_within_cohort: reclaim,
                borrow_within_cohort: while_borrowing.filter(|_| reclaim != "Never"),
                try_next,
                weight,
            },
        )
}

fn cohorts() -> impl Strategy<Value = Vec<Cohort>> {
    let group = (
        any::<prop::sample::Index>(),
        any::<bool>(),
        option::weighted(0.4, quota()),
    );
    proptest::collection::vec(group, 4).prop_map(|all| {
        let group =
            |(i, (parent, has, quota)): (usize, (prop::sample::Index, bool, Option<Quota>))| {
                let parent = (has && i > 0).then(|| parent.index(i));
                Cohort {
                    parent,
                    // Only a cohort with a parent can have borrowing and lending limits.
                    quota: quota.map(|q| {
                        if parent.is_some() {
                            q
                        } else {
                            Quota {
                                borrowing_limit: None,
                                lending_limit: None,
                                ..q
                            }
                        }
                    }),
                }
            };
        all.into_iter().enumerate().map(group).collect()
    })
}

pub(crate) fn setup() -> impl Strategy<Value = Setup> {
    // Some have a second resource group, some a topology, most neither.
    let kind = prop_oneof![
        3 => Just((0usize, None)),
        2 => (1..3usize).prop_map(|of_memory| (of_memory, None)),
        2 => (1..5usize).prop_map(|hosts| (0, Some(hosts))),
    ];
    (1..3usize, any::<bool>(), kind).prop_flat_map(|(flavors, fair, (of_memory, hosts))| {
        let queues = proptest::collection::vec(queue(flavors + of_memory, fair), 1..5);
        (queues, cohorts()).prop_map(move |(queues, cohorts)| Setup {
            queues,
            cohorts,
            fair,
            memory_flavors: of_memory,
            hosts,
        })
    })
}

fn placement() -> impl Strategy<Value = Placement> {
    use Placement::{Anywhere, InRack, OnHost, PreferRack};
    prop::sample::select(vec![Anywhere, InRack, OnHost, PreferRack])
}

pub(crate) fn op() -> impl Strategy<Value = Op> {
    let submit = (
        0..4usize,
        0..4i32,
        1..4i32,
        1..4i64,
        0..3i64,
        option::of(placement()),
        option::weighted(0.2, 1..3i32),
    );
    prop_oneof![
        6 => submit.prop_map(|(queue, priority, count, cpu, memory, placement, least)| Op::Submit {
            queue, priority, count, cpu, memory, placement,
            min_count: least.filter(|l| *l < count),
        }),
        1 => (0..20usize).prop_map(Op::Finish),
        1 => (0..20usize).prop_map(Op::Delete),
        1 => (0..20usize).prop_map(Op::Deactivate),
        1 => (0..20usize).prop_map(Op::Activate),
        1 => ((0..20usize), 0..4i32).prop_map(|(i, p)| Op::Prioritize(i, p)),
        2 => Just(Op::EvictedPodsGone),
        1 => (0..4usize, 1..4i64).prop_map(|(q, by)| Op::AddQuota(q, by)),
        2 => (1..4i64).prop_map(Op::AdvanceTime),
        8 => Just(Op::Cycle),
    ]
}
