use kueue_lab_quota_tree::Quota;
use proptest::prelude::*;

use super::*;
use crate::model::ObjectKey;
use crate::model::meta::Meta;
use crate::model::queues::{ClusterQueueRow, CohortRow, FlavorResource};
use crate::text::Amount;

fn fr() -> FlavorResource {
    FlavorResource {
        flavor: "default".to_owned(),
        resource: "cpu".to_owned(),
    }
}

fn quota(nominal: i64, borrow: Option<i64>, lend: Option<i64>) -> Quota {
    let cpus = |cpus: i64| kueue_lab_reason::resources::Amount::new(cpus * 1000);
    Quota {
        nominal: cpus(nominal),
        borrowing_limit: borrow.map(cpus),
        lending_limit: lend.map(cpus),
    }
}

fn queue(name: &str, cohort: Option<&str>, q: Quota, used: i64) -> ClusterQueueRow {
    ClusterQueueRow {
        meta: Meta {
            key: ObjectKey::cluster(name),
            ..Meta::default()
        },
        cohort: cohort.map(str::to_owned),
        quotas: vec![(fr(), q)],
        reservation: [(fr(), Amount::units(used))].into(),
        ..ClusterQueueRow::default()
    }
}

fn cohort(name: &str, parent: Option<&str>, q: Option<Quota>) -> CohortRow {
    CohortRow {
        meta: Meta {
            key: ObjectKey::cluster(name),
            ..Meta::default()
        },
        parent: parent.map(str::to_owned),
        quotas: q.into_iter().map(|q| (fr(), q)).collect(),
        ..CohortRow::default()
    }
}

fn status(tree: &CohortTree, name: &str) -> QuotaStatus {
    tree.quota_status(&QuotaNode::ClusterQueue(name.to_owned()), &fr())
}

#[test]
fn a_queue_without_cohort_has_its_own_quota() {
    let queues = [queue("a", None, quota(9, None, None), 6)];
    let tree = CohortTree::build(queues.iter(), [].iter());
    let s = status(&tree, "a");
    assert_eq!(s.available, Amount::units(3));
    assert_eq!(s.potential_available, Amount::units(9));
    assert_eq!((s.borrowed, s.lent_max), (Amount::ZERO, Amount::ZERO));
}

#[test]
fn the_only_lender_lends_the_borrowed_quota() {
    let queues = [
        queue("borrower", Some("team"), quota(6, None, None), 8),
        queue("lender", Some("team"), quota(6, None, None), 1),
    ];
    let tree = CohortTree::build(queues.iter(), [].iter());
    let (borrower, lender) = (status(&tree, "borrower"), status(&tree, "lender"));
    assert_eq!(borrower.borrowed, Amount::units(2));
    assert_eq!(borrower.potential_available, Amount::units(12));
    assert_eq!(borrower.available, Amount::units(3));
    assert_eq!(
        (lender.lent_min, lender.lent_max),
        (Amount::units(2), Amount::units(2))
    );
    assert_eq!(lender.available, Amount::units(3));
    let team = QuotaNode::Cohort("team".to_owned());
    assert_eq!(tree.quota_status(&team, &fr()).usage, Amount::units(9));
    assert!(!tree.exists(&team));
}

#[test]
fn with_two_lenders_there_is_a_range() {
    let queues = [
        queue("a", Some("team"), quota(2, None, None), 5),
        queue("b", Some("team"), quota(2, None, None), 0),
        queue("c", Some("team"), quota(4, None, None), 0),
    ];
    let tree = CohortTree::build(queues.iter(), [].iter());
    let (b, c) = (status(&tree, "b"), status(&tree, "c"));
    assert_eq!((b.lent_min, b.lent_max), (Amount::ZERO, Amount::units(2)));
    assert_eq!(
        (c.lent_min, c.lent_max),
        (Amount::units(1), Amount::units(3))
    );
}

#[test]
fn limits_on_both_sides_hold() {
    let queues = [
        queue("a", Some("team"), quota(4, Some(1), None), 4),
        queue("b", Some("team"), quota(10, None, Some(3)), 0),
    ];
    let tree = CohortTree::build(queues.iter(), [].iter());
    assert_eq!(status(&tree, "a").available, Amount::units(1));
    assert_eq!(status(&tree, "a").potential_available, Amount::units(5));
    assert_eq!(status(&tree, "b").potential_available, Amount::units(14));
    assert_eq!(status(&tree, "b").available, Amount::units(10));
}

#[test]
fn quota_travels_through_parents() {
    let cohorts = [
        cohort("org", None, Some(quota(3, None, None))),
        cohort("left", Some("org"), None),
        cohort("right", Some("org"), None),
    ];
    let queues = [
        queue("l", Some("left"), quota(2, None, None), 6),
        queue("r", Some("right"), quota(5, None, None), 0),
    ];
    let tree = CohortTree::build(queues.iter(), cohorts.iter());
    let (l, r) = (status(&tree, "l"), status(&tree, "r"));
    assert_eq!(l.borrowed, Amount::units(4));
    assert_eq!(l.available, Amount::units(4));
    // Three of the four may come from org's own quota, so at least one is r's.
    assert_eq!(
        (r.lent_min, r.lent_max),
        (Amount::units(1), Amount::units(4))
    );
    let quota_node = QuotaNode::ClusterQueue("l".to_owned());
    assert_eq!(tree.path(&quota_node), ["org", "left"]);
    let root = tree.root(&quota_node).clone();
    assert_eq!(tree.descendant_cluster_queues(&root), ["l", "r"]);
}

#[test]
fn a_circle_of_cohorts_is_cut_and_marked() {
    let cohorts = [
        cohort("a", Some("b"), None),
        cohort("b", Some("a"), None),
        cohort("c", Some("a"), None),
    ];
    let queues = [queue("q", Some("c"), quota(1, None, None), 0)];
    let tree = CohortTree::build(queues.iter(), cohorts.iter());
    assert!(tree.in_cycle(&QuotaNode::Cohort("a".to_owned())));
    assert!(tree.in_cycle(&QuotaNode::Cohort("b".to_owned())));
    assert!(!tree.in_cycle(&QuotaNode::Cohort("c".to_owned())));
    assert_eq!(tree.roots().count(), 2);
}

proptest! {
    #[test]
    fn lent_quota_is_idle_and_borrowed_quota_is_covered(
        queues in prop::collection::vec((0i64..20, prop::option::of(0i64..10), prop::option::of(0i64..10), 0i64..30), 1..6),
        own in 0i64..10,
    ) {
        let queues: Vec<_> = queues
            .iter()
            .enumerate()
            .map(|(i, (n, b, l, u))| queue(&format!("q{i}"), Some("team"), quota(*n, *b, *l), *u))
            .collect();
        let cohorts = [cohort("team", None, Some(quota(own, None, None)))];
        let tree = CohortTree::build(queues.iter(), cohorts.iter());
        let mut least = Amount::ZERO;
        let mut borrowed = Amount::ZERO;
        for q in &queues {
            let s = status(&tree, &q.meta.key.name);
            prop_assert!(s.lent_min <= s.lent_max);
            prop_assert!(s.lent_max <= s.nominal.minus(s.usage).max(Amount::ZERO));
            prop_assert!(s.available <= s.potential_available.minus(s.usage));
            least = least.plus(s.lent_min);
            borrowed = borrowed.plus(s.borrowed);
        }
        prop_assert!(least <= borrowed);
    }
}
