//! The container that a request to a subresource of a pod selects.

use serde_json::Value;

use kueue_lab_apimachinery::api_error::ApiError;

fn container_names<'a>(pod: &'a Value, list: &str) -> Vec<&'a str> {
    let all = pod["spec"][list].as_array();
    all.into_iter()
        .flatten()
        .filter_map(|c| c["name"].as_str())
        .collect()
}

/// The requested container, or the only one.
pub(super) fn select_container(
    pod: &Value,
    name: &str,
    requested: &str,
) -> Result<String, ApiError> {
    let main = container_names(pod, "containers");
    let init = container_names(pod, "initContainers");
    let ephemeral = container_names(pod, "ephemeralContainers");
    if requested.is_empty() {
        if let ([only], true, true) = (main.as_slice(), init.is_empty(), ephemeral.is_empty()) {
            return Ok((*only).to_string());
        }
        let mut choice = format!("choose one of: [{}]", main.join(" "));
        if !init.is_empty() {
            choice.push_str(&format!(
                " or one of the init containers: [{}]",
                init.join(" ")
            ));
        }
        if !ephemeral.is_empty() {
            let all = ephemeral.join(" ");
            choice.push_str(&format!(" or one of the ephemeral containers: [{all}]"));
        }
        return Err(ApiError::bad_request(format!(
            "a container name must be specified for pod {name}, {choice}"
        )));
    }
    if main
        .iter()
        .chain(&init)
        .chain(&ephemeral)
        .any(|c| *c == requested)
    {
        return Ok(requested.to_string());
    }
    Err(ApiError::bad_request(format!(
        "container {requested} is not valid for pod {name}"
    )))
}
