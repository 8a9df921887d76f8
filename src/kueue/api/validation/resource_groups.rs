//! Validation of the resource groups and weights of ClusterQueue and Cohort.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;

use crate::field::{FieldError, FieldErrors, Path};
use crate::meta_validation::{NOT_NEGATIVE, not_negative, quantity};
use crate::name_validation;
use crate::v1beta2::{FairSharing, FlavorQuotas, ResourceGroup};
use kueue_lab_quantity::Quantity;

/// The owner of the validated groups.
#[derive(Clone, Copy)]
pub(super) struct QuotaOwner {
    /// Whether it has a parent to borrow from and lend to.
    pub(super) has_parent: bool,
    /// The field of the parent in messages.
    pub(super) parent: &'static str,
    /// Whether lendingLimit must be at most nominalQuota.
    pub(super) limits_lending_to_nominal: bool,
}

/// Validates the weight of fair sharing.
pub(super) fn fair_sharing(sharing: Option<&FairSharing>, path: &Path) -> FieldErrors {
    let Some(text) = sharing.and_then(|s| s.weight.as_ref()) else {
        return FieldErrors::new();
    };
    let weight = match quantity(text, path) {
        Ok(weight) => weight,
        Err(error) => return vec![error],
    };
    let nano = Quantity::parse("1n").unwrap_or_default();
    if weight.is_negative() {
        vec![FieldError::invalid(path, &weight.to_string(), NOT_NEGATIVE)]
    } else if !weight.is_zero() && weight <= nano {
        let detail = "When not 0, weight must be > 10e-9";
        vec![FieldError::invalid(path, &weight.to_string(), detail)]
    } else {
        FieldErrors::new()
    }
}

/// A resource or flavor is in one group only; limits need a parent.
pub(super) fn resource_groups(
    groups: &[ResourceGroup],
    owner: QuotaOwner,
    path: &Path,
) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let (mut resources, mut flavors) = (BTreeSet::new(), BTreeSet::new());
    for (i, group) in groups.iter().enumerate() {
        let path = path.index(i);
        for (j, name) in group.covered_resources.iter().enumerate() {
            let path = path.child("coveredResources").index(j);
            let form = name_validation::qualified_name(name);
            errors.extend(FieldError::invalid_for_each(&path, name, form));
            if !resources.insert(name) {
                errors.push(FieldError::duplicate(&path, name));
            }
        }
        for (j, flavor) in group.flavors.iter().enumerate() {
            let path = path.child("flavors").index(j);
            errors.extend(flavor_quotas(
                flavor,
                &group.covered_resources,
                owner,
                &path,
            ));
            if !flavors.insert(&flavor.name) {
                errors.push(FieldError::duplicate(&path.child("name"), &flavor.name));
            }
        }
    }
    errors
}

fn flavor_quotas(
    flavor: &FlavorQuotas,
    covered: &[String],
    owner: QuotaOwner,
    path: &Path,
) -> FieldErrors {
    let mut errors = FieldErrors::new();
    for (i, (resource, covered)) in flavor.resources.iter().zip(covered).enumerate() {
        let path = path.child("resources").index(i);
        if resource.name != *covered {
            errors.push(FieldError::invalid(
                &path.child("name"),
                &resource.name,
                "must match the name in coveredResources",
            ));
        }
        errors.extend(not_negative(
            &resource.nominal_quota,
            &path.child("nominalQuota"),
        ));
        if let Some(limit) = &resource.borrowing_limit {
            let path = path.child("borrowingLimit");
            errors.extend(limit_without_parent(limit, owner, &path));
            errors.extend(not_negative(limit, &path));
        }
        if let Some(limit) = &resource.lending_limit {
            let path = path.child("lendingLimit");
            errors.extend(not_negative(limit, &path));
            errors.extend(limit_without_parent(limit, owner, &path));
            if owner.limits_lending_to_nominal
                && let (Ok(lent), Ok(own)) = (
                    quantity(limit, &path),
                    quantity(&resource.nominal_quota, &path),
                )
                && lent > own
            {
                errors.push(FieldError::invalid(
                    &path,
                    &lent.to_string(),
                    "must be less than or equal to the nominalQuota",
                ));
            }
        }
    }
    errors
}

fn limit_without_parent(limit: &Text, owner: QuotaOwner, path: &Path) -> Option<FieldError> {
    if owner.has_parent {
        return None;
    }
    let shown = quantity(limit, path).map_or_else(|_| limit.0.clone(), |q| q.to_string());
    Some(FieldError::invalid(
        path,
        &shown,
        format!("must be nil when {} is empty", owner.parent),
    ))
}
