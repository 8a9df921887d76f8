//! The constraints of a claim: attributes that are equal or different in all devices.

use k8s_openapi::api::resource::v1::{Device, DeviceAttribute, ResourceClaim};

use super::allocation_error::AllocationError;
use super::device_selection::Candidate;
use kueue_lab_controller_runtime::ObjectKey;

/// A constraint of a claim.
pub(super) struct Constraint<'a> {
    attribute: &'a str,
    /// Whether the values are different in all devices, and not the same.
    is_distinct: bool,
    /// The requests; all if there are none.
    requests: &'a [String],
}

impl<'a> Constraint<'a> {
    /// The constraints of a claim.
    ///
    /// # Errors
    /// One of them has no known type.
    pub(super) fn of(claim: &'a ResourceClaim) -> Result<Vec<Self>, AllocationError> {
        let devices = claim.spec.devices.as_ref();
        let constraints = devices.and_then(|d| d.constraints.as_ref());
        let constraints = constraints.into_iter().flatten().enumerate();
        let constraints = constraints.map(|(index, constraint)| {
            let requests = constraint.requests.as_deref().unwrap_or_default();
            let matched = constraint.match_attribute.as_deref();
            let matched = matched.map(|attribute| (attribute, false));
            let distinct = constraint.distinct_attribute.as_deref();
            let distinct = distinct.map(|attribute| (attribute, true));
            let (attribute, is_distinct) = matched.or(distinct).ok_or_else(|| {
                let claim = ObjectKey::of(claim);
                AllocationError::EmptyConstraint { claim, index }
            })?;
            Ok(Self {
                attribute,
                is_distinct,
                requests,
            })
        });
        constraints.collect()
    }

    /// Whether the constraint is about a request with this name and full name.
    pub(super) fn applies(&self, (name, full): (&str, &str)) -> bool {
        let mut requests = self.requests.iter();
        self.requests.is_empty() || requests.any(|r| r == name || r == full)
    }

    /// Whether it holds for a device with the devices that were chosen before.
    pub(super) fn holds<'b>(
        &self,
        candidate: &Candidate<'_>,
        mut others: impl Iterator<Item = &'b Candidate<'b>>,
    ) -> bool {
        let value_of = |candidate: &Candidate<'_>| {
            let (device, driver) = (candidate.device, &candidate.id.driver);
            lookup_attribute(device, driver, self.attribute).cloned()
        };
        let Some(value) = value_of(candidate) else {
            return false;
        };
        let value = Some(value);
        match self.is_distinct {
            true => others.all(|other| value_of(other) != value),
            false => others.next().is_none_or(|first| value_of(first) == value),
        }
    }
}

/// An attribute by its fully qualified name. Names without a domain belong to the driver's.
fn lookup_attribute<'a>(
    device: &'a Device,
    driver: &str,
    name: &str,
) -> Option<&'a DeviceAttribute> {
    let attributes = device.attributes.as_ref()?;
    attributes.get(name).or_else(|| {
        let (domain, name) = name.split_once('/')?;
        attributes.get(name).filter(|_| domain == driver)
    })
}
