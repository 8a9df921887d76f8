//! The attempts of a flavor assignment, by flavor.
//!
//! Must not depend on how flavors are assigned.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::granular_mode::{FlavorAssignmentMode, PreemptionMode, PreemptionPossibility};
use super::resource_attempt::{FlavorMismatch, ResourceAttempt};
use crate::cache::ResourceGroup;
use crate::queue::QuotaReservedReason;
use crate::resources::{FlavorName, ResourceFormatter, ResourceName};
use kueue_lab_reason::FlavorReason;

/// The attempt to assign one flavor to a pod set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlavorAssignmentAttempt {
    /// The flavor.
    pub flavor: FlavorName,
    /// The worst mode over the requested resources.
    pub mode: FlavorAssignmentMode,
    /// The borrowing level.
    pub borrow: usize,
    /// The result of the simulated preemption, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption_possibility: Option<PreemptionPossibility>,
    /// The reasons that it does not fit, each once.
    pub reasons: Vec<FlavorReason>,
    /// The reason that the pod set cannot use the flavor, if it cannot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<FlavorMismatch>,
    /// The quota of each resource that was evaluated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<ResourceAttempt>,
    /// The reason, when the mode is NoFit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_fit_reason: Option<QuotaReservedReason>,
}

impl FlavorAssignmentAttempt {
    /// An attempt with a flavor that the pod set cannot use.
    pub fn no_fit(
        flavor: FlavorName,
        reasons: Vec<FlavorReason>,
        mismatch: Option<FlavorMismatch>,
        reason: Option<QuotaReservedReason>,
    ) -> Self {
        FlavorAssignmentAttempt {
            flavor,
            mode: FlavorAssignmentMode::NoFit,
            borrow: 0,
            preemption_possibility: None,
            reasons,
            mismatch,
            resources: Vec::new(),
            no_fit_reason: reason,
        }
    }

    /// An attempt with a flavor whose quota was evaluated.
    pub fn evaluated(
        flavor: FlavorName,
        mode: PreemptionMode,
        borrow: usize,
        reasons: Vec<FlavorReason>,
        resources: Vec<ResourceAttempt>,
        reason: Option<QuotaReservedReason>,
    ) -> Self {
        FlavorAssignmentAttempt {
            flavor,
            mode: mode.mode(),
            borrow,
            preemption_possibility: mode.possibility(),
            reasons,
            mismatch: None,
            resources,
            no_fit_reason: reason,
        }
    }

    /// The format of Events: `flavor(preemptionMode=Reclaim;borrow=1;reason)`.
    fn describe(&self, formatter: &ResourceFormatter) -> String {
        let mut text = format!("{}(", self.flavor);
        match self.preemption_possibility {
            None => text.push_str(self.mode.as_str()),
            Some(p) => {
                text.push_str("preemptionMode=");
                text.push_str(p.as_str());
            }
        }
        if self.borrow > 0 {
            text.push_str(&format!(";borrow={}", self.borrow));
        }
        if !self.reasons.is_empty() {
            text.push(';');
            text.push_str(&FlavorReason::messages(&self.reasons, formatter).join(";"));
        }
        text.push(')');
        text
    }
}

/// The attempts of a group of pod sets merged over its resources, by flavor name.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlavorAssignmentAttempts(Vec<FlavorAssignmentAttempt>);

impl FlavorAssignmentAttempts {
    /// Merges the attempts for one resource. A flavor of the resource's group that was attempted
    /// for other resources, but not for this one, does not provide it.
    pub(crate) fn merge(
        &mut self,
        tried: Vec<FlavorAssignmentAttempt>,
        resource: ResourceName,
        group: Option<&ResourceGroup>,
        with_reasons: bool,
    ) {
        let present: SmallVec<[FlavorName; 8]> = tried.iter().map(|a| a.flavor.clone()).collect();
        for attempt in tried {
            self.merge_one(attempt, with_reasons);
        }
        let Some(group) = group.filter(|_| !present.is_empty()) else {
            return;
        };
        for attempt in &mut self.0 {
            let flavor = &attempt.flavor;
            if group.flavors.contains(flavor) && !present.contains(flavor) {
                attempt.mode = FlavorAssignmentMode::NoFit;
                let flavor = flavor.clone();
                let missing = FlavorReason::ResourceNotProvided { flavor, resource };
                add_unique(&mut attempt.reasons, [missing]);
                attempt
                    .mismatch
                    .get_or_insert(FlavorMismatch::MissingResource { resource });
                if with_reasons {
                    attempt.no_fit_reason = Some(QuotaReservedReason::NoMatchingFlavor);
                }
            }
        }
    }

    fn merge_one(&mut self, mut attempt: FlavorAssignmentAttempt, with_reasons: bool) {
        let index = self.0.binary_search_by(|a| a.flavor.cmp(&attempt.flavor));
        let known = match index {
            Ok(i) => &mut self.0[i],
            Err(i) => {
                let reasons = std::mem::take(&mut attempt.reasons);
                add_unique(&mut attempt.reasons, reasons);
                return self.0.insert(i, attempt);
            }
        };
        known.mode = known.mode.min(attempt.mode);
        known.borrow = known.borrow.max(attempt.borrow);
        known.preemption_possibility =
            match (known.preemption_possibility, attempt.preemption_possibility) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        add_unique(&mut known.reasons, attempt.reasons);
        known.mismatch = known.mismatch.take().or(attempt.mismatch);
        known.resources.extend(attempt.resources);
        known.no_fit_reason = with_reasons
            .then(|| QuotaReservedReason::most_severe(known.no_fit_reason, attempt.no_fit_reason))
            .flatten();
    }

    /// The attempts by flavor name.
    pub(crate) fn finish(self) -> Vec<FlavorAssignmentAttempt> {
        self.0
    }
}

fn add_unique(into: &mut Vec<FlavorReason>, more: impl IntoIterator<Item = FlavorReason>) {
    for reason in more {
        if !into.contains(&reason) {
            into.push(reason);
        }
    }
}

/// The attempted flavors of each pod set in Events, without those of mode Fit that do not borrow.
pub(crate) fn format_attempts_for_events<'a>(
    pod_sets: impl Iterator<Item = (&'a str, &'a [FlavorAssignmentAttempt])>,
    formatter: &ResourceFormatter,
) -> String {
    let mut parts = Vec::new();
    for (name, attempts) in pod_sets {
        let texts: Vec<String> = attempts
            .iter()
            .filter(|a| a.mode != FlavorAssignmentMode::Fit || a.borrow > 0)
            .map(|attempt| attempt.describe(formatter))
            .collect();
        if !texts.is_empty() {
            parts.push(format!("{name}: {}", texts.join(", ")));
        }
    }
    parts.join(" | ")
}
