//! The attributes of a request, parsed once from its head.

use http::Method;
use http::request::Parts;

use crate::auth::rbac_authorizer::AuthorizationAttributes;
use crate::metrics::RequestLabels;
use crate::request::{Query, RequestInfo, ResourcePath};
use crate::server_state::ServerState;
use kueue_lab_apimachinery::field_selector::FieldSelector;
use kueue_lab_apimachinery::metadata_validation::object_names::path_segment_name;

/// Subresources with long-running requests, as upstream's `BasicLongRunningRequestCheck`, and those
/// that are proxied to a kubelet or another server.
const LONG_RUNNING_SUBRESOURCES: [&str; 5] = ["attach", "exec", "proxy", "log", "portforward"];

/// The groups of kinds whose CEL expressions are compiled when they are written.
const EXPRESSION_GROUPS: [&str; 2] = ["admissionregistration.k8s.io", "apiextensions.k8s.io"];
/// The size of a stored object above which requests for it are expensive, in bytes.
const LARGE_OBJECT: usize = 64 << 10;
/// The objects and their bytes up to which a list of them is not expensive.
const SMALL_LIST: (usize, usize) = (64, 128 << 10);

/// The path, query and verb of a request.
#[derive(Clone, Debug)]
pub(crate) struct RequestAttributes {
    pub(super) target: RequestInfo,
    pub(super) query: Query,
    /// The verb of a resource request; `unknown` if the method has none.
    pub(super) verb: &'static str,
}

impl RequestAttributes {
    /// Parses the head of a request.
    pub(crate) fn parse(head: &Parts) -> Self {
        let target = RequestInfo::parse(head.uri.path());
        let query = Query::parse(head.uri.query().unwrap_or_default());
        let verb = match &target {
            RequestInfo::Resource(path) => request_verb(&head.method, path, &query),
            RequestInfo::NonResource(_) => None,
        };
        Self {
            target,
            query,
            verb: verb.unwrap_or("unknown"),
        }
    }

    /// The attributes for authorization.
    pub(super) fn authorization(&self, head: &Parts) -> AuthorizationAttributes {
        let RequestInfo::Resource(path) = &self.target else {
            return AuthorizationAttributes {
                verb: head.method.as_str().to_lowercase(),
                path: head.uri.path().into(),
                ..AuthorizationAttributes::default()
            };
        };
        AuthorizationAttributes {
            verb: self.verb.into(),
            group: path.group.clone(),
            resource: path.resource.clone(),
            subresource: path.subresource.clone(),
            namespace: path.namespace.clone(),
            name: match path.name.is_empty() {
                true => self.selected_name().unwrap_or_default(),
                false => path.name.clone(),
            },
            path: String::new(),
        }
    }

    /// The name in the field selector `metadata.name=NAME` of a request to a collection, which
    /// authorization takes for the name of the object, as `RequestInfo` upstream.
    fn selected_name(&self) -> Option<String> {
        if !matches!(self.verb, "list" | "watch" | "deletecollection") {
            return None;
        }
        let fields = FieldSelector::parse(self.query.text("fieldSelector")).ok()?;
        let name = fields.requires_exact_match("metadata.name")?;
        path_segment_name(name, false)
            .is_empty()
            .then(|| name.to_owned())
    }

    /// Whether the request is long-running: its client determines its duration.
    pub(crate) fn is_long_running(&self) -> bool {
        let RequestInfo::Resource(path) = &self.target else {
            return false;
        };
        self.verb == "watch" || LONG_RUNNING_SUBRESOURCES.contains(&path.subresource.as_str())
    }

    /// Whether the request is a watch.
    pub(crate) fn is_watch(&self) -> bool {
        self.verb == "watch"
    }

    /// Whether the request may compute for more than a few milliseconds whatever the size of its
    /// body: it reads many objects or a large one, compiles CEL expressions, or builds documents.
    pub(crate) fn is_expensive(&self, core: &ServerState) -> bool {
        let path = match &self.target {
            RequestInfo::NonResource(path) => {
                let first = path.first().map(String::as_str);
                return matches!(first, Some("openapi" | "metrics"));
            }
            RequestInfo::Resource(path) => path,
        };
        match self.verb {
            "list" => core.objects().is_larger(path, SMALL_LIST),
            "deletecollection" => true,
            "create" => EXPRESSION_GROUPS.contains(&path.group.as_str()),
            "get" | "update" | "patch" | "delete" if !self.is_long_running() => {
                EXPRESSION_GROUPS.contains(&path.group.as_str()) && self.verb != "get"
                    || core.objects().size(path) > LARGE_OBJECT
            }
            _ => false,
        }
    }

    /// The namespace of a resource request; empty without one.
    pub(super) fn namespace(&self) -> &str {
        match &self.target {
            RequestInfo::Resource(path) => &path.namespace,
            RequestInfo::NonResource(_) => "",
        }
    }

    /// The labels of the request in metrics. Only resources that are served are named, so that
    /// clients cannot add series.
    pub(super) fn labels(&self, core: &ServerState) -> RequestLabels {
        let RequestInfo::Resource(path) = &self.target else {
            return RequestLabels::of_verb("get");
        };
        let served = core
            .registry
            .find(&path.group, &path.version, &path.resource);
        match served {
            Some(_) => RequestLabels {
                verb: self.verb,
                group: path.group.clone(),
                version: path.version.clone(),
                resource: path.resource.clone(),
                code: 0,
            },
            None => RequestLabels::of_verb(self.verb),
        }
    }
}

/// The API verb of a request, as authorization and discovery use it.
fn request_verb(method: &Method, path: &ResourcePath, query: &Query) -> Option<&'static str> {
    let named = !path.name.is_empty();
    Some(match *method {
        Method::GET | Method::HEAD if path.watch_prefix => "watch",
        Method::GET | Method::HEAD if named => "get",
        Method::GET | Method::HEAD if query.flag("watch").unwrap_or(false) => "watch",
        Method::GET | Method::HEAD => "list",
        Method::POST => "create",
        Method::PUT if named => "update",
        Method::PATCH if named => "patch",
        Method::DELETE if named => "delete",
        Method::DELETE => "deletecollection",
        _ => return None,
    })
}
