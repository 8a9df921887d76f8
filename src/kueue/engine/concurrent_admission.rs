//! Concurrent admission: one variant of a Workload per flavor; the most favorable admitted variant
//! stays.
//!
//! Must not depend on ClusterQueues.

use super::feature_gates::Gates;
use super::workload::predicates::{annotation, label};
use kueue_lab_api::constants as c;
use kueue_lab_api::v1beta2::{API_VERSION, Workload};

/// Whether the Workload is a parent of variants, which is never scheduled itself.
pub fn is_parent(wl: &Workload) -> bool {
    label(wl, c::CONCURRENT_ADMISSION_PARENT_LABEL) == Some("true")
}

/// The Workload this one is a variant of: name and UID.
pub fn parent(wl: &Workload) -> Option<(&str, &str)> {
    let owners = wl.metadata.owner_references.iter().flatten();
    let mut owners = owners.filter(|o| o.kind == "Workload" && o.api_version == API_VERSION);
    owners.next().map(|o| (o.name.as_str(), o.uid.as_str()))
}

/// Whether the Workload is a variant of another.
pub fn is_variant(wl: &Workload) -> bool {
    parent(wl).is_some_and(|(name, _)| !name.is_empty())
}

/// The flavors that the allowed-resource-flavors annotation of a variant lists.
pub(crate) fn allowed_flavors(wl: &Workload) -> Option<Vec<&str>> {
    let list = annotation(wl, c::WORKLOAD_ALLOWED_RESOURCE_FLAVORS_ANNOTATION)?;
    if list.trim().is_empty() {
        return Some(Vec::new());
    }
    Some(list.split(',').map(str::trim).collect())
}

/// The flavor of a variant.
pub fn variant_flavor(wl: &Workload) -> Option<&str> {
    allowed_flavors(wl)?
        .first()
        .copied()
        .filter(|f| !f.is_empty())
}

/// Whether the Workload may use a flavor.
pub(crate) fn is_flavor_allowed(wl: &Workload, flavor: &str, gates: &Gates) -> bool {
    !gates.concurrent_admission
        || allowed_flavors(wl).is_none_or(|allowed| allowed.contains(&flavor))
}
