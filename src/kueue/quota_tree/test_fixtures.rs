//! Quota for tests.

use crate::Quota;
use crate::resources::Amount;

/// Nominal quota with a borrowing limit and a lending limit.
pub(crate) fn quota(nominal: i64, borrow: Option<i64>, lend: Option<i64>) -> Quota {
    Quota {
        nominal: nominal.into(),
        borrowing_limit: borrow.map(Amount::new),
        lending_limit: lend.map(Amount::new),
    }
}
