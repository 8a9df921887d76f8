//! Converts quantities of quota to amounts.

use super::{Amount, Decimal, ResourceName, resource_value};

/// Converts a quantity of resource `name`: rounded up; unlimited if it does not fit 64 bits (in
/// milli-units for `cpu`).
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
    fn quota_beyond_64_bits_is_unlimited() {
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
