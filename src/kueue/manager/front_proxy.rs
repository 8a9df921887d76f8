//! [`FrontProxy`]: how the API server of a cluster authenticates to its extension API servers, and names the user.

use http::HeaderMap;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kueue_lab_controller_runtime::Api;
use kueue_lab_http::{CertificateSubject, PeerCertificates};

/// The namespace of the ConfigMap.
const NAMESPACE: &str = "kube-system";
/// The ConfigMap that every API server with an aggregation layer writes.
const CONFIG_MAP: &str = "extension-apiserver-authentication";

/// Why the requests of an API server cannot be authenticated.
#[derive(Debug, thiserror::Error)]
pub(super) enum FrontProxyError {
    /// The ConfigMap cannot be read.
    #[error("cannot read ConfigMap {NAMESPACE}/{CONFIG_MAP}: {0}")]
    Unreadable(#[from] kube::Error),
    /// The API server has no aggregation layer.
    #[error("ConfigMap {NAMESPACE}/{CONFIG_MAP} has no requestheader-client-ca-file")]
    NoAuthority,
}

/// The front proxy of a cluster, as `requestheader` options of its API server describe it.
#[derive(Debug)]
pub(super) struct FrontProxy {
    /// The certificates (PEM) that sign its client certificate.
    pub(super) authority: String,
    /// The common names of its client certificate; all if empty.
    allowed_names: Vec<String>,
    username_headers: Vec<String>,
    group_headers: Vec<String>,
}

/// The user of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestUser {
    pub(super) name: String,
    pub(super) groups: Vec<String>,
}

impl FrontProxy {
    /// That of a cluster.
    ///
    /// # Errors
    /// [`FrontProxyError`].
    pub(super) async fn of_cluster(client: &Client) -> Result<Self, FrontProxyError> {
        let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
        let found = config_maps.get(CONFIG_MAP).await?;
        Self::of(&found).ok_or(FrontProxyError::NoAuthority)
    }

    fn of(config_map: &ConfigMap) -> Option<Self> {
        let data = config_map.data.as_ref()?;
        let list = |key: &str| -> Vec<String> {
            let text = data.get(key).map_or("[]", String::as_str);
            // As client-go, which ignores the whole ConfigMap then; without headers no user is known.
            serde_json::from_str(text).unwrap_or_default()
        };
        Some(Self {
            authority: data.get("requestheader-client-ca-file")?.clone(),
            allowed_names: list("requestheader-allowed-names"),
            username_headers: list("requestheader-username-headers"),
            group_headers: list("requestheader-group-headers"),
        })
    }

    /// The user of a request, whose certificates the TLS handshake has verified. `None` if the client is not the front
    /// proxy, or names no user.
    pub(super) fn user(
        &self,
        certificates: &PeerCertificates,
        headers: &HeaderMap,
    ) -> Option<RequestUser> {
        let subject = CertificateSubject::of(certificates.0.first()?)?;
        if !self.allowed_names.is_empty() && !self.allowed_names.contains(&subject.user) {
            return None;
        }
        let mut names = values(headers, &self.username_headers);
        Some(RequestUser {
            name: names.next().filter(|name| !name.is_empty())?,
            groups: values(headers, &self.group_headers).collect(),
        })
    }
}

/// The values of headers, in order.
fn values<'h>(headers: &'h HeaderMap, names: &'h [String]) -> impl Iterator<Item = String> + 'h {
    let all = names.iter().flat_map(|name| headers.get_all(name.as_str()));
    all.filter_map(|value| Some(value.to_str().ok()?.to_owned()))
}
