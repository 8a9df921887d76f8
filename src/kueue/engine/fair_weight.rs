//! The fair sharing weight of ClusterQueues, Cohorts and LocalQueues.

use crate::resources::Decimal;
use kueue_lab_api::v1beta2::FairSharing;

/// `spec.fairSharing.weight`, 1 by default.
pub(crate) fn fair_weight(fair_sharing: Option<&FairSharing>) -> f64 {
    let weight = fair_sharing.and_then(|f| f.weight.as_ref());
    weight.map_or(1.0, |w| Decimal::parse_lossy(w).as_f64())
}
