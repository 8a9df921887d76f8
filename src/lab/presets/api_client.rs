//! Requests to the API server for objects of any kind, with the warnings of the response.

use http::Request;
use http::header::{ACCEPT, CONTENT_TYPE};
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use kueue_lab_controller_runtime::api_errors::is_not_found;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::ResourceKey;

/// The field manager of all presets. One name for all, so that server-side apply removes the fields
/// that only the previous preset set.
pub(super) const FIELD_MANAGER: &str = "kueue-lab-presets";

/// The error of a request.
#[derive(Debug, thiserror::Error)]
#[error("{}", request_error_message(.0))]
pub(super) struct RequestError(#[from] kube::Error);

impl RequestError {
    /// Whether the object, its namespace or its kind does not exist.
    pub(super) fn is_not_found(&self) -> bool {
        is_not_found(&self.0)
    }

    /// The error that the API server returned; `None` if it cannot be reached.
    pub(super) fn status(&self) -> Option<&Status> {
        match &self.0 {
            kube::Error::Api(status) => Some(status),
            _ => None,
        }
    }
}

fn request_error_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => format!("the API server cannot be reached: {other}"),
    }
}

/// A response of the API server.
#[derive(Debug)]
pub(super) struct ApiResponse {
    /// The object.
    pub(super) object: Value,
    /// Texts of the `Warning` headers.
    pub(super) warnings: Vec<String>,
}

/// The REST mapping of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RestMapping {
    /// `v1` or `group/version`.
    pub(super) api_version: String,
    /// Plural name.
    pub(super) plural: String,
    /// Whether the kind is namespaced.
    pub(super) namespaced: bool,
}

impl RestMapping {
    /// The mapping of Namespaces.
    pub(super) fn namespaces() -> Self {
        Self {
            api_version: "v1".into(),
            plural: "namespaces".into(),
            namespaced: false,
        }
    }

    fn collection_path(&self, namespace: Option<&str>) -> String {
        let root = match self.api_version.contains('/') {
            true => format!("/apis/{}", self.api_version),
            false => format!("/api/{}", self.api_version),
        };
        match namespace.filter(|_| self.namespaced) {
            Some(namespace) => format!("{root}/namespaces/{}/{}", escape(namespace), self.plural),
            None => format!("{root}/{}", self.plural),
        }
    }

    fn object_path(&self, key: &ResourceKey) -> String {
        let collection = self.collection_path(key.namespace.as_deref());
        format!("{collection}/{}", escape(&key.name))
    }
}

fn escape(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

/// Options of server-side apply.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ApplyMode {
    /// `dryRun=All`.
    pub(super) dry_run: bool,
    /// `force`: take over fields of other managers.
    pub(super) force: bool,
}

/// A client for objects of any kind.
#[derive(Clone)]
pub(super) struct ApiClient {
    pub(super) client: Client,
}

impl ApiClient {
    /// Server-side apply with strict field validation.
    pub(super) async fn apply(
        &self,
        kind: &RestMapping,
        key: &ResourceKey,
        object: &Value,
        mode: ApplyMode,
    ) -> Result<ApiResponse, RequestError> {
        let mut path = format!(
            "{}?fieldManager={FIELD_MANAGER}&fieldValidation=Strict",
            kind.object_path(key)
        );
        if mode.force {
            path.push_str("&force=true");
        }
        if mode.dry_run {
            path.push_str("&dryRun=All");
        }
        let request = Request::patch(path).header(CONTENT_TYPE, "application/apply-patch+yaml");
        self.request(request, object.to_string().into_bytes()).await
    }

    /// Gets an object; `None` if it does not exist.
    pub(super) async fn get(
        &self,
        kind: &RestMapping,
        key: &ResourceKey,
    ) -> Result<Option<Value>, RequestError> {
        match self
            .request(Request::get(kind.object_path(key)), Vec::new())
            .await
        {
            Ok(response) => Ok(Some(response.object)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Lists the objects of a kind, in one namespace or in all.
    pub(super) async fn list(
        &self,
        kind: &RestMapping,
        namespace: Option<&str>,
    ) -> Result<Vec<Value>, RequestError> {
        let response = self
            .request(Request::get(kind.collection_path(namespace)), Vec::new())
            .await?;
        match response.object {
            Value::Object(mut list) => match list.remove("items") {
                Some(Value::Array(items)) => Ok(items),
                _ => Ok(Vec::new()),
            },
            _ => Ok(Vec::new()),
        }
    }

    /// Deletes an object. Succeeds if it does not exist.
    pub(super) async fn delete(
        &self,
        kind: &RestMapping,
        key: &ResourceKey,
    ) -> Result<(), RequestError> {
        let path = format!("{}?propagationPolicy=Background", kind.object_path(key));
        match self.request(Request::delete(path), Vec::new()).await {
            Err(e) if !e.is_not_found() => Err(e),
            _ => Ok(()),
        }
    }

    /// Applies a JSON merge patch. Ignores NotFound and Conflict.
    pub(super) async fn merge_patch(
        &self,
        kind: &RestMapping,
        key: &ResourceKey,
        change: &Value,
    ) -> Result<(), RequestError> {
        let path = format!("{}?fieldManager={FIELD_MANAGER}", kind.object_path(key));
        let request = Request::patch(path).header(CONTENT_TYPE, "application/merge-patch+json");
        match self.request(request, change.to_string().into_bytes()).await {
            Err(error) if !error.status().is_some_and(|s| matches!(s.code, 404 | 409)) => {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// The `APIResourceList` of a group version; `None` if it is not served.
    pub(super) async fn api_resource_list(
        &self,
        api_version: &str,
    ) -> Result<Option<Value>, RequestError> {
        let path = match api_version.contains('/') {
            true => format!("/apis/{api_version}"),
            false => format!("/api/{api_version}"),
        };
        match self.request(Request::get(path), Vec::new()).await {
            Ok(response) => Ok(Some(response.object)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    async fn request(
        &self,
        request: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<ApiResponse, RequestError> {
        let request = request
            .header(ACCEPT, "application/json")
            .body(Body::from(body))
            .map_err(kube::Error::HttpError)?;
        let response = self.client.send(request).await?;
        let success = response.status().is_success();
        let code = response.status().as_u16();
        let warnings = response
            .headers()
            .get_all("warning")
            .iter()
            .filter_map(|w| warning_text(w.to_str().ok()?))
            .collect();
        let bytes = response.into_body().collect_bytes().await?;
        if success {
            let object = serde_json::from_slice(&bytes).map_err(kube::Error::SerdeError)?;
            return Ok(ApiResponse { object, warnings });
        }
        let status = serde_json::from_slice::<Status>(&bytes).unwrap_or_else(|_| {
            let text: String = String::from_utf8_lossy(&bytes).chars().take(500).collect();
            Status::failure(&text, "Unknown").with_code(code)
        });
        Err(kube::Error::Api(Box::new(status)).into())
    }
}

/// The text of a `Warning` header: `299 - "text"`.
fn warning_text(header: &str) -> Option<String> {
    let quoted = header.split_once('"')?.1;
    let text = quoted.rsplit_once('"')?.0;
    Some(text.replace("\\\"", "\"").replace("\\\\", "\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_paths_and_warning_headers() {
        let kind = RestMapping {
            api_version: "kueue.x-k8s.io/v1beta2".into(),
            plural: "localqueues".into(),
            namespaced: true,
        };
        let key = ResourceKey {
            group: "kueue.x-k8s.io".into(),
            kind: "LocalQueue".into(),
            namespace: Some("team-a".into()),
            name: "a/b".into(),
        };
        assert_eq!(
            kind.object_path(&key),
            "/apis/kueue.x-k8s.io/v1beta2/namespaces/team%2Da/localqueues/a%2Fb"
        );
        assert_eq!(
            warning_text(r#"299 - "say \"hi\"""#).as_deref(),
            Some("say \"hi\"")
        );
    }
}
