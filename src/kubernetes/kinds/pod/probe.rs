//! Validation of probes and lifecycle handlers of containers.

use serde_json::Value;

use super::container::port_or_name;
use kueue_lab_apimachinery::error_list::ErrorList;
use kueue_lab_apimachinery::field_path::FieldPath;
use kueue_lab_json::ValueExt;

/// Validates a container's lifecycle handlers and its liveness, readiness and startup probes.
pub(super) fn lifecycle_and_probes(
    errors: &mut ErrorList,
    path: &FieldPath<'_>,
    c: &Value,
    grace: Option<i64>,
) {
    let lifecycle = path.child("lifecycle");
    for field in ["postStart", "preStop"] {
        let value = c.at("/lifecycle").get(field).unwrap_or(&Value::Null);
        if !value.is_null() {
            handler(errors, &lifecycle.child(field), value, grace);
        }
    }
    for field in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let value = c.get(field).unwrap_or(&Value::Null);
        if !value.is_null() {
            probe(errors, &path.child(field), value, field, grace);
        }
    }
}

fn probe(errors: &mut ErrorList, path: &FieldPath<'_>, p: &Value, sort: &str, grace: Option<i64>) {
    handler(errors, path, p, grace);
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        errors.not_negative(path, p, field);
    }
    let own_grace = p.at("/terminationGracePeriodSeconds").as_i64();
    let grace_path = path.child("terminationGracePeriodSeconds");
    if let Some(seconds) = own_grace
        && seconds <= 0
    {
        errors.invalid(&grace_path, seconds, "must be greater than 0");
    }
    if sort == "readinessProbe" {
        if let Some(seconds) = own_grace {
            errors.invalid(&grace_path, seconds, "must not be set for readinessProbes");
        }
    } else if p.int("/successThreshold") != 1 {
        errors.invalid(
            &path.child("successThreshold"),
            p.int("/successThreshold"),
            "must be 1",
        );
    }
}

fn handler(errors: &mut ErrorList, path: &FieldPath<'_>, h: &Value, grace: Option<i64>) {
    let mut found = false;
    for sort in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let action = h.get(sort).unwrap_or(&Value::Null);
        if action.is_null() {
            continue;
        }
        let path = path.child(sort);
        if found {
            errors.forbidden(&path, "may not specify more than 1 handler type");
            continue;
        }
        found = true;
        match sort {
            "exec" if action.list("/command").is_empty() => {
                errors.required(&path.child("command"), "");
            }
            "httpGet" => http_get(errors, &path, action),
            "tcpSocket" | "grpc" => port_or_name(errors, &path.child("port"), action.at("/port")),
            "sleep" => {
                let seconds = action.int("/seconds");
                if let Some(grace) = grace
                    && !(0..=grace).contains(&seconds)
                {
                    let detail = format!(
                        "must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                    );
                    errors.invalid(&path, seconds, detail);
                }
            }
            _ => {}
        }
    }
    if !found {
        errors.required(path, "must specify a handler type");
    }
}

fn http_get(errors: &mut ErrorList, path: &FieldPath<'_>, get: &Value) {
    if get.text("/path").is_empty() {
        errors.required(&path.child("path"), "");
    }
    port_or_name(errors, &path.child("port"), get.at("/port"));
    errors.one_of(
        &path.child("scheme"),
        get.text("/scheme"),
        &["HTTP", "HTTPS"],
    );
    for header in get.list("/httpHeaders") {
        let name = header.text("/name");
        let fine = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        if name.is_empty() || !name.bytes().all(fine) {
            let detail = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
            errors.invalid(&path.child("httpHeaders"), name, detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn probes_and_handlers() {
        let c = json!({"livenessProbe": {"periodSeconds": -1, "successThreshold": 1}, "lifecycle": {"preStop": {}},
            "readinessProbe": {"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}, "successThreshold": 1},
            "startupProbe": {"httpGet": {"path": "/", "port": 99999, "scheme": "FTP"}, "successThreshold": 2}});
        let mut errors = ErrorList::default();
        lifecycle_and_probes(&mut errors, &FieldPath::root("c"), &c, Some(30));
        let texts: Vec<String> = errors.0.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "c.lifecycle.preStop: Required value: must specify a handler type",
                "c.livenessProbe: Required value: must specify a handler type",
                "c.livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
                "c.readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
                "c.startupProbe.httpGet.port: Invalid value: 99999: must be between 1 and 65535, inclusive",
                r#"c.startupProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS""#,
                "c.startupProbe.successThreshold: Invalid value: 2: must be 1",
            ]
        );
    }
}
