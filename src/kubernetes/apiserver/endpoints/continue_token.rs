//! Continue tokens of lists, as `storage/continue.go`.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use kueue_lab_apimachinery::api_error::ApiError;

const TOKEN_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.";

const TOKEN_INCONSISTENT: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/// A continue token of a list; opaque to clients.
#[derive(Serialize, Deserialize)]
pub(super) struct ContinueToken {
    pub(super) v: String,
    /// The revision of the list; -1 continues at the latest revision.
    pub(super) rv: i64,
    /// The last key returned.
    pub(super) start: String,
    /// The number of objects after `start` at revision `rv`, if the list has no selectors, so that
    /// the next page does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) remaining: Option<usize>,
}

pub(super) fn encode_continue(revision: u64, key: &str, remaining: Option<usize>) -> String {
    let token = ContinueToken {
        v: "meta.k8s.io/v1".into(),
        rv: i64::try_from(revision).unwrap_or(-1),
        start: format!("{key}\0"),
        remaining,
    };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

pub(super) fn decode_continue(text: &str) -> Result<ContinueToken, ApiError> {
    let invalid =
        |reason: &str| ApiError::bad_request(format!("continue key is not valid: {reason}"));
    let json = URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|e| invalid(&e.to_string()))?;
    let mut token: ContinueToken =
        serde_json::from_slice(&json).map_err(|e| invalid(&e.to_string()))?;
    if token.v != "meta.k8s.io/v1" {
        return Err(invalid(&format!(
            "server does not recognize this encoded version {:?}",
            token.v
        )));
    }
    // A key never ends in a zero byte; it marks the start as exclusive.
    token
        .start
        .truncate(token.start.trim_end_matches('\0').len());
    Ok(token)
}

pub(super) fn expired_continue_error(key: &str) -> ApiError {
    let token = ContinueToken {
        v: "meta.k8s.io/v1".into(),
        rv: -1,
        start: format!("{key}\0"),
        remaining: None,
    };
    let Ok(json) = serde_json::to_vec(&token) else {
        return ApiError::expired(TOKEN_EXPIRED);
    };
    let mut error = ApiError::expired(TOKEN_INCONSISTENT);
    error.continue_token = Some(URL_SAFE_NO_PAD.encode(json));
    error
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn encoded(token: &serde_json::Value) -> String {
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    #[test]
    fn tokens_keep_key_revision_and_remaining_items() {
        let token = decode_continue(&encode_continue(7, "ns/a", Some(3))).unwrap();
        assert_eq!((token.rv, &*token.start), (7, "ns/a"));
        assert_eq!(token.remaining, Some(3));
        let token = json!({"v": "meta.k8s.io/v1", "rv": 7, "start": "ns/a\0"});
        assert_eq!(decode_continue(&encoded(&token)).unwrap().remaining, None);
    }

    #[test]
    fn invalid_tokens_are_bad_requests() {
        for remaining in [json!(-1), json!("1"), json!(1.5)] {
            let token =
                json!({"v": "meta.k8s.io/v1", "rv": 7, "start": "a", "remaining": remaining});
            let error = decode_continue(&encoded(&token)).err().expect("invalid");
            assert_eq!(error.code, 400, "{remaining}");
        }
        let token = json!({"v": "v2", "rv": 7, "start": "a"});
        assert_eq!(decode_continue(&encoded(&token)).err().unwrap().code, 400);
    }
}
