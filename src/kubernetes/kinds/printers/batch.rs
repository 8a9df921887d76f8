//! Printers of Jobs and CronJobs.

use jiff::Timestamp;
use serde_json::Value;

use super::table_printer::{AGE, NAME};
use super::workload::{CONTAINERS, IMAGES, SELECTOR, with_containers_and_selector};
use super::{DEFAULT, TablePrinter};
use kueue_lab_apimachinery::strategy::table_cells::{
    age_cell, duration_between, selector_cell, text_or, translate_timestamp_since,
};
use kueue_lab_json::ValueExt;

pub(crate) fn printer_of(kind: &str) -> TablePrinter {
    match kind {
        "Job" => JOB,
        "CronJob" => CRON_JOB,
        _ => DEFAULT,
    }
}

const JOB: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Status", "string", 0),
        ("Completions", "string", 0),
        ("Duration", "string", 0),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: job,
};

fn job(o: &Value, now: Timestamp) -> Vec<Value> {
    let succeeded = o.int("/status/succeeded");
    let completions = match (
        o.at("/spec/completions").as_i64(),
        o.int("/spec/parallelism"),
    ) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let start = o.at("/status/startTime");
    let duration = match (start.is_null(), o.at("/status/completionTime")) {
        (true, _) => String::new(),
        (false, Value::Null) => translate_timestamp_since(start, now),
        (false, end) => duration_between(start, end),
    };
    let cells = vec![
        o.name().into(),
        status(o).into(),
        completions.into(),
        duration.into(),
        age_cell(o, now),
    ];
    with_containers_and_selector(
        cells,
        o.list("/spec/template/spec/containers"),
        selector_cell(o.at("/spec/selector")),
    )
}

fn status(job: &Value) -> &'static str {
    let is = |type_: &str| job.is_condition_true(type_);
    match () {
        () if is("Complete") => "Complete",
        () if is("Failed") => "Failed",
        () if job.is_terminating() => "Terminating",
        () if is("Suspended") => "Suspended",
        () if is("FailureTarget") => "FailureTarget",
        () => "Running",
    }
}

const CRON_JOB: TablePrinter = TablePrinter {
    columns: &[
        NAME,
        ("Schedule", "string", 0),
        ("Timezone", "string", 0),
        ("Suspend", "boolean", 0),
        ("Active", "integer", 0),
        ("Last Schedule", "string", 0),
        AGE,
        CONTAINERS,
        IMAGES,
        SELECTOR,
    ],
    cells: |o, now| {
        let last = o.at("/status/lastScheduleTime");
        let last = if last.is_null() {
            "<none>".into()
        } else {
            translate_timestamp_since(last, now)
        };
        let suspend = match o.at("/spec/suspend").as_bool() {
            Some(true) => "True",
            Some(false) => "False",
            None => "<unset>",
        };
        let job = o.at("/spec/jobTemplate/spec");
        let cells = vec![
            o.name().into(),
            o.text("/spec/schedule").into(),
            text_or(o.text("/spec/timeZone"), "<none>").into(),
            suspend.into(),
            o.list("/status/active").len().into(),
            last.into(),
            age_cell(o, now),
        ];
        with_containers_and_selector(
            cells,
            job.list("/template/spec/containers"),
            selector_cell(job.at("/selector")),
        )
    },
};

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_in_its_states() {
        let now = "2026-01-01T00:02:00Z".parse().unwrap();
        let row = |o: Value| {
            let cells = job(&o, now);
            cells[1..4]
                .iter()
                .map(kueue_lab_apimachinery::strategy::table_cells::scalar)
                .collect::<Vec<_>>()
                .join(" ")
        };
        let condition = |t: &str| json!([{"type": t, "status": "True"}]);
        for (o, want) in [
            (json!({"spec": {"completions": 3}}), "Running 0/3 "),
            (
                json!({"spec": {"parallelism": 4}, "status": {"startTime": "2026-01-01T00:01:00Z"}}),
                "Running 0/1 of 4 60s",
            ),
            (
                json!({"status": {"conditions": condition("Suspended")}}),
                "Suspended 0/1 ",
            ),
            (
                json!({"spec": {"completions": 1}, "status": {"succeeded": 1, "startTime": "2026-01-01T00:01:00Z",
                    "completionTime": "2026-01-01T00:01:05Z", "conditions": condition("Complete")}}),
                "Complete 1/1 5s",
            ),
        ] {
            assert_eq!(row(o), want);
        }
    }
}
