//! Quantities as the engine counts them: amounts of quota, requests, (flavor, resource) pairs.
//!
//! The bottom of the room. Must not know of queues, workloads or topology; everything else here
//! builds on it. `cpu` is counted in thousandths, every other resource in whole units.

mod amount;
mod decimal;
mod flavor_resource;
mod requests;
mod resource_formatter;
mod resource_name;

pub use amount::Amount;
pub use decimal::{Decimal, InvalidQuantity};
pub use flavor_resource::{
    FlavorName, FlavorResource, FlavorResourceId, FlavorResourceQuantities, FlavorResourceTable,
};
pub use requests::{Requests, ResourceList, resource_value};
pub use resource_formatter::ResourceFormatter;
pub use resource_name::ResourceName;

/// The amount of quota a quantity of `name` stands for: rounded up, and unlimited when it does not
/// fit 64 bits (for `cpu` in thousandths).
pub fn amount_from_quantity(name: ResourceName, quantity: Decimal) -> Amount {
    let limit = if name.is_cpu() {
        i64::MAX / 1000
    } else {
        i64::MAX
    };
    if quantity >= Decimal::from_int(limit) {
        return Amount::UNLIMITED;
    }
    Amount::new(resource_value(name, quantity))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quota_beyond_the_integers_is_unlimited() {
        let of =
            |name: &str, q: &str| amount_from_quantity(name.into(), Decimal::parse(q).unwrap());
        assert_eq!(of("cpu", "1E"), Amount::UNLIMITED);
        assert_eq!(of("cpu", "1P"), Amount::new(1_000_000_000_000_000_000));
        assert_eq!(of("memory", "1E"), Amount::new(1_000_000_000_000_000_000));
        assert_eq!(of("memory", "10E"), Amount::UNLIMITED);
        assert_eq!(of("cpu", "-1"), Amount::new(-1000));
        assert_eq!(of("example.com/gpu", "1.5m"), Amount::new(1));
    }
}
