//! [`JobSizes`]: the sizes of jobs that are tried out.

use std::collections::BTreeSet;

/// The number of sizes below the whole quota.
const PARTS: i64 = 8;

/// The sizes of jobs in a quota: whole units, or tenths of CPUs.
pub(super) struct JobSizes {
    /// The quota of all ClusterQueues and Cohorts of the tree.
    pub(super) total: i64,
    /// Ascending.
    pub(super) all: Vec<i64>,
    tenths: bool,
}

impl JobSizes {
    /// The sizes for the quota of a tree and the nominal quotas of the ClusterQueues of the jobs; `None` if
    /// no job is smaller than the quota.
    pub(super) fn new(resource: &str, sum: f64, nominal: [f64; 2]) -> Option<Self> {
        let tenths = resource == "cpu" && sum < PARTS as f64 / 2.0;
        let scale = if tenths { 10.0 } else { 1.0 };
        let units = |amount: f64| (amount * scale) as i64;
        let total = units(sum);
        let mut all: BTreeSet<i64> = match total <= PARTS {
            true => (1..=total).collect(),
            false => (1..=PARTS).map(|part| total * part / PARTS).collect(),
        };
        all.extend(nominal.iter().map(|quota| units(*quota)));
        all.retain(|size| (1..=total).contains(size));
        (total > 1).then(|| Self {
            total,
            all: all.into_iter().collect(),
            tenths,
        })
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
