//! Dominant resource share (DRS): the borrowed quota of a node relative to the lendable quota of
//! its parent cohort.
//!
//! Must not depend on workloads or preemption.

use std::cmp::Ordering;

use serde::Serialize;
use smallvec::SmallVec;

use crate::resources::{Amount, FlavorResourceId, FlavorResourceQuantities, ResourceName};
use kueue_lab_quota_tree::{CohortHierarchy, HierarchyNodeId};

/// The dominant resource share of a ClusterQueue or Cohort.
#[derive(Clone, Debug, PartialEq)]
pub struct Drs {
    /// The fair sharing weight of the node.
    pub weight: f64,
    /// The highest ratio, over all resources, of borrowed to lendable quota, in thousandths.
    pub unweighted_ratio: f64,
    /// The resource with the highest ratio; the first by name among equals.
    pub dominant_resource: Option<ResourceName>,
    /// Whether the node borrows.
    pub borrowing: bool,
    /// The borrowed flavor resources.
    pub borrowed: SmallVec<[FlavorResourceId; 4]>,
}

impl Drs {
    /// A share below any other.
    pub fn negative() -> Self {
        Drs {
            unweighted_ratio: -1.0,
            ..Drs::zero(1.0)
        }
    }

    fn zero(weight: f64) -> Self {
        Drs {
            weight,
            unweighted_ratio: 0.0,
            dominant_resource: None,
            borrowing: false,
            borrowed: SmallVec::new(),
        }
    }

    /// The share of a node, with `extra` requested in addition.
    pub fn of(
        hierarchy: &mut CohortHierarchy,
        id: HierarchyNodeId,
        extra: Option<&FlavorResourceQuantities>,
    ) -> Self {
        let mut drs = Drs::zero(hierarchy[id].weight);
        let Some(parent) = hierarchy.ancestors(id).next() else {
            return drs;
        };
        let mut borrowed: SmallVec<[(ResourceName, Amount); 4]> = SmallVec::new();
        let frs: SmallVec<[(FlavorResourceId, Amount); 8]> =
            hierarchy[id].resources.subtree_quotas().collect();
        for (fr, quota) in frs {
            let wanted = extra.map_or(Amount::ZERO, |e| e.get(fr));
            let over = wanted.plus(hierarchy[id].resources.usage(fr)).minus(quota);
            if over.is_positive() {
                drs.borrowed.push(fr);
                let resource = hierarchy.frs.resource(fr);
                match borrowed.iter_mut().find(|(r, _)| *r == resource) {
                    Some((_, sum)) => *sum = sum.plus(over),
                    None => borrowed.push((resource, over)),
                }
            }
        }
        if borrowed.is_empty() {
            return drs;
        }
        drs.borrowing = true;
        let lendable = hierarchy.lendable(parent);
        for (resource, amount) in borrowed {
            let lendable = lendable
                .iter()
                .find(|(r, _)| *r == resource)
                .map(|&(_, a)| a);
            let Some(lendable) = lendable.filter(|l| l.is_positive()) else {
                continue;
            };
            let ratio = amount.value() as f64 * 1000.0 / lendable.value() as f64;
            let first = drs
                .dominant_resource
                .is_none_or(|d| resource.as_str() < d.as_str());
            if ratio > drs.unweighted_ratio || (ratio == drs.unweighted_ratio && first) {
                drs.unweighted_ratio = ratio;
                drs.dominant_resource = Some(resource);
            }
        }
        drs
    }

    fn is_zero(&self) -> bool {
        self.unweighted_ratio == 0.0
    }

    fn zero_weight_borrows(&self) -> bool {
        self.weight == 0.0 && !self.is_zero()
    }

    /// Whether any of these requests is for a borrowed flavor resource.
    pub fn is_borrowing_on(&self, requested: &FlavorResourceQuantities) -> bool {
        self.borrowed
            .iter()
            .any(|&fr| requested.get(fr).is_positive())
    }

    /// The ratio divided by the weight; infinite for a node of weight zero that borrows.
    pub fn precise_weighted_share(&self) -> f64 {
        if self.is_zero() {
            0.0
        } else if self.weight == 0.0 {
            f64::INFINITY
        } else {
            self.unweighted_ratio / self.weight
        }
    }

    /// The weighted share rounded up, as in status; the maximum integer when infinite.
    pub fn rounded_weighted_share(&self) -> i64 {
        if self.zero_weight_borrows() {
            return i64::MAX;
        }
        self.precise_weighted_share().ceil() as i64
    }

    /// Orders by weighted share. Nodes of weight zero that borrow are above all others, and ordered
    /// by unweighted ratio.
    pub fn compare(&self, other: &Drs) -> Ordering {
        match (self.zero_weight_borrows(), other.zero_weight_borrows()) {
            (true, true) => self.unweighted_ratio.total_cmp(&other.unweighted_ratio),
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self
                .precise_weighted_share()
                .total_cmp(&other.precise_weighted_share()),
        }
    }
}

/// A share in a decision.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WeightedShare {
    /// The weighted share in thousandths; none when infinite.
    pub weighted_share: Option<f64>,
    /// The dominant resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dominant_resource: Option<ResourceName>,
}

impl From<&Drs> for WeightedShare {
    fn from(drs: &Drs) -> Self {
        let share = drs.precise_weighted_share();
        WeightedShare {
            weighted_share: share.is_finite().then_some(share),
            dominant_resource: drs.dominant_resource,
        }
    }
}
