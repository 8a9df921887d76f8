//! [`CandidatesOfPage`]: the preemption candidates of the Workload whose details are open.

use crate::model::ObjectKey;
use crate::model::condition::Conditions;

/// The preemption candidates of the Workload whose details are open, as its engine gave them.
#[derive(Clone, Debug, Default)]
pub(crate) struct CandidatesOfPage {
    /// The Workload; `None` before the first page.
    pub workload: Option<ObjectKey>,
    /// Its conditions when they were requested. They change with each decision of another kind.
    pub conditions: Conditions,
    /// The candidates with their outcomes, one line; `None` without any, or while they are loaded.
    pub text: Option<String>,
}

impl CandidatesOfPage {
    /// Those of a Workload.
    pub(crate) fn of(&self, workload: &ObjectKey) -> Option<&str> {
        let text = self.text.as_deref();
        text.filter(|_| self.workload.as_ref() == Some(workload))
    }
}
