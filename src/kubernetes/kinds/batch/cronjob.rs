//! CronJobs.

use jiff::tz::TimeZone;
use kueue_lab_cron::Schedule;
use serde_json::{Value, json};

use super::job;
use crate::builtin_strategy::BuiltinStrategy;
use crate::pod;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::labels;
use kueue_lab_field::FieldError;
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Strategy of CronJobs.
pub(crate) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    set_defaults: default,
    prepare_for_create: |cron_job| cron_job["status"] = json!({}),
    validate_create: |cron_job| {
        let mut errors = ErrorList::default();
        validate_spec(&mut errors, cron_job.at("/spec"), None);
        if cron_job.name().len() > 52 {
            // The CronJob controller appends 11 characters to form Job names, which must be DNS
            // labels.
            let path = FieldPath::root("metadata");
            let detail = "must be no more than 52 characters";
            errors.invalid(&path.child("name"), cron_job.name(), detail);
        }
        errors.0
    },
    validate_update: |new, old| {
        let mut errors = ErrorList::default();
        validate_spec(&mut errors, new.at("/spec"), Some(old.at("/spec")));
        errors.0
    },
    warnings: |new, old| warnings(new, old),
    generation_fields: &["spec"],
    ..BuiltinStrategy::DEFAULT
};

const SPEC: FieldPath<'_> = FieldPath::root("spec");

fn default(cron_job: &mut Value) {
    let Some(spec) = cron_job.get_object_mut("spec") else {
        return;
    };
    spec.set_default("concurrencyPolicy", "Allow");
    spec.set_default("suspend", false);
    spec.set_default("successfulJobsHistoryLimit", 3);
    spec.set_default("failedJobsHistoryLimit", 1);
    if let Some(job_spec) = spec
        .get_object_mut("jobTemplate")
        .and_then(|t| t.get_object_mut("spec"))
    {
        job::set_job_spec_defaults(job_spec);
    }
}

fn validate_spec(errors: &mut ErrorList, spec: &Value, old: Option<&Value>) {
    let schedule = spec.text("/schedule");
    let path = SPEC.child("schedule");
    match schedule {
        "" => errors.required(&path, ""),
        _ => {
            if let Err(error) = Schedule::parse(schedule, &TimeZone::UTC) {
                errors.invalid(&path, schedule, error.to_string());
            }
            let had_zone = old.is_some_and(|o| o.text("/schedule").contains("TZ"));
            if schedule.contains("TZ") && !had_zone {
                let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
                errors.invalid(&path, schedule, detail);
            } else if schedule.contains("TZ") && spec.has("/timeZone") {
                let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
                errors.invalid(&path, schedule, detail);
            }
        }
    }
    errors.not_negative(&SPEC, spec, "startingDeadlineSeconds");
    if spec.has("/timeZone") && old.is_none_or(|o| o.at("/timeZone") != spec.at("/timeZone")) {
        time_zone(errors, &SPEC.child("timeZone"), spec.text("/timeZone"));
    }
    let policies = ["Allow", "Forbid", "Replace"];
    errors.required_one_of(
        &SPEC.child("concurrencyPolicy"),
        spec.text("/concurrencyPolicy"),
        &policies,
    );
    let template = SPEC.child("jobTemplate");
    let job_path = template.child("spec");
    let job_spec = spec.at("/jobTemplate/spec");
    job::validate_spec(errors, &job_path, job_spec);
    if job_spec.has("/selector") {
        let shown = labels::go_selector_string(job_spec.at("/selector"));
        errors.invalid_with_text(
            &job_path.child("selector"),
            shown,
            "`selector` will be auto-generated",
        );
    }
    if job_spec.flag("/manualSelector") {
        let path = job_path.child("manualSelector");
        errors
            .0
            .push(FieldError::not_supported(&path, true, &["nil", "false"]));
    }
    for field in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        errors.not_negative(&SPEC, spec, field);
    }
}

fn time_zone(errors: &mut ErrorList, path: &FieldPath<'_>, zone: &str) {
    if zone.is_empty() {
        errors.invalid(path, zone, "timeZone must be nil or non-empty string");
        return;
    }
    let fine = |part: &str| {
        !matches!(part, "" | "." | "..")
            && part.len() <= 14
            && !part.starts_with('-')
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ".-_+".contains(c))
    };
    if !zone.split('/').all(fine) {
        errors.invalid(path, zone, format!("unknown time zone {zone}"));
    } else if zone.eq_ignore_ascii_case("local") {
        let detail =
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.invalid(path, zone, detail);
    } else if jiff::tz::TimeZone::get(zone).is_err() {
        errors.invalid(path, zone, format!("unknown time zone {zone}"));
    }
}

fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    if old.is_none() && new.name().len() > 63 {
        warnings.push("metadata.name: this is used in Job names and hostnames, which can result in surprising behavior; a DNS label is recommended".into());
    }
    let template = new.at("/spec/jobTemplate/spec/template/spec");
    warnings.extend(pod::spec::warnings(
        template,
        "spec.jobTemplate.spec.template.spec",
    ));
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_and_checks() {
        let mut c = json!({"metadata": {"name": "a".repeat(53)}, "spec": {"schedule": "whenever", "timeZone": "Mars/Base",
            "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "c", "image": "x"}]}}}}}});
        default(&mut c);
        assert_eq!(
            (
                c.text("/spec/concurrencyPolicy"),
                c.int("/spec/failedJobsHistoryLimit")
            ),
            ("Allow", 1)
        );
        let texts: Vec<String> = (STRATEGY.validate_create)(&c)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            texts[0],
            r#"spec.schedule: Invalid value: "whenever": expected exactly 5 fields, found 1: [whenever]"#
        );
        assert_eq!(
            texts[1],
            r#"spec.timeZone: Invalid value: "Mars/Base": unknown time zone Mars/Base"#
        );
        assert!(
            texts[2].ends_with("must be no more than 52 characters"),
            "{texts:?}"
        );
        assert_eq!(texts.len(), 3);
    }
}
