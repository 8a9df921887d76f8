//! The job logs of Helios (`cluster_log.csv`): one job of Slurm per record.

use super::csv_record::{Header, Record};
use super::error::RecordError;
use super::fields::{
    amount, between, cpu_quantity, duration, is_missing, pods, time, whole_quantity,
};
use super::job::{PodRequests, PodSets, TraceJob, spec};

/// Whether a header is that of a job log.
pub(super) fn is_header(header: &Header) -> bool {
    header.has(&[
        "job_id",
        "vc",
        "gpu_num",
        "node_num",
        "submit_time",
        "duration",
    ])
}

/// The job of a record: one pod for each node, which share its GPUs and CPUs. The queue is its virtual
/// cluster `vc`.
pub(super) fn job(
    record: &Record<'_>,
    line: usize,
    gpu_resource: &str,
    pod_sets: &mut PodSets,
) -> Result<TraceJob, RecordError> {
    let submitted = time("submit_time", record.get("submit_time"))?;
    let runs = match (record.get("start_time"), record.get("end_time")) {
        (start, end) if is_missing(start) || is_missing(end) => {
            duration("duration", record.get("duration"))?
        }
        (start, end) => {
            let (start, end) = (time("start_time", start)?, time("end_time", end)?);
            between(("submit_time", submitted), ("start_time", start))?;
            between(("start_time", start), ("end_time", end))?
        }
    };
    let nodes = match record.get("node_num") {
        missing if is_missing(missing) => 1,
        nodes => pods("node_num", nodes)?,
    };
    let each = |total: f64| total / f64::from(nodes);
    let mut requests = PodRequests::new();
    let cpus = each(amount("cpu_num", record.get("cpu_num"))?);
    requests.extend(cpu_quantity(cpus).map(|cpus| ("cpu".to_owned(), cpus)));
    let gpus = whole_quantity(each(amount("gpu_num", record.get("gpu_num"))?));
    requests.extend(gpus.map(|gpus| (gpu_resource.to_owned(), gpus)));
    Ok(TraceJob {
        line,
        name: record.get("job_id").to_owned(),
        queue: record.get("vc").to_owned(),
        submitted,
        duration: runs,
        spec: spec(vec![pod_sets.pod_set("main", nodes, requests)], 0),
    })
}
