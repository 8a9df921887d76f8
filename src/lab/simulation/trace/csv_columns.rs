//! CSV files with the columns of this project, or with a mapping of other columns to them.

use std::collections::BTreeMap;

use kueue_lab_api::v1beta2::{PriorityClassRef, WorkloadSpec};

use super::csv_record::{Header, Record};
use super::error::RecordError;
use super::fields::{
    amount, between, cpu_quantity, duration, is_missing, pods, time, whole_quantity,
};
use super::job::{PodRequests, PodSets, TraceJob, spec};

/// The columns of the format. A name with a slash is a resource as well.
const COLUMNS: [&str; 11] = [
    "name",
    "queue",
    "submit_time",
    "start_time",
    "end_time",
    "duration",
    "priority",
    "pods",
    "cpu",
    "memory",
    "gpu",
];

/// Separators of other formats than CSV, as spreadsheets write them.
const SEPARATORS: [char; 3] = [';', '\t', '|'];

/// Why columns of a file cannot be mapped to those of the format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnError {
    /// A text is not a pair.
    #[error("{0:?} is not COLUMN=NAME")]
    NotAPair(String),
    /// The format has no such column.
    #[error(
        "there is no column {0:?}; the columns are {columns}, and resources such as example.com/device",
        columns = COLUMNS.join(", ")
    )]
    Unknown(String),
    /// A column is mapped twice.
    #[error("{column} is mapped to both {first:?} and {second:?}")]
    MappedTwice {
        /// The column of the format.
        column: String,
        /// The name of the first pair.
        first: String,
        /// The name of the second pair.
        second: String,
    },
    /// The fields are not separated by commas.
    #[error(
        "the columns are separated by {0:?}; separate them, and the fields of all lines, by commas"
    )]
    Separator(char),
    /// The file does not have a mapped column.
    #[error("there is no column {name:?} for {column}; the columns are {existing}")]
    NotInFile {
        /// The name in the file.
        name: String,
        /// The column of the format.
        column: String,
        /// The columns of the file, separated by commas.
        existing: String,
    },
    /// The file does not have a column that the replay needs.
    #[error("there is no column {column}; name it with --column {column}=NAME, one of {existing}")]
    Missing {
        /// The column of the format.
        column: String,
        /// The columns of the file, separated by commas.
        existing: String,
    },
    /// Two columns are the requests for GPUs.
    #[error(
        "the columns {gpu} and {resource_column} are both the requests for {resource}; remove one of them"
    )]
    TwoColumns {
        /// The column of GPUs.
        gpu: String,
        /// The column of the resource.
        resource_column: String,
        /// The resource.
        resource: String,
    },
}

/// Maps columns of a file to the columns of the format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnMapping(BTreeMap<String, String>);

impl ColumnMapping {
    /// Reads `COLUMN=NAME` pairs: the column of the format and its name in the file.
    ///
    /// # Errors
    /// A pair without `=`, or a column that the format does not have.
    pub fn parse(pairs: &[String]) -> Result<Self, ColumnError> {
        let mut mapping = BTreeMap::new();
        for pair in pairs {
            let Some((column, name)) = pair.split_once('=') else {
                return Err(ColumnError::NotAPair(pair.clone()));
            };
            if !COLUMNS.contains(&column) && !column.contains('/') {
                return Err(ColumnError::Unknown(column.to_owned()));
            }
            if let Some(before) = mapping.insert(column.to_owned(), name.to_owned()) {
                return Err(ColumnError::MappedTwice {
                    column: column.to_owned(),
                    first: before,
                    second: name.to_owned(),
                });
            }
        }
        Ok(Self(mapping))
    }

    /// The name of a column in the file.
    fn name<'a>(&'a self, column: &'a str) -> &'a str {
        self.0.get(column).map_or(column, String::as_str)
    }

    /// Whether a name is that of a column of the format, also if another column of a file is mapped to it.
    pub fn is_column(name: &str) -> bool {
        COLUMNS.contains(&name)
    }

    /// Whether no column is mapped.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks the header of a file.
    pub(super) fn check(&self, header: &Header, gpu_resource: &str) -> Result<(), ColumnError> {
        if let [only] = header.names()
            && let Some(separator) = SEPARATORS.into_iter().find(|other| only.contains(*other))
        {
            return Err(ColumnError::Separator(separator));
        }
        for (column, name) in &self.0 {
            if header.index(name).is_none() {
                return Err(ColumnError::NotInFile {
                    name: name.clone(),
                    column: column.clone(),
                    existing: header.names().join(", "),
                });
            }
        }
        let has = |column: &str| header.index(self.name(column)).is_some();
        if !has("submit_time") {
            return Err(Self::absent("submit_time", header));
        }
        if !has("duration") && !has("end_time") {
            return Err(Self::absent("duration", header));
        }
        match has("gpu") && has(gpu_resource) {
            true => Err(ColumnError::TwoColumns {
                gpu: self.name("gpu").to_owned(),
                resource_column: self.name(gpu_resource).to_owned(),
                resource: gpu_resource.to_owned(),
            }),
            false => Ok(()),
        }
    }

    /// Whether the duration of a record is the time between its start and its end.
    pub(super) fn is_between_times(&self, record: &Record<'_>) -> bool {
        let is_missing = |column: &str| is_missing(record.get(self.name(column)));
        is_missing("duration") && !is_missing("end_time")
    }

    /// The columns of times that a file has, which are used only without a duration.
    pub(super) fn columns_of_times(&self, header: &Header) -> Vec<String> {
        let names = ["start_time", "end_time"].map(|column| self.name(column));
        let present = names
            .into_iter()
            .filter(|name| header.index(name).is_some());
        present.map(str::to_owned).collect()
    }

    /// The columns of a file that the format has no use for.
    pub(super) fn unused(&self, header: &Header) -> Vec<String> {
        let mapped = COLUMNS.map(|column| self.name(column));
        let is_used = |name: &str| {
            name.is_empty()
                || (name.contains('/') && self.name(name) == name)
                || mapped.contains(&name)
                || self.0.values().any(|mapped| mapped == name)
        };
        let names = header.names().iter();
        names.filter(|name| !is_used(name)).cloned().collect()
    }

    /// The columns of the format that a file does not have.
    pub(super) fn unfilled(&self, header: &Header) -> Vec<&'static str> {
        let columns = COLUMNS.into_iter();
        let absent = columns.filter(|column| header.index(self.name(column)).is_none());
        absent.collect()
    }

    fn absent(column: &str, header: &Header) -> ColumnError {
        ColumnError::Missing {
            column: column.to_owned(),
            existing: header.names().join(", "),
        }
    }

    /// The job of a record.
    pub(super) fn job(
        &self,
        record: &Record<'_>,
        line: usize,
        gpu_resource: &str,
        pod_sets: &mut PodSets,
    ) -> Result<TraceJob, RecordError> {
        let get = |column: &str| record.get(self.name(column));
        let submitted = time("submit_time", get("submit_time"))?;
        let runs = match self.is_between_times(record) {
            true => {
                let end = time("end_time", get("end_time"))?;
                let start = match get("start_time") {
                    missing if is_missing(missing) => submitted,
                    start => time("start_time", start)?,
                };
                between(("submit_time", submitted), ("start_time", start))?;
                between(("start_time", start), ("end_time", end))?
            }
            false => duration("duration", get("duration"))?,
        };
        let class = priority_class(get("priority"));
        let priority = match class {
            Some(_) => None,
            None => Some(priority("priority", get("priority"))?),
        };
        let count = match get("pods") {
            missing if is_missing(missing) => 1,
            count => pods("pods", count)?,
        };
        let mut requests = PodRequests::new();
        for column in ["cpu", "memory"] {
            if let Some(quantity) = quantity(column, get(column))? {
                requests.insert(column.to_owned(), quantity);
            }
        }
        if let Some(gpus) = whole_quantity(amount("gpu", get("gpu"))?) {
            requests.insert(gpu_resource.to_owned(), gpus);
        }
        let resources = record
            .header
            .names()
            .iter()
            .filter(|name| name.contains('/'));
        for resource in resources.map(String::as_str).chain(
            self.0
                .keys()
                .filter(|k| k.contains('/'))
                .map(String::as_str),
        ) {
            if let Some(quantity) = quantity(resource, get(resource))? {
                requests.insert(resource.to_owned(), quantity);
            }
        }
        let name = match get("name") {
            "" => format!("job-{line}"),
            name => name.to_owned(),
        };
        let spec = WorkloadSpec {
            priority,
            priority_class_ref: class.map(PriorityClassRef::workload),
            ..spec(vec![pod_sets.pod_set("main", count, requests)], 0)
        };
        Ok(TraceJob {
            line,
            name,
            queue: get("queue").to_owned(),
            submitted,
            duration: runs,
            spec,
        })
    }
}

/// The name of a WorkloadPriorityClass, if the value is one and not a number.
fn priority_class(value: &str) -> Option<&str> {
    let is_alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_name = value.starts_with(is_alphanumeric)
        && value.ends_with(is_alphanumeric)
        && value
            .chars()
            .all(|c| is_alphanumeric(c) || c == '-' || c == '.');
    let is_number = value.parse::<f64>().is_ok();
    (is_name && !is_number && !is_missing(value)).then_some(value)
}

/// A priority; 0 if it is missing.
fn priority(field: &str, value: &str) -> Result<i32, RecordError> {
    if is_missing(value) {
        return Ok(0);
    }
    // Data tools write whole numbers of a column with holes as 5.0.
    let parsed = value.parse::<f64>().ok();
    let range = f64::from(i32::MIN)..=f64::from(i32::MAX);
    let parsed = parsed.filter(|priority| priority.fract() == 0.0 && range.contains(priority));
    let parsed = parsed.map(|priority| priority as i32);
    parsed.ok_or_else(|| RecordError::invalid(format!("{field} {value:?} is not a priority")))
}

/// A quantity of Kubernetes; none for zero or a missing value.
fn quantity(field: &str, value: &str) -> Result<Option<String>, RecordError> {
    if is_missing(value) {
        return Ok(None);
    }
    if field == "cpu"
        && let Ok(cpus) = value.parse::<f64>()
    {
        return Ok(cpu_quantity(amount(field, &cpus.to_string())?));
    }
    let parsed = kueue_lab_engine::resources::Decimal::parse(value);
    match parsed {
        Ok(parsed) if parsed.is_zero() => Ok(None),
        Ok(parsed) if !parsed.is_negative() => Ok(Some(value.to_owned())),
        _ => Err(RecordError::invalid(format!(
            "{field} {value:?} is not a quantity, such as 4 or 16Gi"
        ))),
    }
}
