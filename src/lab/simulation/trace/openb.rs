//! The pod lists of Alibaba's cluster-trace-gpu-v2023 (`openb_pod_list_*.csv`): one pod per record, times
//! in seconds.

use super::csv_record::{Header, Record};
use super::error::RecordError;
use super::fields::{amount, between, cpu_quantity, is_missing, time, whole_quantity};
use super::job::{PodRequests, PodSets, TraceJob, spec};

/// Whether a header is that of a pod list.
pub(super) fn is_header(header: &Header) -> bool {
    header.has(&[
        "cpu_milli",
        "memory_mib",
        "num_gpu",
        "creation_time",
        "deletion_time",
    ])
}

/// The job of a pod. It runs from `scheduled_time` to `deletion_time`, or from `creation_time` if it was
/// never scheduled. A share of a GPU (`gpu_milli`) is a whole GPU. The queue is its `qos`.
pub(super) fn job(
    record: &Record<'_>,
    line: usize,
    gpu_resource: &str,
    pod_sets: &mut PodSets,
) -> Result<TraceJob, RecordError> {
    let created = time("creation_time", record.get("creation_time"))?;
    let deleted = time("deletion_time", record.get("deletion_time"))?;
    let scheduled = match record.get("scheduled_time") {
        missing if is_missing(missing) => created,
        scheduled => time("scheduled_time", scheduled)?,
    };
    between(("creation_time", created), ("scheduled_time", scheduled))?;
    let duration = between(("scheduled_time", scheduled), ("deletion_time", deleted))?;
    let mut requests = PodRequests::new();
    let cpus = amount("cpu_milli", record.get("cpu_milli"))? / 1_000.0;
    requests.extend(cpu_quantity(cpus).map(|cpus| ("cpu".to_owned(), cpus)));
    let memory = whole_quantity(amount("memory_mib", record.get("memory_mib"))?);
    requests.extend(memory.map(|mebibytes| ("memory".to_owned(), format!("{mebibytes}Mi"))));
    let gpus = whole_quantity(amount("num_gpu", record.get("num_gpu"))?);
    requests.extend(gpus.map(|gpus| (gpu_resource.to_owned(), gpus)));
    Ok(TraceJob {
        line,
        name: record.get("name").to_owned(),
        queue: record.get("qos").to_owned(),
        submitted: created,
        duration,
        spec: spec(vec![pod_sets.pod_set("main", 1, requests)], 0),
    })
}
