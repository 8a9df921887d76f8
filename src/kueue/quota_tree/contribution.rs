//! What a node contributes to its parent, and changes of it.

use crate::flavor_resource::FlavorResourceId;
use crate::flavor_resource_quota::FlavorResourceQuota;
use crate::resources::Amount;

/// What a node contributes to its parent for one flavor resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contribution {
    pub(crate) fr: FlavorResourceId,
    /// The subtree quota above the local quota; none when the subtree does not have the flavor resource.
    pub(crate) lent: Option<Amount>,
    /// The usage above the local quota.
    pub(crate) used: Amount,
}

impl Contribution {
    fn none(fr: FlavorResourceId) -> Self {
        FlavorResourceQuota::new(fr).contribution()
    }
}

/// A change of the contribution of a child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContributionChange {
    pub(crate) before: Contribution,
    pub(crate) after: Contribution,
}

/// The differences of two lists that are sorted by flavor resource.
pub(crate) fn contribution_changes(
    before: &[Contribution],
    after: &[Contribution],
) -> Vec<ContributionChange> {
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    let mut changes = Vec::new();
    while let Some(fr) = before
        .peek()
        .into_iter()
        .chain(after.peek())
        .map(|c| c.fr)
        .min()
    {
        let none = Contribution::none(fr);
        let change = ContributionChange {
            before: *before.next_if(|c| c.fr == fr).unwrap_or(&none),
            after: *after.next_if(|c| c.fr == fr).unwrap_or(&none),
        };
        if change.before != change.after {
            changes.push(change);
        }
    }
    changes
}

impl FlavorResourceQuota {
    /// What the node contributes to its parent.
    pub(crate) fn contribution(&self) -> Contribution {
        Contribution {
            fr: self.fr,
            lent: self.subtree.map(|subtree| subtree.minus(self.local_quota)),
            used: self.usage.minus(self.local_quota).or_zero(),
        }
    }
}
