//! Amounts of a resource, in thousandths of its unit, and their display.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Wire;

use kueue_lab_quantity::Quantity;
use kueue_lab_reason::TextStyle;
use kueue_lab_reason::resources::{Amount as QuotaAmount, ResourceName};

/// An amount of a resource, in thousandths of its unit (cores, bytes, devices). Arithmetic
/// saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(i128);

impl From<Quantity> for Amount {
    fn from(quantity: Quantity) -> Self {
        if quantity.is_integer() {
            Self::units(quantity.value())
        } else {
            Self::milli(quantity.milli_value())
        }
    }
}

impl Amount {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// A quota without limit.
    pub const UNLIMITED: Self = Self(i128::MAX);

    /// An amount of quota of a resource.
    pub fn of_quota(resource: ResourceName, amount: QuotaAmount) -> Self {
        match (amount.is_unlimited(), resource.is_cpu()) {
            (true, _) => Self::UNLIMITED,
            (false, true) => Self::milli(amount.value()),
            (false, false) => Self::units(amount.value()),
        }
    }

    /// The amount of quota of a resource; fractions of units are rounded up.
    pub(crate) fn to_quota(self, resource: ResourceName) -> QuotaAmount {
        if self == Self::UNLIMITED {
            return QuotaAmount::UNLIMITED;
        }
        if resource.is_cpu() {
            let milli = self.0.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
            return QuotaAmount::new(milli as i64);
        }
        QuotaAmount::new(self.ceil())
    }

    /// A whole number of units.
    pub fn units(n: i64) -> Self {
        Self(i128::from(n) * 1000)
    }

    /// A number of thousandths.
    pub fn milli(n: i64) -> Self {
        Self(i128::from(n))
    }

    /// Converts a quantity; an invalid quantity is zero.
    pub fn of(quantity: &Wire) -> Self {
        Quantity::parse(&quantity.0).map_or(Self::ZERO, Self::from)
    }

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference; may be negative.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `n` times the amount.
    #[must_use]
    pub fn times(self, n: i64) -> Self {
        Self(self.0.saturating_mul(i128::from(n)))
    }

    /// Whole units, rounded up.
    pub fn ceil(self) -> i64 {
        let up = self.0.saturating_add(999).div_euclid(1000);
        up.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// How many of `cells` the amount fills if `full` fills all. Any amount above zero fills at least
    /// one, and only `full` fills all.
    pub(crate) fn bar_cells(self, full: Self, cells: usize) -> usize {
        if self.0 <= 0 || full.0 <= 0 || cells == 0 {
            return 0;
        }
        if self.0 >= full.0 {
            return cells;
        }
        let share = (self.0 as f64 / full.0 as f64 * cells as f64).round() as usize;
        share.clamp(1, cells.max(2) - 1).min(cells)
    }

    /// The percentage of `full`, rounded down; 0 if `full` is zero.
    pub fn percent(self, full: Self) -> i64 {
        if full.0 <= 0 {
            return 0;
        }
        (self.0 as f64 / full.0 as f64 * 100.0) as i64
    }
}

impl std::iter::Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Self::plus)
    }
}

/// The amount as text: cores with a fraction, bytes with a binary suffix, other resources as a
/// count.
pub(crate) fn amount_text(resource: &str, amount: Amount) -> String {
    if amount == Amount::UNLIMITED {
        return "unlimited".to_owned();
    }
    let sign = if amount.0 < 0 { "-" } else { "" };
    let size = amount.0.unsigned_abs();
    if is_bytes(resource) {
        return format!("{sign}{}", bytes(size / 1000));
    }
    let (whole, rest) = (size / 1000, size % 1000);
    if whole == 0 && rest > 0 {
        format!("{sign}{rest}m")
    } else if rest > 0 {
        let fraction = format!("{rest:03}");
        format!("{sign}{whole}.{}", fraction.trim_end_matches('0'))
    } else {
        format!("{sign}{whole}")
    }
}

/// The short name of a resource: the part after the domain.
pub(crate) fn resource_label(resource: &str) -> &str {
    resource.rsplit('/').next().unwrap_or(resource)
}

/// The short amounts and names of resources of the UI.
pub(crate) struct ShortTexts;

impl TextStyle for ShortTexts {
    fn amount(&self, resource: ResourceName, amount: QuotaAmount) -> String {
        amount_text(resource.as_str(), Amount::of_quota(resource, amount))
    }

    fn resource(&self, resource: ResourceName) -> &'static str {
        resource_label(resource.as_str())
    }
}

/// Whether a resource is counted in bytes.
fn is_bytes(resource: &str) -> bool {
    resource == "memory"
        || resource == "storage"
        || resource.ends_with("storage")
        || resource.starts_with("hugepages-")
}

/// Bytes with the largest suitable binary suffix, to one decimal place.
fn bytes(n: u128) -> String {
    const SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    let mut power = 0;
    while power + 1 < SUFFIXES.len() && n >> (10 * (power + 1)) > 0 {
        power += 1;
    }
    let unit = 1u128 << (10 * power);
    let (whole, tenths) = (n / unit, n % unit * 10 / unit);
    if tenths == 0 {
        format!("{whole}{}", SUFFIXES[power])
    } else {
        format!("{whole}.{tenths}{}", SUFFIXES[power])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(text: &str) -> Amount {
        Amount::of(&Wire(text.to_owned()))
    }

    #[test]
    fn amounts_read_in_their_unit() {
        assert_eq!(amount_text("cpu", of("6")), "6");
        assert_eq!(amount_text("cpu", of("1500m")), "1.5");
        assert_eq!(amount_text("cpu", of("250m")), "250m");
        assert_eq!(amount_text("memory", of("64Gi")), "64Gi");
        assert_eq!(amount_text("memory", of("1500Mi")), "1.4Gi");
        assert_eq!(amount_text("memory", of("0")), "0");
        assert_eq!(amount_text("nvidia.com/gpu", of("8")), "8");
        assert_eq!(resource_label("nvidia.com/gpu"), "gpu");
    }

    #[test]
    fn a_little_shows_and_almost_full_is_not_full() {
        let full = Amount::units(1000);
        assert_eq!(Amount::milli(1).bar_cells(full, 10), 1);
        assert_eq!(Amount::units(999).bar_cells(full, 10), 9);
        assert_eq!(full.bar_cells(full, 10), 10);
        assert_eq!(Amount::units(5000).bar_cells(full, 10), 10);
        assert_eq!(Amount::units(1).bar_cells(full, 1), 1);
    }

    proptest! {
        #[test]
        fn absurd_quantities_do_no_harm(text in "-?[0-9]{1,30}(\\.[0-9]{1,30})?(m|k|Gi|E|e[0-9]{1,4})?", n in any::<i64>()) {
            let amount = of(&text).times(n).plus(of(&text));
            amount_text("cpu", amount);
            amount_text("memory", amount);
            prop_assert!(amount.bar_cells(of(&text), 7) <= 7);
            amount.percent(of(&text));
            amount.ceil();
        }
    }
}
