//! Reads request bodies within the limits of one request and of its user.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};

use crate::flow_control::user_limit::{UserLimit, UserPermit};
use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;

/// The maximum request body, in bytes, as in Kubernetes.
pub(crate) const BODY_LIMIT: usize = 3 << 20;

/// A body and the permit for its size.
pub(super) struct LimitedBody {
    pub(super) bytes: Bytes,
    pub(super) permit: Option<UserPermit>,
}

/// Reads a body. With a limit, the bytes count for `user` as long as the permit lives.
///
/// # Errors
/// 413 above [`BODY_LIMIT`], 429 above the limit, 400 if the client stops sending.
pub(super) async fn read_body(
    body: Incoming,
    limit: Option<&Arc<UserLimit>>,
    user: &str,
) -> Result<LimitedBody, ApiError> {
    let mut permit = limit.map(|limit| limit.permit(user));
    // With a `Content-Length` the buffer is never copied to a larger one.
    let length = body.size_hint().exact().unwrap_or_default();
    let length = usize::try_from(length).unwrap_or(BODY_LIMIT);
    let mut bytes = BytesMut::with_capacity(length.min(BODY_LIMIT));
    let mut body = Limited::new(body, BODY_LIMIT);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| body_read_error(&*error))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if let Some(permit) = &mut permit
            && !permit.extend(data.len())
        {
            let held = limit.map_or(0, |limit| limit.per_user());
            return Err(too_many_requests(format!(
                "Too many requests, please try again later: the bodies of the requests in flight are \
                 above the limit (request-body-bytes, {held} bytes per user)"
            )));
        }
        bytes.extend_from_slice(&data);
    }
    Ok(LimitedBody {
        bytes: bytes.freeze(),
        permit,
    })
}

/// 429.
pub(super) fn too_many_requests(message: impl Into<String>) -> ApiError {
    ApiError::new(429, StatusReason::TooManyRequests, message)
}

/// The error of a body that cannot be read.
pub(super) fn body_read_error(error: &(dyn std::error::Error + Send + Sync + 'static)) -> ApiError {
    if error.is::<LengthLimitError>() {
        return ApiError::new(
            413,
            StatusReason::RequestEntityTooLarge,
            format!("Request entity too large: limit is {BODY_LIMIT}"),
        );
    }
    ApiError::bad_request(format!("error reading the request body: {error}"))
}
