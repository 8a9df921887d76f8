//! [`QuotaRaise`]: higher quotas or limits of several resources, and the smallest that admit.

use jiff::Timestamp;

use super::admitting_change::{AdmittingChange, QuotaIncrease};
use super::changed_state::ChangedState;
use super::object_quota::ObjectQuota;
use super::verified_change::VerifiedChange;
use crate::EngineDriver;
use kueue_lab_engine::resources::ResourceName;

/// The maximum number of doublings of the requests of a field.
const MAX_DOUBLINGS: u32 = 10;

/// The quota or limit of a resource.
#[derive(Clone, Debug)]
struct RaisedAmount {
    resource: ResourceName,
    now: i64,
    /// The first increase.
    more: i64,
    to: i64,
}

/// A field with higher amounts in a flavor.
#[derive(Clone, Debug)]
pub(super) struct RaisedField {
    pub(super) field: ObjectQuota,
    pub(super) flavor: String,
    amounts: Vec<RaisedAmount>,
}

/// Places that are raised together.
#[derive(Clone, Debug)]
pub(super) struct QuotaRaise {
    pub(super) fields: Vec<RaisedField>,
}

impl RaisedField {
    /// A field with `more` of the resources in a flavor. `None` if there is nothing to raise.
    pub(super) fn new(
        state: &ChangedState<'_>,
        field: ObjectQuota,
        flavor: &str,
        more: &[(ResourceName, i64)],
    ) -> Option<Self> {
        let engine = state.base.engine();
        let amounts = more.iter().filter_map(|&(resource, more)| {
            let now = field.amount_now(engine, flavor, resource)?;
            Some(RaisedAmount {
                resource,
                now,
                more,
                to: now,
            })
        });
        let amounts: Vec<RaisedAmount> = amounts.collect();
        (!amounts.is_empty()).then(|| Self {
            field,
            flavor: flavor.to_owned(),
            amounts,
        })
    }

    /// The resources that are raised.
    pub(super) fn resources(&self) -> Vec<ResourceName> {
        self.amounts.iter().map(|amount| amount.resource).collect()
    }

    fn apply(&self, driver: &mut EngineDriver, now: Timestamp) {
        let is_uncovered = matches!(self.field, ObjectQuota::Uncovered(_));
        let raised = self.amounts.iter();
        let raised = raised.filter(|amount| is_uncovered || amount.to > amount.now);
        let raised: Vec<_> = raised.map(|amount| (amount.resource, amount.to)).collect();
        if raised.is_empty() {
            return;
        }
        let changed = self.field.raised(driver.engine(), &self.flavor, &raised);
        if let Some(changed) = changed {
            changed.apply(driver, now);
        }
    }

    fn change(&self, state: &ChangedState<'_>) -> Option<AdmittingChange> {
        let formatter = &state.base.engine().config().formatter;
        let is_uncovered = matches!(self.field, ObjectQuota::Uncovered(_));
        let raised = self.amounts.iter();
        let raised = raised.filter(|amount| is_uncovered || amount.to > amount.now);
        let increases = raised.map(|amount| QuotaIncrease {
            resource: amount.resource.as_str().to_owned(),
            from: formatter.text(amount.resource, amount.now),
            to: formatter.text(amount.resource, amount.to),
        });
        let increases: Vec<QuotaIncrease> = increases.collect();
        (!increases.is_empty()).then(|| self.field.change(&self.flavor, increases))
    }
}

impl QuotaRaise {
    /// Raises the fields in a driver.
    pub(super) fn apply(&self, driver: &mut EngineDriver, now: Timestamp) {
        for field in &self.fields {
            field.apply(driver, now);
        }
    }

    fn admits(&self, state: &ChangedState<'_>) -> bool {
        state.admits(|driver, now| self.apply(driver, now), |_| {})
    }

    /// The raise with a multiple of the first increase.
    fn scaled(&self, factor: i64) -> Self {
        let mut scaled = self.clone();
        for amount in scaled.fields.iter_mut().flat_map(|p| &mut p.amounts) {
            let to = amount
                .now
                .saturating_add(amount.more.saturating_mul(factor));
            amount.to = rounded_up(amount.resource, to);
        }
        scaled
    }

    /// The raise with the highest amounts that are tried.
    pub(super) fn highest(&self) -> Self {
        self.scaled(1 << MAX_DOUBLINGS)
    }

    /// Whether the highest amounts admit.
    pub(super) fn can_admit(&self, state: &ChangedState<'_>) -> bool {
        self.highest().admits(state)
    }

    /// The raise of which no amount can be smaller, if the highest amounts admit.
    pub(super) fn smallest(&self, state: &ChangedState<'_>) -> Option<Self> {
        let mut scales = (0..=MAX_DOUBLINGS).map(|doublings| self.scaled(1 << doublings));
        let mut raise = scales.find(|raise| raise.admits(state))?;
        for field in 0..raise.fields.len() {
            let amounts = raise.fields.get(field).map_or(0, |p| p.amounts.len());
            for amount in 0..amounts {
                raise.reduce(state, field, amount);
            }
        }
        Some(raise)
    }

    /// Reduces one amount by bisection to the smallest with which the raise admits.
    fn reduce(&mut self, state: &ChangedState<'_>, field: usize, index: usize) {
        let Some(amount) = self.amount_mut(field, index).map(|amount| amount.clone()) else {
            return;
        };
        let unit = unit(amount.resource);
        let with = |raise: &Self, to: i64| {
            let mut tried = raise.clone();
            if let Some(amount) = tried.amount_mut(field, index) {
                amount.to = to;
            }
            tried.admits(state).then_some(tried)
        };
        if let Some(unchanged) = with(self, amount.now) {
            *self = unchanged;
            return;
        }
        // In units: the last that does not admit, and the first that does.
        let mut below = amount.now.div_euclid(unit);
        let mut found = amount.to.div_euclid(unit);
        while found - below > 1 {
            let middle = below + (found - below) / 2;
            match with(self, middle.saturating_mul(unit)) {
                Some(smaller) => {
                    *self = smaller;
                    found = middle;
                }
                None => below = middle,
            }
        }
    }

    fn amount_mut(&mut self, field: usize, index: usize) -> Option<&mut RaisedAmount> {
        self.fields.get_mut(field)?.amounts.get_mut(index)
    }

    /// The change with the preemptions of a last run; `None` if it does not admit.
    pub(super) fn verified(&self, state: &ChangedState<'_>) -> Option<VerifiedChange> {
        let apply = |driver: &mut EngineDriver, now: Timestamp| self.apply(driver, now);
        Some(VerifiedChange {
            change: self.change(state)?,
            preemptions: state.preemptions_if_admitted(apply, |_| {})?,
        })
    }

    /// The change, with the raised fields only.
    fn change(&self, state: &ChangedState<'_>) -> Option<AdmittingChange> {
        let mut fields: Vec<&RaisedField> = self.fields.iter().collect();
        fields.sort_by_key(|field| (field.field.order(), &field.flavor));
        let changes = fields.iter().filter_map(|field| field.change(state));
        let mut changes: Vec<AdmittingChange> = changes.collect();
        match changes.len() {
            0 | 1 => changes.pop(),
            _ => Some(AdmittingChange::Combined { changes }),
        }
    }
}

/// The unit in which quota is written: whole CPUs, and whole mebibytes of memory.
fn unit(resource: ResourceName) -> i64 {
    match resource.as_str() {
        "cpu" => 1_000,
        "memory" | "ephemeral-storage" => 1 << 20,
        _ => 1,
    }
}

fn rounded_up(resource: ResourceName, amount: i64) -> i64 {
    let unit = unit(resource);
    let units = amount / unit + i64::from(amount % unit > 0);
    units.saturating_mul(unit)
}
