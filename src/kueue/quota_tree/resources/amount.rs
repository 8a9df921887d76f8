//! [`Amount`]: an amount of quota in the integer unit of the resource, with a sentinel for
//! "unlimited".
//!
//! Must not depend on quota or flavors.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ResourceName;
use kueue_lab_quantity::Quantity;

/// An amount of quota or usage: milli-units for `cpu`, whole units for all other resources.
///
/// [`Amount::UNLIMITED`] is a quota that does not fit 64 bits. Arithmetic saturates and keeps the
/// sentinel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Amount(i64);

impl Amount {
    /// Zero.
    pub const ZERO: Amount = Amount(0);
    /// An unlimited quota (the largest 64-bit integer).
    pub const UNLIMITED: Amount = Amount(i64::MAX);

    /// A bounded amount of `value` units (`i64::MAX` is the unlimited sentinel).
    #[inline]
    pub const fn new(value: i64) -> Self {
        Amount(value)
    }

    /// Whether this is the unlimited sentinel.
    #[inline]
    pub const fn is_unlimited(self) -> bool {
        self.0 == i64::MAX
    }

    /// The amount of a resource that a message names: `<unlimited>` or a quantity. None for other
    /// texts.
    pub fn parse(resource: ResourceName, text: &str) -> Option<Amount> {
        if text == "<unlimited>" {
            return Some(Amount::UNLIMITED);
        }
        let quantity = Quantity::parse(text).ok()?;
        Some(Amount(match resource.is_cpu() {
            true => quantity.milli_value(),
            false => quantity.value(),
        }))
    }

    /// The integer value; `i64::MAX` for unlimited. For status, metrics and messages, not for quota
    /// arithmetic.
    #[inline]
    pub const fn value(self) -> i64 {
        self.0
    }

    /// Whether the amount is positive.
    #[inline]
    pub const fn is_positive(self) -> bool {
        self.0 > 0
    }

    /// Whether the amount is zero.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum; unlimited if either side is.
    #[inline]
    #[must_use]
    pub fn plus(self, other: Amount) -> Amount {
        if self.is_unlimited() || other.is_unlimited() {
            return Amount::UNLIMITED;
        }
        Amount(self.0.saturating_add(other.0))
    }

    /// The difference. Unlimited minus a bounded amount is unlimited, a bounded amount minus
    /// unlimited is the minimum integer, unlimited minus unlimited is zero.
    #[inline]
    #[must_use]
    pub fn minus(self, other: Amount) -> Amount {
        match (self.is_unlimited(), other.is_unlimited()) {
            (true, true) => Amount::ZERO,
            (true, false) => Amount::UNLIMITED,
            (false, true) => Amount(i64::MIN),
            (false, false) => Amount(self.0.saturating_sub(other.0)),
        }
    }

    /// The amount, or zero when it is negative.
    #[inline]
    #[must_use]
    pub fn or_zero(self) -> Amount {
        self.max(Amount::ZERO)
    }

    /// The amount as a float in the resource's usual unit (cores for `cpu`); infinite when
    /// unlimited. For metrics.
    #[inline]
    pub fn as_f64(self, is_cpu: bool) -> f64 {
        if self.is_unlimited() {
            f64::INFINITY
        } else if is_cpu {
            self.0 as f64 / 1000.0
        } else {
            self.0 as f64
        }
    }
}

impl From<i64> for Amount {
    fn from(value: i64) -> Self {
        Amount(value)
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.cmp(&other.0)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unlimited() {
            f.write_str("<unlimited>")
        } else {
            write!(f, "{}", self.0)
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_unlimited() {
            serializer.serialize_str("unlimited")
        } else {
            serializer.serialize_i64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Wire {
            Bounded(i64),
            Unlimited(String),
        }
        match Wire::deserialize(deserializer)? {
            Wire::Bounded(value) => Ok(Amount(value)),
            Wire::Unlimited(text) if text == "unlimited" => Ok(Amount::UNLIMITED),
            Wire::Unlimited(text) => Err(serde::de::Error::custom(format!(
                "{text:?} is not an amount"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unlimited_absorbs() {
        let u = Amount::UNLIMITED;
        let one = Amount::new(1);
        assert_eq!(u.plus(one), u);
        assert_eq!(one.plus(u), u);
        assert_eq!(u.minus(one), u);
        assert_eq!(one.minus(u), Amount::new(i64::MIN));
        assert_eq!(u.minus(u), Amount::ZERO);
        assert!(u > Amount::new(i64::MAX - 1));
    }

    #[test]
    fn saturates() {
        assert_eq!(
            Amount::new(i64::MIN).minus(Amount::new(1)),
            Amount::new(i64::MIN)
        );
        assert_eq!(
            Amount::new(i64::MAX - 1).plus(Amount::new(5)),
            Amount::UNLIMITED
        );
    }

    proptest! {
        #[test]
        fn plus_then_minus_is_identity_for_moderate_amounts(a in -1_000_000_000i64..1_000_000_000, b in -1_000_000_000i64..1_000_000_000) {
            prop_assert_eq!(Amount::new(a).plus(Amount::new(b)).minus(Amount::new(b)), Amount::new(a));
        }
    }
}
