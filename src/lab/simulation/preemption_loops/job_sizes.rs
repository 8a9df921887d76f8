//! [`JobSizes`]: the sizes of jobs that are tried out.

use std::collections::BTreeSet;

use kueue_lab_engine::resources::{Amount, ResourceName};

/// The number of sizes below the whole quota.
const PARTS: i64 = 8;

/// The sizes of jobs in a quota: whole units, or tenths of CPUs.
pub(super) struct JobSizes {
    /// The quota of all ClusterQueues and Cohorts of the tree.
    pub(super) total: i64,
    /// Ascending.
    pub(super) all: Vec<i64>,
    /// The amount of size 1.
    unit: i64,
    /// Whether a size is a tenth of a CPU.
    tenths: bool,
}

impl JobSizes {
    /// The sizes for the quota of a tree and the nominal quotas of the ClusterQueues of the jobs; `None` if
    /// no job is smaller than the quota.
    pub(super) fn new(resource: ResourceName, sum: Amount, nominal: [Amount; 2]) -> Option<Self> {
        let tenths = resource.is_cpu() && sum < Amount::new(PARTS * 1000 / 2);
        let unit = match (tenths, resource.is_cpu()) {
            (true, _) => 100,
            (false, true) => 1000,
            (false, false) => 1,
        };
        let total = sum.value() / unit;
        let mut all: BTreeSet<i64> = match total <= PARTS {
            true => (1..=total).collect(),
            false => (1..=PARTS)
                .map(|part| (i128::from(total) * i128::from(part) / i128::from(PARTS)) as i64)
                .collect(),
        };
        all.extend(nominal.iter().map(|quota| quota.value() / unit));
        all.retain(|size| (1..=total).contains(size));
        (total > 1).then(|| Self {
            total,
            all: all.into_iter().collect(),
            unit,
            tenths,
        })
    }

    /// The amount of a size.
    pub(super) fn amount(&self, size: i64) -> Amount {
        Amount::new(size.saturating_mul(self.unit))
    }

    /// A size as a quantity.
    pub(super) fn quantity(&self, size: i64) -> String {
        match self.tenths && size % 10 != 0 {
            true => format!("{}m", size * 100),
            false if self.tenths => (size / 10).to_string(),
            false => size.to_string(),
        }
    }
}
