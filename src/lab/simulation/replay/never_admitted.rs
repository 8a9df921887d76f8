//! Why jobs of a replay were never admitted.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use k8s_openapi::api::core::v1::PodTemplateSpec;
use kueue_lab_api::v1beta2::PodSet;
use kueue_lab_reason::{PendingReason, PendingVerdict};

use super::outcome::NeverAdmitted;
use super::replayer::Replayer;

/// Jobs that were never admitted are explained up to this number of different ones.
const MAX_EXPLAINED: usize = 200;

impl Replayer<'_> {
    /// The reasons that jobs were never admitted, the most frequent reasons first, and the number of jobs that are not
    /// explained.
    pub(super) fn never_admitted(&mut self) -> (Vec<NeverAdmitted>, usize) {
        let mut groups = self.alike_never_admitted();
        groups.sort_by_key(|jobs| (Reverse(jobs.len()), jobs.first().copied()));
        let not_explained = groups.iter().skip(MAX_EXPLAINED).map(Vec::len).sum();
        groups.truncate(MAX_EXPLAINED);
        let mut reasons: BTreeMap<String, NeverAdmitted> = BTreeMap::new();
        for jobs in groups {
            let Some(&first) = jobs.first() else { continue };
            let key = self.runs[first].workload.clone();
            let explained = self.driver.engine_mut().explain(&key, self.now);
            let verdict = explained.and_then(|explained| explained.verdict);
            // No event follows at the end of a replay.
            let verdict = verdict.map(|verdict| match verdict.reason {
                PendingReason::AwaitsRequeue { behind, .. } => {
                    PendingReason::Fits { behind }.into()
                }
                _ => verdict,
            });
            let reason = verdict.map_or_else(String::new, |v: PendingVerdict| v.to_string());
            let job = &self.trace.jobs[first];
            let never = reasons.entry(reason.clone());
            let never = never.or_insert_with(|| NeverAdmitted {
                jobs: 0,
                first: job.name.clone(),
                line: job.line,
                reason,
            });
            never.jobs += jobs.len();
        }
        let mut reasons: Vec<NeverAdmitted> = reasons.into_values().collect();
        reasons.sort_by_key(|never| (Reverse(never.jobs), never.line));
        (reasons, not_explained)
    }

    /// The jobs that were never admitted. Jobs with the same queue and pods, which have the same reason,
    /// are together.
    fn alike_never_admitted(&self) -> Vec<Vec<usize>> {
        let mut templates = Templates::default();
        let mut alike: BTreeMap<(usize, String), Vec<usize>> = BTreeMap::new();
        for (index, (run, job)) in self.runs.iter().zip(&self.trace.jobs).enumerate() {
            if run.first_admitted.is_some() {
                continue;
            }
            let pod_sets = job.spec.pod_sets.iter();
            let pods: String = pod_sets.map(|pod_set| templates.pods(pod_set)).collect();
            alike.entry((run.queue, pods)).or_default().push(index);
        }
        alike.into_values().collect()
    }
}

/// Numbers different pod templates.
#[derive(Default)]
struct Templates {
    by_pointer: HashMap<*const PodTemplateSpec, usize>,
    by_text: HashMap<String, usize>,
    none: Arc<PodTemplateSpec>,
}

impl Templates {
    /// A text that is the same for pod sets with the same pods.
    fn pods(&mut self, pod_set: &PodSet) -> String {
        let pointer = Arc::as_ptr(&pod_set.template);
        let number = match self.by_pointer.get(&pointer) {
            Some(known) => *known,
            None => {
                let next = self.by_text.len();
                let text = format!("{:?}", pod_set.template);
                let number = *self.by_text.entry(text).or_insert(next);
                self.by_pointer.insert(pointer, number);
                number
            }
        };
        let rest = PodSet {
            template: self.none.clone(),
            ..pod_set.clone()
        };
        format!("{number} {rest:?}")
    }
}
