//! Quota and usage of trees.

use crate::flavor_resource::FlavorResourceId;
use crate::flavor_resource::FlavorResourceTable;
use crate::flavor_resource_quota::Quota;
use crate::hierarchy::{CohortHierarchy, HierarchyNodeId};
use crate::test_fixtures::quota;
use proptest::prelude::*;

/// ClusterQueues a and b in one cohort, with one flavor resource.
fn pair(
    a: Quota,
    b: Quota,
) -> (
    CohortHierarchy,
    FlavorResourceId,
    HierarchyNodeId,
    HierarchyNodeId,
) {
    let fr = FlavorResourceTable::default().intern("default", "cpu".into());
    let mut f = CohortHierarchy::default();
    let ids = [("a", a), ("b", b)].map(|(name, q)| {
        let id = f.insert_cluster_queue(name);
        f.set_parent(id, "all");
        f.set_quotas(id, &[(fr, q)]);
        f.update_cohort_tree_resources(id).unwrap();
        id
    });
    (f, fr, ids[0], ids[1])
}

#[test]
fn the_quotas_of_children_are_added_in_any_order() {
    let mut frs = FlavorResourceTable::default();
    let frs: Vec<FlavorResourceId> = (0..20)
        .map(|flavor| frs.intern(&flavor.to_string(), "cpu".into()))
        .collect();
    let mut f = CohortHierarchy::default();
    let all = f.insert_cohort("all");
    f.set_quotas(all, &[(frs[7], quota(100, None, None))]);
    // The children share two flavors; the first child has those of the higher numbers.
    for (name, of_child) in [("a", &frs[9..]), ("b", &frs[..11])] {
        let id = f.insert_cluster_queue(name);
        f.set_parent(id, "all");
        let quotas = of_child.iter().rev();
        let quotas: Vec<_> = quotas.map(|&fr| (fr, quota(2, None, Some(1)))).collect();
        assert!(f.set_quotas(id, &quotas));
        assert!(!f.set_quotas(id, &quotas));
        f.update_cohort_tree_resources(id).unwrap();
        for &fr in of_child {
            f.add_usage(id, fr, 3.into());
        }
    }
    f.update_cohort_tree_resources(all).unwrap();
    let node = &f[all].resources;
    assert!(node.flavor_resources.is_sorted_by(|a, b| a.fr < b.fr));
    for (flavor, &fr) in frs.iter().enumerate() {
        let children = if matches!(flavor, 9 | 10) { 2 } else { 1 };
        let own = if flavor == 7 { 100 } else { 0 };
        assert_eq!(node.subtree_quota(fr), (own + children).into());
        assert_eq!(node.usage(fr), (children * 2).into());
    }
}

#[test]
fn unused_quota_may_be_borrowed() {
    let (mut f, fr, a, b) = pair(quota(10, None, None), quota(10, None, None));
    f.add_usage(b, fr, 16.into());
    assert_eq!(f.available(a, fr), 4.into());
    assert_eq!(f.potential_available(a, fr), 20.into());
    f.measure_heights();
    assert_eq!(
        f.height_of_lowest_subtree_that_fits(a, fr, 10.into()),
        (0, true)
    );
}

#[test]
fn lending_limit_reserves_local_quota() {
    let (mut f, fr, a, b) = pair(quota(10, None, Some(4)), quota(10, None, None));
    assert_eq!(f.available(b, fr), 14.into());
    f.add_usage(b, fr, 14.into());
    assert_eq!(f.available(a, fr), 6.into());
}

#[test]
fn borrowing_limit_bounds_available_quota() {
    let (mut f, fr, _, b) = pair(quota(10, None, None), quota(10, Some(2), None));
    f.add_usage(b, fr, 11.into());
    assert_eq!(f.available(b, fr), 1.into());
}

proptest! {
    /// Usage kept incrementally equals usage recomputed, and a rollback restores it.
    #[test]
    fn incremental_usage_equals_recomputed_usage(
        limits in proptest::collection::vec((0i64..20, proptest::option::of(0i64..20)), 4),
        steps in proptest::collection::vec((0usize..4, 1i64..15, any::<bool>()), 0..30),
    ) {
        let fr = FlavorResourceTable::default().intern("default", "cpu".into());
        let mut f = CohortHierarchy::default();
        let inner = f.insert_cohort("inner");
        f.set_quotas(inner, &[(fr, quota(3, None, limits[0].1))]);
        f.set_parent(inner, "top");
        let queues: Vec<HierarchyNodeId> = limits.iter().enumerate().map(|(i, &(nominal, lend))| {
            let id = f.insert_cluster_queue(&format!("q{i}"));
            f.set_parent(id, if i % 2 == 0 { "inner" } else { "top" });
            f.set_quotas(id, &[(fr, quota(nominal, None, lend))]);
            f.update_cohort_tree_resources(id).unwrap();
            id
        }).collect();
        f.update_cohort_tree_resources(inner).unwrap();
        let mut queue_usage = [0i64; 4];
        for &(i, amount, add) in &steps {
            if add {
                queue_usage[i] += amount;
                f.add_usage(queues[i], fr, amount.into());
            } else if queue_usage[i] >= amount {
                queue_usage[i] -= amount;
                f.remove_usage(queues[i], fr, amount.into());
            }
        }
        let nodes: Vec<HierarchyNodeId> = f.cohorts().chain(queues.iter().copied()).collect();
        let usages = |f: &CohortHierarchy| nodes.iter().map(|&n| f[n].resources.usage(fr)).collect::<Vec<_>>();
        let usage_before = usages(&f);
        f.begin();
        for &(i, amount, _) in &steps {
            f.remove_usage(queues[i], fr, amount.into());
        }
        f.roll_back();
        prop_assert_eq!(&usages(&f), &usage_before);
        f.compute_tree(f.root(inner));
        prop_assert_eq!(usages(&f), usage_before);
    }
}

/// The quotas, subtree quotas and usages of all nodes, without entries that are nothing.
fn resources(f: &CohortHierarchy) -> Vec<String> {
    let nodes = f.nodes.iter().enumerate();
    nodes
        .map(|(index, node)| {
            let all = node.resources.flavor_resources.iter();
            let all =
                all.filter(|c| c.quota.is_some() || c.subtree.is_some() || !c.usage.is_zero());
            format!("{index} {}: {:?}", node.name, all.collect::<Vec<_>>())
        })
        .collect()
}

#[test]
fn the_updates_of_many_queues_visit_few_nodes() {
    let visits = |queues: usize| {
        let mut f = CohortHierarchy::default();
        let fr = f.frs.intern("default", "cpu".into());
        let team = f.insert_cohort("team");
        f.set_parent(team, "all");
        f.update_cohort_tree_resources(team).unwrap();
        for index in 0..queues {
            let id = f.insert_cluster_queue(&format!("q{index}"));
            f.set_parent(id, "team");
            for nominal in [3, 4] {
                f.set_quotas(id, &[(fr, quota(nominal, None, None))]);
                f.update_cohort_tree_resources(id).unwrap();
            }
            let cohort = f.insert_cohort(&format!("c{index}"));
            f.set_parent(cohort, "team");
            f.update_cohort_tree_resources(cohort).unwrap();
        }
        let all = f.cohort("all").unwrap();
        assert_eq!(
            f[all].resources.subtree_quota(fr),
            (4 * queues as i64).into()
        );
        f.visits
    };
    assert!(visits(10) > 10);
    assert!(visits(800) <= 80 * visits(10));
}

#[derive(Clone, Debug)]
enum Step {
    Parent(usize, usize),
    Quota(usize, usize, Option<Quota>),
    Usage(usize, usize, i64),
    RemoveCohort(usize),
    RemoveQueue(usize),
}

const COHORTS: usize = 5;
const QUEUES: usize = 5;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let amount = prop_oneof![0i64..20, Just(i64::MAX), Just(i64::MAX - 1)];
    let limit = proptest::option::of(0i64..20);
    let of_quota = (amount, limit.clone(), limit)
        .prop_map(|(nominal, borrowing, lending)| quota(nominal, borrowing, lending));
    let node = 0..COHORTS + QUEUES;
    let step = prop_oneof![
        3 => (node.clone(), 0..=COHORTS).prop_map(|(n, p)| Step::Parent(n, p)),
        4 => (node, 0usize..3, proptest::option::of(of_quota))
            .prop_map(|(n, fr, q)| Step::Quota(n, fr, q)),
        2 => (0..QUEUES, 0usize..3, prop_oneof![1i64..30, Just(i64::MAX / 2)])
            .prop_map(|(n, fr, a)| Step::Usage(n, fr, a)),
        1 => (0..COHORTS).prop_map(Step::RemoveCohort),
        1 => (0..QUEUES).prop_map(Step::RemoveQueue),
    ];
    proptest::collection::vec(step, 1..40)
}

proptest! {
    /// Resources that are updated by contributions are those that are computed from the leaves, and each update of
    /// a tree increments the generation of its ClusterQueues by one.
    #[test]
    fn updates_by_contributions_equal_computed_trees(steps in steps()) {
        let mut f = CohortHierarchy::default();
        let frs: Vec<_> = (0..3).map(|i| f.frs.intern(&format!("f{i}"), "cpu".into())).collect();
        let mut queues: Vec<HierarchyNodeId> =
            (0..QUEUES).map(|i| f.insert_cluster_queue(&format!("q{i}"))).collect();
        let mut generations = vec![0i64; QUEUES];
        let mut quotas = vec![std::collections::BTreeMap::new(); COHORTS + QUEUES];
        for step in steps {
            // As upstream's recursion from the root.
            let update = |f: &mut CohortHierarchy, queues: &[HierarchyNodeId], generations: &mut [i64], id| {
                if f.update_cohort_tree_resources(id).is_err() {
                    return;
                }
                for (queue, generation) in queues.iter().zip(generations) {
                    if f.root(*queue) == f.root(id) {
                        *generation += 1;
                    }
                }
            };
            let node = |f: &mut CohortHierarchy, queues: &[HierarchyNodeId], n: usize| match n.checked_sub(COHORTS) {
                Some(queue) => queues[queue],
                None => f.insert_cohort(&format!("c{n}")),
            };
            match step {
                Step::Parent(n, parent) => {
                    let id = node(&mut f, &queues, n);
                    let old = f.parent(id).map(|p| f[p].name.clone());
                    let name = if parent == COHORTS { String::new() } else { format!("c{parent}") };
                    f.set_parent(id, &name);
                    if let Some(old) = old.filter(|old| **old != *name).and_then(|old| f.cohort(&old)) {
                        update(&mut f, &queues, &mut generations, old);
                    }
                    update(&mut f, &queues, &mut generations, id);
                }
                Step::Quota(n, fr, quota) => {
                    let id = node(&mut f, &queues, n);
                    match quota {
                        Some(quota) => quotas[n].insert(frs[fr], quota),
                        None => quotas[n].remove(&frs[fr]),
                    };
                    let all: Vec<_> = quotas[n].iter().map(|(fr, quota)| (*fr, *quota)).collect();
                    f.set_quotas(id, &all);
                    update(&mut f, &queues, &mut generations, id);
                }
                Step::Usage(queue, fr, amount) => f.add_usage(queues[queue], frs[fr], amount.into()),
                Step::RemoveCohort(n) => {
                    if let Some(id) = f.cohort(&format!("c{n}")) {
                        quotas[n].clear();
                        let parent = f.parent(id).map(|p| f[p].name.clone());
                        if let Some(remains) = f.remove_cohort(id) {
                            update(&mut f, &queues, &mut generations, remains);
                        }
                        if let Some(parent) = parent.and_then(|parent| f.cohort(&parent)) {
                            update(&mut f, &queues, &mut generations, parent);
                        }
                    }
                }
                Step::RemoveQueue(n) => {
                    let parent = f.parent(queues[n]).map(|p| f[p].name.clone());
                    f.remove_cluster_queue(queues[n]);
                    quotas[COHORTS + n].clear();
                    generations[n] = 0;
                    queues[n] = f.insert_cluster_queue(&format!("q{n}"));
                    if let Some(parent) = parent.and_then(|parent| f.cohort(&parent)) {
                        update(&mut f, &queues, &mut generations, parent);
                    }
                }
            }
            let roots: Vec<_> = f.cohorts().filter(|c| f.parent(*c).is_none()).collect();
            let mut computed = f.clone();
            let all: Vec<_> = f.cohorts().collect();
            for id in all {
                if f.has_cycle(id) {
                    computed.nodes[id.index()].resources = f[id].resources.clone();
                }
            }
            for root in roots {
                computed.compute_tree(root);
            }
            prop_assert_eq!(resources(&f), resources(&computed));
            let now: Vec<i64> = queues.iter().map(|queue| f.generation(*queue)).collect();
            prop_assert_eq!(&now, &generations);
        }
    }
}
