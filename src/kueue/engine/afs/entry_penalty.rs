//! The entry penalty: usage added to a LocalQueue when one of its Workloads reserves quota.

use super::consumed_usage::{alpha, scaled};
use crate::config::AdmissionFairSharing;
use crate::kube::pod_requests::ExactList;
use crate::resources::{Decimal, Requests, ResourceName};

/// The entry penalty of a workload with these requests: one sampling interval of usage.
pub(crate) fn entry_penalty(requests: &Requests, config: &AdmissionFairSharing) -> ExactList {
    let alpha = alpha(
        config.usage_sampling_interval.as_secs_f64(),
        config.usage_half_life.as_secs_f64(),
    );
    scaled(&exact_requests(requests), alpha)
}

/// Integer requests as exact quantities.
pub(crate) fn exact_requests(requests: &Requests) -> ExactList {
    let exact = |name: ResourceName, value| {
        if name.is_cpu() {
            Decimal::from_milli(value)
        } else {
            Decimal::from_int(value)
        }
    };
    requests
        .iter()
        .map(|(name, value)| (name, exact(name, value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::afs::test_fixtures::{config, cpu};

    #[test]
    fn zero_half_life_gives_zero_penalty() {
        let requests = [(ResourceName::cpu(), 1000)].into_iter().collect();
        assert_eq!(entry_penalty(&requests, &config(0)), cpu("0"));
        assert_eq!(entry_penalty(&requests, &config(300)), cpu("500m"));
    }
}
