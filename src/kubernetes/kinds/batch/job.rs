//! Jobs: defaults, the generated selector and validation.

use serde_json::{Value, json};

use super::{job_status, job_update, pod_failure_policy, success_policy};
use crate::builtin_strategy::BuiltinStrategy;
use crate::pod;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_apimachinery::metadata_validation::labels;
use kueue_lab_field::{FieldError, name_validation};
use kueue_lab_json::{ValueExt, ValueMutExt};

/// Strategy of Jobs without its selectable fields.
pub(crate) const STRATEGY: BuiltinStrategy = BuiltinStrategy {
    set_defaults: default,
    prepare_for_create: prepare_create,
    validate_create,
    validate_update: job_update::validate,
    validate_subresource_update: |name, new, old| match name {
        "status" => job_status::validate(new, old),
        _ => Vec::new(),
    },
    warnings: |new, _| pod::spec::warnings(new.at("/spec/template/spec"), "spec.template.spec"),
    generation_fields: &["spec"],
    orphans_dependents_by_default: true,
    ..BuiltinStrategy::DEFAULT
};

pub(super) const SPEC: FieldPath<'_> = FieldPath::root("spec");
const MAX_INDEXED_PARALLELISM: i64 = 100_000;
const MANY_COMPLETIONS: i64 = 100_000;
const UID_LABELS: [&str; 2] = ["controller-uid", "batch.kubernetes.io/controller-uid"];
pub(super) const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];

fn default(job: &mut Value) {
    let labels = job.at("/spec/template/metadata/labels").clone();
    let Some(spec) = job.get_object_mut("spec") else {
        return;
    };
    if !spec.has("/completions") && !spec.has("/parallelism") {
        spec.set_default("completions", 1);
    }
    spec.set_default("parallelism", 1);
    let per_index = spec.has("/backoffLimitPerIndex");
    spec.set_default("backoffLimit", if per_index { i32::MAX } else { 6 });
    spec.set_default("completionMode", "NonIndexed");
    spec.set_default("suspend", false);
    spec.set_default("manualSelector", false);
    let careful = spec.has("/podFailurePolicy");
    spec.set_default(
        "podReplacementPolicy",
        if careful {
            "Failed"
        } else {
            "TerminatingOrFailed"
        },
    );
    set_job_spec_defaults(spec);
    let own = job.at("/metadata/labels");
    if own.entries("").next().is_none() && labels.entries("").next().is_some() {
        job.object_mut("metadata")
            .set_or_remove("labels", Some(labels));
    }
}

/// Sets the JobSpec defaults that also apply to the Job template of a CronJob.
pub(crate) fn set_job_spec_defaults(spec: &mut Value) {
    pod::defaults::template(spec);
    if let Some(policy) = spec.get_object_mut("podFailurePolicy") {
        for rule in policy.items_mut("rules") {
            for pattern in rule.items_mut("onPodConditions") {
                pattern.set_default("status", "True");
            }
        }
    }
}

fn prepare_create(job: &mut Value) {
    if job.at("/spec/manualSelector") != true {
        generate_selector(job);
    }
    job["status"] = json!({});
}

/// Generates the labels and the selector that match only the pods of this Job.
fn generate_selector(job: &mut Value) {
    let (name, uid) = (
        job.name().to_string(),
        job.text("/metadata/uid").to_string(),
    );
    let spec = job.object_mut("spec");
    let labels = spec
        .object_mut("template")
        .object_mut("metadata")
        .object_mut("labels");
    for label in NAME_LABELS {
        labels.set_default(label, name.as_str());
    }
    for label in UID_LABELS {
        labels.set_default(label, uid.as_str());
    }
    spec.object_mut("selector")
        .object_mut("matchLabels")
        .set_default(UID_LABELS[1], uid);
}

fn validate_create(job: &Value) -> Vec<FieldError> {
    let mut errors = ErrorList::default();
    generated_selector(&mut errors, job, true);
    validate_job_spec(&mut errors, job.at("/spec"));
    pod_hostnames(&mut errors, job);
    errors.0
}

/// Validates the generated selector and the generated pod template labels
/// (`ValidateGeneratedSelector`).
pub(super) fn generated_selector(errors: &mut ErrorList, job: &Value, prefixed: bool) {
    let selector = job.at("/spec/selector");
    if job.flag("/spec/manualSelector") || selector.is_null() {
        return;
    }
    let (name, uid) = (job.name(), job.text("/metadata/uid"));
    if uid.is_empty() {
        errors.required(&FieldPath::root("metadata").child("uid"), "");
    }
    let template = SPEC.child("template");
    let path = template.child("metadata");
    let path = path.child("labels");
    let labels = job.at("/spec/template/metadata/labels");
    let mut expected = json!({});
    let count = if prefixed { 2 } else { 1 };
    for i in 0..count {
        for (label, want) in [(UID_LABELS[i], uid), (NAME_LABELS[i], name)] {
            expected[label] = want.into();
            match labels.get(label).and_then(Value::as_str) {
                None => errors.required(&path.key(label), &format!("must be '{want}'")),
                Some(value) if value != want => {
                    errors.invalid(
                        &path.key(label),
                        labels.clone(),
                        format!("must be '{want}'"),
                    );
                }
                Some(_) => {}
            }
        }
    }
    if !labels::selector_matches(selector, &expected) {
        let shown = labels::go_selector_string(selector);
        errors.invalid_with_text(
            &SPEC.child("selector"),
            shown,
            "`selector` not auto-generated",
        );
    }
}

pub(super) fn validate_job_spec(errors: &mut ErrorList, spec: &Value) {
    validate_spec(errors, &SPEC, spec);
    let selector = spec.at("/selector");
    let path = SPEC.child("selector");
    match selector.is_null() {
        true => errors.required(&path, ""),
        false => errors.extend(labels::validate_selector(selector, &path.to_string())),
    }
    let labels = spec.at("/template/metadata/labels");
    if !labels::selector_matches(selector, labels) {
        let template = SPEC.child("template");
        let metadata = template.child("metadata");
        let detail = "`selector` does not match template `labels`";
        errors.invalid(&metadata.child("labels"), labels.clone(), detail);
    }
}

/// Validates the spec of a Job or of a CronJob's Job template.
pub(crate) fn validate_spec(errors: &mut ErrorList, path: &FieldPath<'_>, spec: &Value) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        errors.not_negative(path, spec, field);
    }
    if spec.has("/maxFailedIndexes") && !spec.has("/backoffLimitPerIndex") {
        let detail = "when maxFailedIndexes is specified";
        errors.required(&path.child("backoffLimitPerIndex"), detail);
    }
    if spec.has("/managedBy") {
        managed_by(errors, &path.child("managedBy"), spec.text("/managedBy"));
    }
    if spec.has("/completionMode") {
        let mode = spec.text("/completionMode");
        errors.one_of(
            &path.child("completionMode"),
            mode,
            &["NonIndexed", "Indexed"],
        );
    }
    if spec.text("/completionMode") == "Indexed" {
        indexed(errors, path, spec);
    } else if matches!(spec.text("/completionMode"), "" | "NonIndexed") {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if let Some(n) = spec.get(field).and_then(Value::as_i64) {
                errors.invalid(&path.child(field), n, "requires indexed completion mode");
            }
        }
    }
    pod_failure_policy::pod_failure_policy(errors, &path.child("podFailurePolicy"), spec);
    success_policy::success_policy(errors, &path.child("successPolicy"), spec);
    validate_pod_replacement_policy(errors, &path.child("podReplacementPolicy"), spec);
    let template = path.child("template");
    pod::validate_template(errors, &template, spec.at("/template"));
    let pod_spec = template.child("spec");
    let restart = pod_spec.child("restartPolicy");
    match spec.text("/template/spec/restartPolicy") {
        "" | "Always" => errors.required(&restart, "valid values: \"OnFailure\", \"Never\""),
        policy @ ("OnFailure" | "Never") => {
            if policy != "Never" && spec.has("/podFailurePolicy") {
                let detail = "only \"Never\" is supported when podFailurePolicy is specified";
                errors.invalid(&restart, policy, detail);
            }
        }
        other => errors.one_of(&restart, other, &["OnFailure", "Never"]),
    }
}

fn managed_by(errors: &mut ErrorList, path: &FieldPath<'_>, name: &str) {
    match name.split_once('/') {
        _ if name.is_empty() => errors.required(path, ""),
        Some((host, rest)) if !host.is_empty() && !rest.is_empty() => {
            errors.invalid_for_each(path, host, name_validation::dns1123_subdomain(host));
            let fine = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
            if !rest.chars().all(fine) {
                let detail = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";
                errors.invalid(path, rest, detail);
            }
        }
        _ => {
            let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            errors.invalid(path, name, detail);
        }
    }
    if name.len() > 63 {
        errors.too_long(path, 63);
    }
}

fn indexed(errors: &mut ErrorList, path: &FieldPath<'_>, spec: &Value) {
    let of = |field: &str| spec.get(field).and_then(Value::as_i64);
    let (completions, parallelism) = (of("completions"), of("parallelism"));
    let max_failed = of("maxFailedIndexes");
    if completions.is_none() {
        errors.required(
            &path.child("completions"),
            "when completion mode is Indexed",
        );
    }
    if let Some(n) = parallelism.filter(|n| *n > MAX_INDEXED_PARALLELISM) {
        let detail = "must be less than or equal to 100000 when completion mode is Indexed";
        errors.invalid(&path.child("parallelism"), n, detail);
    }
    let failed_path = path.child("maxFailedIndexes");
    if let (Some(failed), Some(all)) = (max_failed, completions)
        && failed > all
    {
        errors.invalid(
            &failed_path,
            failed,
            "must be less than or equal to completions",
        );
    }
    if let Some(failed) = max_failed.filter(|n| *n > 100_000) {
        errors.invalid(&failed_path, failed, "must be less than or equal to 100000");
    }
    let many = completions.is_some_and(|n| n > MANY_COMPLETIONS);
    if !many || of("backoffLimitPerIndex").is_none() {
        return;
    }
    if max_failed.is_none() {
        let detail = "must be specified when completions is above 100000";
        errors.required(&failed_path, detail);
    }
    let detail = "must be less than or equal to 10000 when completions are above 100000 and used with backoff limit per index";
    for (field, n) in [
        ("parallelism", parallelism),
        ("maxFailedIndexes", max_failed),
    ] {
        if let Some(n) = n.filter(|n| *n > 10_000) {
            errors.invalid(&path.child(field), n, detail);
        }
    }
}

fn validate_pod_replacement_policy(errors: &mut ErrorList, path: &FieldPath<'_>, spec: &Value) {
    if spec.has("/podReplacementPolicy") {
        let careful = spec.has("/podFailurePolicy");
        let known: &[&str] = if careful {
            &["Failed"]
        } else {
            &["Failed", "TerminatingOrFailed"]
        };
        errors.one_of(path, spec.text("/podReplacementPolicy"), known);
    }
}

/// Validates that the pod hostnames of an Indexed Job are DNS labels.
fn pod_hostnames(errors: &mut ErrorList, job: &Value) {
    let completions = job.int("/spec/completions");
    if job.text("/spec/completionMode") != "Indexed" || completions <= 0 {
        return;
    }
    let last = format!("{}-{}", job.name(), completions - 1);
    if !name_validation::dns1123_label(&last).is_empty() {
        let detail = format!("will not able to create pod with invalid DNS label: {last}");
        errors.invalid(
            &FieldPath::root("metadata").child("name"),
            job.name(),
            detail,
        );
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use kueue_lab_testing::texts;

    pub(in super::super) fn job(spec: Value) -> Value {
        let mut job = json!({"metadata": {"name": "j", "namespace": "n", "uid": "u"},
            "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}}});
        json_patch::merge(&mut job["spec"], &spec);
        default(&mut job);
        prepare_create(&mut job);
        job
    }

    #[test]
    fn defaults_and_selector() {
        let j = job(json!({}));
        assert_eq!(
            (
                j.int("/spec/completions"),
                j.int("/spec/parallelism"),
                j.int("/spec/backoffLimit")
            ),
            (1, 1, 6)
        );
        assert_eq!(
            *j.at("/spec/selector"),
            json!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}})
        );
        assert_eq!(j.at("/spec/template/metadata/labels")["job-name"], "j");
        assert!(validate_create(&j).is_empty());
        assert!(!job(json!({"parallelism": 3})).has("/spec/completions"));
        let labelled = job(json!({"template": {"metadata": {"labels": {"a": "b"}}}}));
        assert_eq!(labelled.label("a"), Some("b"));
        assert_eq!(labelled.label("job-name"), None);
    }

    #[test]
    fn invalid_jobs() {
        let bad = job(
            json!({"parallelism": -1, "completions": -2, "backoffLimit": -1, "completionMode": "Foo",
            "template": {"spec": {"restartPolicy": "Always"}}}),
        );
        assert_eq!(
            texts(validate_create(&bad)),
            [
                "spec.parallelism: Invalid value: -1: must be greater than or equal to 0",
                "spec.completions: Invalid value: -2: must be greater than or equal to 0",
                "spec.backoffLimit: Invalid value: -1: must be greater than or equal to 0",
                r#"spec.completionMode: Unsupported value: "Foo": supported values: "NonIndexed", "Indexed""#,
                r#"spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never""#,
            ]
        );
        let own = job(json!({"selector": {"matchLabels": {"a": "b"}}}));
        assert_eq!(
            texts(validate_create(&own))[0],
            r#"spec.selector: Invalid value: {"matchLabels":{"a":"b","batch.kubernetes.io/controller-uid":"u"}}: `selector` not auto-generated"#
        );
        let name = job(json!({"managedBy": "nobody"}));
        assert_eq!(
            texts(validate_create(&name)),
            [
                r#"spec.managedBy: Invalid value: "nobody": must be a domain-prefixed path (such as "acme.io/foo")"#
            ]
        );
    }
}
