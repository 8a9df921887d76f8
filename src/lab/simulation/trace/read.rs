//! Reads a trace.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::alibaba_v2020::{self, TaskJobs};
use super::csv_record::{Header, Record, fields};
use super::error::RecordError;
use super::fields::is_missing;
use super::job::PodSets;
use super::{
    ColumnMapping, Trace, TraceError, TraceFormat, TraceJob, helios, openb, philly, workload_list,
};

/// How a trace is read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The format; `None` to detect it.
    pub format: Option<TraceFormat>,
    /// The columns of a CSV file.
    pub columns: ColumnMapping,
    /// The resource of GPUs.
    pub gpu_resource: String,
    /// Whether jobs with missing values are skipped instead of being errors.
    pub skip_incomplete: bool,
    /// Whether runs of a job that were evicted or failed are a part of its work, because jobs continue at
    /// checkpoints. Otherwise a job runs as long as its last run.
    pub past_runs: bool,
    /// Whether jobs are sorted by submission instead of an earlier submission being an error.
    pub sort: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            format: None,
            columns: ColumnMapping::default(),
            gpu_resource: "nvidia.com/gpu".to_owned(),
            skip_incomplete: false,
            past_runs: false,
            sort: false,
        }
    }
}

/// Reads the jobs of a trace, sorted by submission. `file` is its name in errors.
///
/// # Errors
/// The first problem: the format, a missing value, or a time that is before an earlier one.
pub fn read_trace(file: &str, text: &str, options: &ReadOptions) -> Result<Trace, TraceError> {
    // The byte order mark that spreadsheets write.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return Err(error(file, 1, RecordError::invalid("the file is empty")));
    }
    let format = options.format.unwrap_or_else(|| TraceFormat::detect(text));
    if format != TraceFormat::Csv && !options.columns.is_empty() {
        let message = format!(
            "the format is {}, of which the columns have fixed names; --column is for traces of the format csv",
            format.name()
        );
        return Err(error(file, 1, RecordError::invalid(message)));
    }
    let mut reader = Reader {
        file,
        options,
        trace: Trace::default(),
        pod_sets: PodSets::default(),
    };
    match format {
        TraceFormat::Philly | TraceFormat::Workloads => reader.read_json(text, format)?,
        _ => reader.read_csv(text, format)?,
    }
    let mut trace = reader.trace;
    if format.is_ordered() && !options.sort {
        check_order(file, &trace.jobs)?;
    }
    trace.jobs.sort_by_key(|job| (job.submitted, job.line));
    if trace.jobs.is_empty() {
        let message = match trace.skipped {
            0 => "the trace has no jobs".to_owned(),
            skipped => format!("the trace has no jobs: all {skipped} are incomplete and skipped"),
        };
        return Err(error(file, 1, RecordError::invalid(message)));
    }
    Ok(trace)
}

fn error(file: &str, line: usize, error: RecordError) -> TraceError {
    let mut message = error.message;
    if error.incomplete {
        message.push_str("; skip such jobs with --skip-incomplete");
    }
    TraceError {
        file: file.to_owned(),
        line,
        message,
        incomplete: error.incomplete,
    }
}

/// Fails at a job that was submitted before the job of an earlier line.
fn check_order(file: &str, jobs: &[TraceJob]) -> Result<(), TraceError> {
    for pair in jobs.windows(2) {
        let [before, job] = pair else { continue };
        if job.submitted < before.submitted {
            let message = format!(
                "the jobs are not in the order of their submission: {} is submitted at {}, before {} of line {}; sort them with --sort",
                job.name, job.submitted, before.submitted, before.line
            );
            return Err(error(file, job.line, RecordError::invalid(message)));
        }
    }
    Ok(())
}

/// A Kubernetes list, or an object without items.
#[derive(Deserialize)]
struct ObjectList<'a> {
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

struct Reader<'a> {
    file: &'a str,
    options: &'a ReadOptions,
    trace: Trace,
    pod_sets: PodSets,
}

impl Reader<'_> {
    /// Adds a job, or skips it if it is incomplete.
    fn add(
        &mut self,
        line: usize,
        job: Result<Option<TraceJob>, RecordError>,
    ) -> Result<(), TraceError> {
        match job {
            Ok(job) => self.trace.jobs.extend(job),
            Err(found) if found.incomplete && self.options.skip_incomplete => {
                self.trace.skipped += 1;
            }
            Err(found) => return Err(error(self.file, line, found)),
        }
        Ok(())
    }

    fn read_csv(&mut self, text: &str, format: TraceFormat) -> Result<(), TraceError> {
        let options = self.options;
        let invalid = |line, message: &str| error(self.file, line, RecordError::invalid(message));
        let first = text.lines().next().unwrap_or_default();
        let unquoted = "a quote in this line does not end";
        let (header, has_header) = match format {
            TraceFormat::AlibabaV2020 => alibaba_v2020::header(first)
                .ok_or_else(|| invalid(1, "these are not the columns of pai_task_table"))?,
            _ => (
                Header::new(first).ok_or_else(|| invalid(1, unquoted))?,
                true,
            ),
        };
        let fits = match format {
            TraceFormat::Openb => openb::is_header(&header),
            TraceFormat::Helios => helios::is_header(&header),
            _ => true,
        };
        if !fits {
            let message = format!("these are not the columns of the format {}", format.name());
            return Err(invalid(1, &message));
        }
        if let Some(name) = header.duplicate() {
            return Err(invalid(1, &format!("the column {name} occurs twice")));
        }
        if format == TraceFormat::Csv {
            let checked = options.columns.check(&header, &options.gpu_resource);
            checked.map_err(|error| invalid(1, &error.to_string()))?;
            self.trace.unused_columns = options.columns.unused(&header);
            self.trace.absent_columns = options.columns.unfilled(&header);
        }
        let mut tasks = TaskJobs::default();
        let mut has_durations_of_times = false;
        for (index, text) in text.lines().enumerate().skip(usize::from(has_header)) {
            let line = index + 1;
            if text.trim().is_empty() {
                continue;
            }
            let Some(fields) = fields(text) else {
                return Err(error(self.file, line, RecordError::invalid(unquoted)));
            };
            if fields.len() != header.names().len() {
                let message = format!(
                    "the line has {} fields, the header has {}",
                    fields.len(),
                    header.names().len()
                );
                return Err(error(self.file, line, RecordError::invalid(message)));
            }
            let record = Record {
                header: &header,
                fields,
            };
            let (gpu, pod_sets) = (&options.gpu_resource, &mut self.pod_sets);
            let job = match format {
                TraceFormat::Openb => openb::job(&record, line, gpu, pod_sets).map(Some),
                TraceFormat::Helios => helios::job(&record, line, gpu, pod_sets).map(Some),
                TraceFormat::AlibabaV2020 => {
                    let job = record.get("job_name");
                    match tasks.add(&record, line, gpu, pod_sets) {
                        Err(found)
                            if found.incomplete && options.skip_incomplete && !is_missing(job) =>
                        {
                            tasks.skip(job);
                            Ok(None)
                        }
                        added => added.map(|()| None),
                    }
                }
                _ => {
                    has_durations_of_times |= options.columns.is_between_times(&record);
                    options.columns.job(&record, line, gpu, pod_sets).map(Some)
                }
            };
            self.add(line, job)?;
        }
        if format == TraceFormat::Csv && !has_durations_of_times {
            let times = options.columns.columns_of_times(&header);
            self.trace.unused_columns.extend(times);
        }
        self.trace.skipped += tasks.skipped();
        self.trace.jobs.extend(tasks.into_jobs());
        Ok(())
    }

    fn read_json(&mut self, text: &str, format: TraceFormat) -> Result<(), TraceError> {
        let syntax = |found: serde_json::Error| {
            let message = format!("the JSON cannot be read: {found}");
            error(
                self.file,
                found.line().max(1),
                RecordError::invalid(message),
            )
        };
        let items: Vec<&RawValue> = match format {
            TraceFormat::Philly => serde_json::from_str(text).map_err(syntax)?,
            // Lists, and Workloads one after the other.
            _ => {
                let mut items = Vec::new();
                for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
                    let value = value.map_err(syntax)?;
                    let list: ObjectList<'_> = serde_json::from_str(value.get()).map_err(syntax)?;
                    match list.items {
                        Some(listed) => items.extend(listed),
                        None => items.push(value),
                    }
                }
                items
            }
        };
        let past_runs = self.options.past_runs;
        let mut lines = LineCounter::default();
        for item in items {
            let offset = item.get().as_ptr() as usize - text.as_ptr() as usize;
            let line = lines.line_at(text, offset);
            let job = match format {
                TraceFormat::Philly => {
                    let gpu = &self.options.gpu_resource;
                    philly::job(item.get(), line, gpu, past_runs, &mut self.pod_sets)
                }
                _ => workload_list::job(item.get(), line, past_runs),
            };
            self.add(line, job.map(Some))?;
        }
        Ok(())
    }
}

/// Counts lines up to increasing offsets.
#[derive(Default)]
struct LineCounter {
    offset: usize,
    newlines: usize,
}

impl LineCounter {
    /// The line of an offset, from 1.
    fn line_at(&mut self, text: &str, offset: usize) -> usize {
        let between = text.as_bytes().get(self.offset..offset).unwrap_or_default();
        self.newlines += between.iter().filter(|byte| **byte == b'\n').count();
        self.offset = offset;
        self.newlines + 1
    }
}
