//! `pods/log`: the log of a container.

use kube::api::LogParams;

use super::super::request_context::RequestContext;
use super::super::response::ApiResponse;
use super::container::select_container;
use crate::endpoints::response_body::Body;
use crate::plugins::PodLogRequest;
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::object_meta;
use kueue_lab_field::FieldError;
use kueue_lab_json::ValueExt;

/// Handles GET of a pod's log.
pub(super) async fn pod_log(call: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    let mut request = log_options(call)?;
    let name = &call.path.name;
    let object = call.stored_object()?;
    let pod = call.transformer.decoded(&object)?;
    request.container = select_container(&pod, name, call.query.text("container"))?;
    request.uid = object_meta::meta_str(&pod, "uid").to_string();
    let kubelet = call.core.plugins.kubelet();
    let (Some(kubelet), false) = (kubelet, pod.text("/spec/nodeName").is_empty()) else {
        // The pod is not scheduled, so it has no log.
        return Ok(ApiResponse::empty(204));
    };
    let stream = kubelet.logs(request).await?;
    Ok(ApiResponse::new(200, "text/plain", Body::stream(stream)))
}

/// Parses the log options; the container is selected later.
fn log_options(call: &RequestContext<'_>) -> Result<PodLogRequest, ApiError> {
    let query = &call.query;
    let flag = |key: &str| query.flag(key).unwrap_or(false);
    let tail = query.integer("tailLines")?;
    let since = query.integer("sinceSeconds")?;
    let limit = query.integer("limitBytes")?;
    let mut errors = Vec::new();
    if let Some(n) = tail.filter(|n| *n < 0) {
        errors.push(FieldError::invalid(
            "tailLines",
            n,
            "must be greater than or equal to 0",
        ));
    }
    if let Some(n) = limit.filter(|n| *n < 1) {
        errors.push(FieldError::invalid(
            "limitBytes",
            n,
            "must be greater than 0",
        ));
    }
    if let Some(n) = since.filter(|n| *n < 1) {
        errors.push(FieldError::invalid(
            "sinceSeconds",
            n,
            "must be greater than 0",
        ));
    }
    if !errors.is_empty() {
        return Err(ApiError::invalid(
            "",
            "PodLogOptions",
            &call.path.name,
            &errors,
        ));
    }
    Ok(PodLogRequest {
        namespace: call.path.namespace.clone(),
        pod: call.path.name.clone(),
        options: LogParams {
            follow: flag("follow"),
            tail_lines: tail,
            since_seconds: since,
            timestamps: flag("timestamps"),
            previous: flag("previous"),
            limit_bytes: limit,
            ..LogParams::default()
        },
        ..PodLogRequest::default()
    })
}
