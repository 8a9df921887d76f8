//! [`QueueMapping`]: the LocalQueues that the queues of a trace are replayed in.

use std::collections::BTreeMap;

use kueue_lab_engine::workload::LocalQueueKey;

use super::replay_error::QueueMappingError;
use crate::trace::Trace;

/// Maps queues of a trace to LocalQueues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueueMapping(BTreeMap<String, String>);

/// The LocalQueue of each queue of a trace.
pub(super) struct MappedQueues {
    /// The index of the LocalQueue.
    pub(super) by_name: BTreeMap<String, usize>,
    /// Queues that are mapped by neither name nor option, and their LocalQueues.
    pub(super) assumed: Vec<String>,
}

impl QueueMapping {
    /// Reads `QUEUE=LOCALQUEUE` pairs. The queue `*` means all others; a LocalQueue is `NAME` or
    /// `NAMESPACE/NAME`.
    ///
    /// # Errors
    /// A pair without `=`, or a queue in two pairs.
    pub fn parse(pairs: &[String]) -> Result<Self, QueueMappingError> {
        let mut mapping = BTreeMap::new();
        for pair in pairs {
            let Some((from, to)) = pair.split_once('=') else {
                return Err(QueueMappingError::NotAPair(pair.clone()));
            };
            if let Some(before) = mapping.insert(from.to_owned(), to.to_owned()) {
                return Err(QueueMappingError::MappedTwice {
                    queue: from.to_owned(),
                    first: before,
                    second: to.to_owned(),
                });
            }
        }
        Ok(Self(mapping))
    }

    /// A mapped queue that no job of a trace has.
    pub fn absent_from(&self, trace: &Trace) -> Option<&str> {
        let queues = trace.queues();
        let mut mapped = self.0.keys().map(String::as_str);
        mapped.find(|queue| *queue != "*" && !queues.contains(queue))
    }

    /// The LocalQueue of each queue of a trace: the mapped one, the one with its name, or else the
    /// LocalQueues in turn.
    ///
    /// # Errors
    /// A LocalQueue that does not exist.
    pub(super) fn resolve(
        &self,
        trace: &Trace,
        local_queues: &[LocalQueueKey],
    ) -> Result<MappedQueues, QueueMappingError> {
        let find = |name: &str| {
            let matches = |key: &LocalQueueKey| {
                let full = key.to_string();
                full == name || full.split_once('/').is_some_and(|(_, short)| short == name)
            };
            local_queues.iter().position(matches)
        };
        let known = || {
            let names: Vec<String> = local_queues.iter().map(ToString::to_string).collect();
            names.join(", ")
        };
        for to in self.0.values() {
            if find(to).is_none() {
                return Err(QueueMappingError::NoLocalQueue {
                    name: to.clone(),
                    existing: known(),
                });
            }
        }
        let mut mapped = MappedQueues {
            by_name: BTreeMap::new(),
            assumed: Vec::new(),
        };
        for job in &trace.jobs {
            if mapped.by_name.contains_key(&job.queue) {
                continue;
            }
            let named = self.0.get(&job.queue).or_else(|| self.0.get("*"));
            let found = named.map_or(job.queue.as_str(), String::as_str);
            let index = find(found).unwrap_or_else(|| {
                let index = mapped.assumed.len() % local_queues.len();
                let queue = match job.queue.as_str() {
                    "" => "(none)",
                    queue => queue,
                };
                let to = &local_queues[index];
                mapped.assumed.push(format!("{queue}={to}"));
                index
            });
            mapped.by_name.insert(job.queue.clone(), index);
        }
        Ok(mapped)
    }
}
