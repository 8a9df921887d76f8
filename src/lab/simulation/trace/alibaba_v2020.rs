//! The task table of Alibaba's cluster-trace-gpu-v2020 (`pai_task_table.csv`): one task of a job per
//! record, times in seconds, CPUs and GPUs in percent.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::csv_record::{Header, Record};
use super::error::RecordError;
use super::fields::{amount, between, cpu_quantity, is_missing, pods, time, whole_quantity};
use super::job::{PodRequests, PodSets, TraceJob, spec};
use kueue_lab_api::v1beta2::PodSet;

/// The columns of the file, which has no header.
const COLUMNS: [&str; 10] = [
    "job_name",
    "task_name",
    "inst_num",
    "status",
    "start_time",
    "end_time",
    "plan_cpu",
    "plan_mem",
    "plan_gpu",
    "gpu_type",
];

/// The most pod sets of a Workload.
const MAX_POD_SETS: usize = 18;

/// The header of a first line: the columns themselves, or those of the file if the line is a record.
pub(super) fn header(first_line: &str) -> Option<(Header, bool)> {
    let known = Header::of(&COLUMNS);
    let found = Header::new(first_line)?;
    if found.has(&["job_name", "inst_num", "plan_gpu", "start_time", "end_time"]) {
        return Some((found, true));
    }
    let names = found.names();
    let is_record = names.len() == COLUMNS.len()
        && ["Terminated", "Failed", "Running", "Waiting"].contains(&names[3].as_str());
    is_record.then_some((known, false))
}

/// The jobs whose tasks were read.
#[derive(Default)]
pub(super) struct TaskJobs {
    jobs: BTreeMap<String, TaskJob>,
    /// The jobs with an incomplete task that are left out.
    incomplete: BTreeSet<String>,
}

struct TaskJob {
    line: usize,
    start: Timestamp,
    end: Timestamp,
    gpu_type: String,
    pod_sets: Vec<PodSet>,
}

impl TaskJobs {
    /// Adds a task: its instances are pods of the job. The job is submitted when its first task starts,
    /// and runs until its last task ends. The queue is the `gpu_type` of its first task. A share of a GPU
    /// is a whole GPU.
    pub(super) fn add(
        &mut self,
        record: &Record<'_>,
        line: usize,
        gpu_resource: &str,
        pod_sets: &mut PodSets,
    ) -> Result<(), RecordError> {
        if is_missing(record.get("job_name")) {
            return Err(RecordError::missing("job_name is missing"));
        }
        let start = time("start_time", record.get("start_time"))?;
        let end = time("end_time", record.get("end_time"))?;
        between(("start_time", start), ("end_time", end))?;
        let count = pods("inst_num", record.get("inst_num"))?;
        let mut requests = PodRequests::new();
        let cpus = amount("plan_cpu", record.get("plan_cpu"))? / 100.0;
        requests.extend(cpu_quantity(cpus).map(|cpus| ("cpu".to_owned(), cpus)));
        let megabytes = whole_quantity(amount("plan_mem", record.get("plan_mem"))? * 1_000.0);
        requests.extend(megabytes.map(|megabytes| ("memory".to_owned(), format!("{megabytes}M"))));
        let gpus = whole_quantity(amount("plan_gpu", record.get("plan_gpu"))? / 100.0);
        requests.extend(gpus.map(|gpus| (gpu_resource.to_owned(), gpus)));
        match self.jobs.entry(record.get("job_name").to_owned()) {
            Entry::Vacant(entry) => {
                entry.insert(TaskJob {
                    line,
                    start,
                    end,
                    gpu_type: record.get("gpu_type").to_owned(),
                    pod_sets: vec![pod_sets.pod_set("task-0", count, requests)],
                });
            }
            Entry::Occupied(mut entry) => {
                let job = entry.get_mut();
                job.start = job.start.min(start);
                job.end = job.end.max(end);
                if job.pod_sets.len() == MAX_POD_SETS {
                    return Err(RecordError::invalid(format!(
                        "the job has more than {MAX_POD_SETS} tasks, the pod sets of a Workload"
                    )));
                }
                let name = format!("task-{}", job.pod_sets.len());
                job.pod_sets.push(pod_sets.pod_set(&name, count, requests));
            }
        }
        Ok(())
    }

    /// Leaves out a job, of which a task is incomplete.
    pub(super) fn skip(&mut self, job_name: &str) {
        self.incomplete.insert(job_name.to_owned());
    }

    /// The number of jobs that are left out.
    pub(super) fn skipped(&self) -> usize {
        self.incomplete.len()
    }

    /// The jobs whose tasks are all complete.
    pub(super) fn into_jobs(mut self) -> Vec<TraceJob> {
        self.jobs.retain(|name, _| !self.incomplete.contains(name));
        let job = |(name, job): (String, TaskJob)| TraceJob {
            line: job.line,
            name,
            queue: job.gpu_type,
            submitted: job.start,
            duration: job.end.duration_since(job.start),
            spec: spec(job.pod_sets, 0),
        };
        self.jobs.into_iter().map(job).collect()
    }
}
