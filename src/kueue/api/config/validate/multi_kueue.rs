//! Validation of `multiKueue`.

use std::collections::BTreeSet;

use super::super::integration_frameworks::{Framework, gvk_from_text};
use super::super::{
    ClusterProfileAccessProvider, Configuration, DISPATCHER_INCREMENTAL, MultiKueue,
};
use crate::field::{FieldError, FieldErrors, Path};
use crate::meta_validation::NOT_NEGATIVE;
use crate::name_validation;

pub(super) fn validate(c: &Configuration) -> FieldErrors {
    let Some(settings) = &c.multi_kueue else {
        return FieldErrors::new();
    };
    let path = Path::new("multiKueue");
    let mut errors = FieldErrors::new();
    let spans = [
        ("gcInterval", settings.gc_interval),
        ("workerLostTimeout", settings.worker_lost_timeout),
    ];
    for (name, span) in spans {
        if let Some(span) = span.filter(|s| s.is_negative()) {
            // Printed as a number of nanoseconds.
            let path = path.child(name);
            errors.push(FieldError::invalid(&path, &span.as_nanos(), NOT_NEGATIVE));
        }
    }
    if let Some(origin) = &settings.origin {
        let wrong = name_validation::label_value(origin);
        if !wrong.is_empty() {
            errors.push(FieldError::invalid(
                &path.child("origin"),
                origin,
                wrong.join(","),
            ));
        }
    }
    errors.extend(external_frameworks(
        c,
        settings,
        &path.child("externalFrameworks"),
    ));
    if let Some(profile) = &settings.cluster_profile {
        let path = path.child("clusterProfile");
        let (new, old) = (
            path.child("accessProviders"),
            path.child("credentialsProviders"),
        );
        let (of_new, of_old) = (&profile.access_providers, &profile.credentials_providers);
        if !of_new.is_empty() && !of_old.is_empty() {
            let detail = "must not be specified when accessProviders is specified";
            errors.push(FieldError::forbidden(&old, detail));
        }
        let (providers, path) = if of_new.is_empty() {
            (of_old, old)
        } else {
            (of_new, new)
        };
        errors.extend(providers.iter().flat_map(|p| access_provider(p, &path)));
    }
    if let Some(incremental) = &settings.incremental_dispatcher_config {
        let path = path.child("incrementalDispatcherConfig");
        if settings.dispatcher_name.as_deref() != Some(DISPATCHER_INCREMENTAL) {
            let detail = "incrementalDispatcherConfig is only valid when dispatcherName is set to the incremental dispatcher";
            errors.push(FieldError::invalid(&path, incremental, detail));
        }
        if let Some(step) = incremental.step_size.filter(|s| *s < 1) {
            let detail = "must be greater than or equal to 1";
            errors.push(FieldError::invalid(&path.child("stepSize"), &step, detail));
        }
    }
    errors
}

fn external_frameworks(c: &Configuration, settings: &MultiKueue, path: &Path) -> FieldErrors {
    let enabled = c
        .frameworks()
        .iter()
        .filter_map(|name| Framework::named(name));
    let built_in: BTreeSet<String> = enabled
        .filter(|f| f.multi_kueue)
        .map(Framework::gvk)
        .collect();
    let mut errors = FieldErrors::new();
    let mut seen = BTreeSet::new();
    for (i, framework) in settings.external_frameworks.iter().enumerate() {
        let path = path.index(i).child("name");
        let Some(gvk) = gvk_from_text(&framework.name) else {
            let detail = "must be in 'kind.version.group' format";
            errors.push(FieldError::invalid(&path, &framework.name, detail));
            continue;
        };
        if built_in.contains(&gvk) {
            let detail = "conflicts with a built-in MultiKueue adapter";
            errors.push(FieldError::invalid(&path, &framework.name, detail));
        }
        if !seen.insert(gvk) {
            errors.push(FieldError::duplicate(&path, &framework.name));
        }
    }
    errors
}

fn access_provider(provider: &ClusterProfileAccessProvider, path: &Path) -> FieldErrors {
    let exec = &provider.exec_config;
    let exec_path = path.child("execConfig");
    let missing = "must be specified";
    let mut errors = FieldErrors::new();
    for (value, path) in [
        (&provider.name, path.child("name")),
        (&exec.command, exec_path.child("command")),
        (&exec.api_version, exec_path.child("apiVersion")),
    ] {
        if value.is_empty() {
            errors.push(FieldError::required(&path, missing));
        }
    }
    let nameless = exec.env.iter().filter(|v| v.name.is_empty());
    errors.extend(
        nameless.map(|_| FieldError::required(&exec_path.child("env").child("name"), missing)),
    );
    let mode = exec_path.child("interactiveMode");
    let known = ["Never", "IfAvailable", "Always"];
    match exec.interactive_mode.as_str() {
        "" => errors.push(FieldError::required(&mode, missing)),
        other if !known.contains(&other) => {
            errors.push(FieldError::not_supported(&mode, other, &known));
        }
        _ => {}
    }
    errors
}
