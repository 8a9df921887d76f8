//! The options of connections to `exec`, `attach`, `portforward` and `proxy` in admission requests.

use serde_json::{Map, Value};

use super::super::request_context::RequestContext;

/// The kind of the options and the options of a connection.
pub(super) fn connect_options(call: &RequestContext<'_>) -> (&'static str, Value) {
    let query = &call.query;
    let mut options = Map::new();
    let kind = match (call.path.subresource.as_str(), call.path.resource.as_str()) {
        (subresource @ ("exec" | "attach"), _) => {
            for (field, default) in [
                ("stdin", false),
                ("stdout", true),
                ("stderr", true),
                ("tty", false),
            ] {
                if query.flag(field).unwrap_or(default) {
                    options.insert(field.into(), true.into());
                }
            }
            let container = query.text("container");
            if !container.is_empty() {
                options.insert("container".into(), container.into());
            }
            if subresource == "exec" {
                let command = query.all("command").map(Value::from).collect();
                options.insert("command".into(), command);
                "PodExecOptions"
            } else {
                "PodAttachOptions"
            }
        }
        ("portforward", _) => {
            let ports: Vec<Value> = query
                .all("ports")
                .filter_map(|port| port.parse::<i64>().ok())
                .map(Value::from)
                .collect();
            if !ports.is_empty() {
                options.insert("ports".into(), ports.into());
            }
            "PodPortForwardOptions"
        }
        (_, resource) => {
            let path = query.text("path");
            if !path.is_empty() {
                options.insert("path".into(), path.into());
            }
            match resource {
                "pods" => "PodProxyOptions",
                "services" => "ServiceProxyOptions",
                _ => "NodeProxyOptions",
            }
        }
    };
    (kind, Value::Object(options))
}
