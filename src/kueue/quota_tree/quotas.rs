//! The quotas of a ClusterQueue or Cohort, from the resource groups of its spec.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;

use kueue_lab_api::v1beta2::{ResourceGroup, ResourceQuota};
use kueue_lab_quantity::Quantity;

use crate::flavor_resource::{FlavorResourceId, FlavorResourceTable};
use crate::flavor_resource_quota::Quota;
use crate::resources::{Amount, ResourceName};

/// The quotas of resource groups, in their order.
pub fn quotas(
    groups: &[ResourceGroup],
    frs: &mut FlavorResourceTable,
) -> Vec<(FlavorResourceId, Quota)> {
    let mut quotas = Vec::new();
    for flavor in groups.iter().flat_map(|group| &group.flavors) {
        for resource in &flavor.resources {
            let name = ResourceName::new(&resource.name);
            let quota = quota(name, resource);
            quotas.push((frs.intern(&flavor.name, name), quota));
        }
    }
    quotas
}

/// The quota of a resource.
pub fn quota(name: ResourceName, resource: &ResourceQuota) -> Quota {
    let limit = |limit: &Option<Text>| limit.as_ref().map(|limit| amount(name, limit));
    Quota {
        nominal: amount(name, &resource.nominal_quota),
        borrowing_limit: limit(&resource.borrowing_limit),
        lending_limit: limit(&resource.lending_limit),
    }
}

/// The amount of a quantity of a validated object; zero if it is invalid.
pub fn amount(name: ResourceName, quantity: &Text) -> Amount {
    amount_from_quantity(name, Quantity::try_from(quantity).unwrap_or_default())
}

/// Converts a quantity of resource `name`: rounded up; unlimited if it does not fit 64 bits (in
/// milli-units for `cpu`).
pub fn amount_from_quantity(name: ResourceName, quantity: Quantity) -> Amount {
    let limit = if name.is_cpu() {
        i64::MAX / 1000
    } else {
        i64::MAX
    };
    if quantity >= Quantity::from_value(limit) {
        return Amount::UNLIMITED;
    }
    Amount::new(if name.is_cpu() {
        quantity.milli_value()
    } else {
        quantity.value()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quota_beyond_64_bits_is_unlimited() {
        let of = |name: &str, text: &str| amount(name.into(), &Text(text.to_owned()));
        assert_eq!(of("cpu", "1E"), Amount::UNLIMITED);
        assert_eq!(of("cpu", "1P"), Amount::new(1_000_000_000_000_000_000));
        assert_eq!(of("memory", "1E"), Amount::new(1_000_000_000_000_000_000));
        assert_eq!(of("memory", "10E"), Amount::UNLIMITED);
        assert_eq!(of("cpu", "-1"), Amount::new(-1000));
        assert_eq!(of("example.com/gpu", "1.5m"), Amount::new(1));
        assert_eq!(of("memory", "invalid"), Amount::ZERO);
    }
}
