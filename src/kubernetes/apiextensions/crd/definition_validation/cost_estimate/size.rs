//! Estimates of sizes and costs; all operations saturate.

/// The cost of traversing a string, by character.
pub(super) const STRING_TRAVERSAL: f64 = 0.1;
/// The cost of a regular expression, by character.
pub(super) const REGEX_LENGTH: f64 = 0.25;

/// The size of a string, list or map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Size {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Size {
    pub(super) const UNKNOWN: Self = Self {
        min: 0,
        max: u64::MAX,
    };

    pub(super) fn fixed(size: u64) -> Self {
        Self {
            min: size,
            max: size,
        }
    }

    pub(super) fn up_to(max: u64) -> Self {
        Self { min: 0, max }
    }

    pub(super) fn add(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(super) fn multiply(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    pub(super) fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }

    /// The maximum cost of a traversal.
    pub(super) fn traversal(self) -> u64 {
        times(self.max, STRING_TRAVERSAL)
    }
}

/// Multiplies and rounds up.
pub(super) fn times(count: u64, factor: f64) -> u64 {
    let product = count as f64 * factor;
    // The conversion saturates.
    product.ceil() as u64
}
