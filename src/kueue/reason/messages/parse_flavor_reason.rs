//! Parses the sentences of [`FlavorReason`].

use super::cursor::Cursor;
use super::parse_tas_failure::tas_failure;
use crate::resources::{Amount, FlavorName, ResourceName};
use crate::{FlavorReason, UntoleratedTaint};

/// The start of the reasons of the next pod set.
pub(super) const NEXT_POD_SET: &str = "; couldn't assign flavors to pod set ";

/// Takes reasons that are separated by commas, up to the next pod set.
pub(super) fn flavor_reasons(at: &mut Cursor<'_>) -> Vec<FlavorReason> {
    let mut reasons = Vec::new();
    loop {
        let reason = known_reason(at).unwrap_or_else(|| FlavorReason::Other {
            message: free_text(at).to_owned(),
        });
        reasons.push(reason);
        if at.take(", ").is_none() {
            return reasons;
        }
    }
}

/// Takes a text up to the next known reason, or the next pod set.
fn free_text<'a>(at: &mut Cursor<'a>) -> &'a str {
    let text = at.rest;
    let mut end = 0;
    loop {
        at.rest = &text[end..];
        if at.is_at_end() || at.rest.starts_with(NEXT_POD_SET) {
            break;
        }
        let mut next = *at;
        if next.take(", ").is_some() && known_reason(&mut next).is_some() {
            break;
        }
        end += at.rest.chars().next().map_or(1, char::len_utf8);
    }
    &text[..end]
}

/// Takes a reason with a known sentence and an end.
fn known_reason(from: &mut Cursor<'_>) -> Option<FlavorReason> {
    let mut quota = *from;
    let mut topology = *from;
    let (reason, at) = match reason(&mut quota) {
        Some(reason) => (reason, quota),
        None => {
            let failure = tas_failure(&mut topology, free_text)?;
            (FlavorReason::NoTopologyAssignment { failure }, topology)
        }
    };
    let has_end = at.is_at_end() || at.rest.starts_with(", ") || at.rest.starts_with(NEXT_POD_SET);
    has_end.then(|| {
        *from = at;
        reason
    })
}

fn reason(at: &mut Cursor<'_>) -> Option<FlavorReason> {
    if at.take("resource ").is_some() {
        let resource = resource(at)?;
        at.take(" unavailable in ClusterQueue")?;
        return Some(FlavorReason::ResourceUnavailable { resource });
    }
    if at.take("skipping flavor ").is_some() {
        let flavor = flavor(at)?;
        if at
            .take(" due to WorkloadAllowedResourceFlavorAnnotation annotation")
            .is_some()
        {
            return Some(FlavorReason::NotAllowed { flavor });
        }
        at.take(" as it is not found in the nomination mapping for resource ")?;
        let resource = resource(at)?;
        return Some(FlavorReason::NotNominated { flavor, resource });
    }
    if at.take("Flavor \"").is_some() {
        let flavor: FlavorName = at.until("\" ")?.into();
        if at.take("supports only TopologyAwareScheduling").is_some() {
            return Some(FlavorReason::OnlyTopologyAwareScheduling { flavor });
        }
        if at
            .take("does not support TopologyAwareScheduling")
            .is_some()
        {
            return Some(FlavorReason::NoTopologyAwareScheduling { flavor });
        }
        if at.take("information missing in TAS cache").is_some() {
            return Some(FlavorReason::NotInTasCache { flavor });
        }
        at.take("does not contain the requested level")?;
        return Some(FlavorReason::NoRequestedLevel { flavor });
    }
    if at.take("untolerated taint ").is_some() {
        let taint = taint(at)?;
        at.take(" in flavor ")?;
        let flavor = flavor(at)?;
        return Some(FlavorReason::UntoleratedTaint { flavor, taint });
    }
    if at.take("flavor ").is_some() {
        let flavor = flavor(at)?;
        if at.take(" not found").is_some() {
            return Some(FlavorReason::NotFound { flavor });
        }
        if at.take(" doesn't match node affinity").is_some() {
            return Some(FlavorReason::NodeAffinityMismatch { flavor });
        }
        at.take(" does not provide resource ")?;
        let resource = resource(at)?;
        return Some(FlavorReason::ResourceNotProvided { flavor, resource });
    }
    if at.take("insufficient quota for ").is_some() {
        let resource = resource(at)?;
        at.take(" in flavor ")?;
        let flavor = flavor(at)?;
        at.take(", previously considered podsets requests (")?;
        let taken_before = Amount::parse(resource, at.until(") + current podset request (")?)?;
        let requested = Amount::parse(resource, at.until(") > maximum capacity (")?)?;
        let capacity = Amount::parse(resource, at.until(")")?)?;
        return Some(FlavorReason::InsufficientQuota {
            flavor,
            resource,
            taken_before,
            requested: requested.value(),
            capacity,
        });
    }
    if at.take("insufficient unused quota for ").is_some() {
        let resource = resource(at)?;
        at.take(" in flavor ")?;
        let flavor = flavor(at)?;
        at.take(", ")?;
        let missing = Amount::parse(resource, at.until(" more needed")?)?;
        return Some(FlavorReason::InsufficientUnusedQuota {
            flavor,
            resource,
            missing,
        });
    }
    at.take("could not assign ")?;
    let flavor = at.until(" flavor since the original workload is assigned: ")?;
    let replaced = at.name().unwrap_or_default();
    Some(FlavorReason::OtherThanReplaced {
        flavor: flavor.into(),
        replaced: replaced.into(),
    })
}

fn resource(at: &mut Cursor<'_>) -> Option<ResourceName> {
    at.name().map(ResourceName::new)
}

fn flavor(at: &mut Cursor<'_>) -> Option<FlavorName> {
    at.name().map(FlavorName::from)
}

/// Takes a taint as `%v` of Go prints it, `{key value effect time}`, or as its String method does,
/// `&Taint{Key:…,Value:…,Effect:…,TimeAdded:…,}`.
fn taint(at: &mut Cursor<'_>) -> Option<UntoleratedTaint> {
    if at.take("&Taint{Key:").is_some() {
        let key = at.until(",Value:")?;
        let value = at.until(",Effect:")?;
        let effect = at.until(",TimeAdded:")?;
        let added = at.until(",}")?;
        return Some(untolerated_taint(key, value, effect, added));
    }
    at.take("{")?;
    let mut parts = at.until("}")?.splitn(4, ' ');
    let mut part = || parts.next();
    let (key, value, effect, added) = (part()?, part()?, part()?, part()?);
    Some(untolerated_taint(key, value, effect, added))
}

fn untolerated_taint(key: &str, value: &str, effect: &str, added: &str) -> UntoleratedTaint {
    UntoleratedTaint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect: effect.to_owned(),
        time_added: (added != "<nil>").then(|| added.to_owned()),
    }
}
