//! Lists of resources in pages, if possible all of one revision.

use http::header::DATE;
use http_body_util::{BodyExt, Limited};
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use kube::client::Body;
use kube::core::Status;
use kube::discovery::ApiResource;
use kube::{Client, Error};
use serde_json::Value;

/// The objects of one response, so that large lists do not exceed the memory of a request.
const PAGE: u32 = 500;
/// The largest response in bytes.
const MAX_RESPONSE: usize = 256 << 20;

/// Lists resources of a cluster.
pub struct PagedLists {
    client: Client,
    /// The revision of the first list.
    revision: Option<String>,
    /// The time of the latest response.
    time: Option<Timestamp>,
}

impl PagedLists {
    /// Lists of a cluster.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            revision: None,
            time: None,
        }
    }

    /// The time of the API server in the header `Date` of the latest response, in seconds.
    pub fn time(&self) -> Option<Timestamp> {
        self.time
    }

    /// Lists a resource in all namespaces at the revision of the first list, or at the current one if that
    /// is compacted. The items have kind and apiVersion.
    ///
    /// # Errors
    /// The error of the API server or of the connection.
    pub async fn list(&mut self, resource: &ApiResource) -> Result<Vec<Value>, Error> {
        match self.list_at(resource, self.revision.clone()).await {
            Err(Error::Api(status)) if status.code == 410 => {
                let (items, _) = self.list_at(resource, None).await?;
                Ok(items)
            }
            Ok((items, listed)) => {
                self.revision.get_or_insert(listed);
                Ok(items)
            }
            Err(error) => Err(error),
        }
    }

    /// Gets one object; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub async fn get(&mut self, path: &str) -> Result<Option<Value>, Error> {
        match self.request(path).await {
            Err(Error::Api(status)) if status.code == 404 => Ok(None),
            got => got.map(Some),
        }
    }

    async fn list_at(
        &mut self,
        resource: &ApiResource,
        revision: Option<String>,
    ) -> Result<(Vec<Value>, String), Error> {
        let path = match resource.group.as_str() {
            "" => format!("/api/{}/{}", resource.version, resource.plural),
            group => format!("/apis/{group}/{}/{}", resource.version, resource.plural),
        };
        let mut items = Vec::new();
        let mut query = match revision {
            Some(revision) => format!("&resourceVersion={revision}&resourceVersionMatch=Exact"),
            None => String::new(),
        };
        loop {
            let mut list = self.request(&format!("{path}?limit={PAGE}{query}")).await?;
            if let Value::Array(page) = list["items"].take() {
                items.extend(page.into_iter().map(|mut item| {
                    item["apiVersion"] = resource.api_version.as_str().into();
                    item["kind"] = resource.kind.as_str().into();
                    item
                }));
            }
            let text = |field: &str| list["metadata"][field].as_str().unwrap_or_default();
            if text("continue").is_empty() {
                return Ok((items, text("resourceVersion").to_owned()));
            }
            query = format!("&continue={}", text("continue"));
        }
    }

    async fn request(&mut self, uri: &str) -> Result<Value, Error> {
        let request = http::Request::get(uri).body(Body::empty());
        let response = self.client.send(request.map_err(Error::HttpError)?).await?;
        let (head, body) = response.into_parts();
        let date = head.headers.get(DATE).and_then(|date| date.to_str().ok());
        if let Some(date) = date.and_then(|date| rfc2822::parse(date).ok()) {
            self.time = Some(date.timestamp());
        }
        let body = Limited::new(body, MAX_RESPONSE).collect().await;
        let bytes = body.map_err(Error::Service)?.to_bytes();
        if head.status.is_success() {
            return serde_json::from_slice(&bytes).map_err(Error::SerdeError);
        }
        let status = serde_json::from_slice::<Status>(&bytes).unwrap_or_else(|_| {
            let text: String = String::from_utf8_lossy(&bytes).chars().take(500).collect();
            Status::failure(&text, "Unknown").with_code(head.status.as_u16())
        });
        Err(Error::Api(Box::new(status)))
    }
}
