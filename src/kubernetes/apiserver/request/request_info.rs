//! RequestInfo: the resource or non-resource path of a URL.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// The parsed path of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestInfo {
    /// A resource, an object of it, or a subresource of that object.
    Resource(ResourcePath),
    /// The segments of a non-resource path: discovery, health, OpenAPI.
    NonResource(Vec<String>),
}

/// A path below `/api/v1` or `/apis/GROUP/VERSION`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    /// API group, empty for core.
    pub group: String,
    /// API version.
    pub version: String,
    /// Namespace, or empty. For the resource `namespaces` it is the object name, as in
    /// authorization.
    pub namespace: String,
    /// Plural resource name.
    pub resource: String,
    /// Object name, empty for the collection.
    pub name: String,
    /// Subresource, empty for the object itself.
    pub subresource: String,
    /// The path after the subresource, as in `services/x/proxy/a/b`.
    pub rest: String,
    /// Whether the deprecated `/watch/` prefix was used.
    pub watch_prefix: bool,
}

/// Subresources of namespaces; any other third segment is a resource in the namespace.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

impl RequestInfo {
    /// Parses a URL path (percent-encoded).
    pub(crate) fn parse(path: &str) -> Self {
        let segments: Vec<String> = path
            .trim_matches('/')
            .split('/')
            .filter(|s| !s.is_empty())
            .map(|s| percent_decode_str(s).decode_utf8_lossy())
            .map(Cow::into_owned)
            .collect();
        match resource(&segments) {
            Some(found) => Self::Resource(found),
            None => Self::NonResource(segments),
        }
    }
}

fn resource(segments: &[String]) -> Option<ResourcePath> {
    let mut found = ResourcePath::default();
    let mut rest = match segments {
        [api, version, rest @ ..] if api == "api" => {
            found.version.clone_from(version);
            rest
        }
        [apis, group, version, rest @ ..] if apis == "apis" => {
            found.group.clone_from(group);
            found.version.clone_from(version);
            rest
        }
        _ => return None,
    };
    if rest.len() > 1 && rest[0] == "watch" {
        found.watch_prefix = true;
        rest = &rest[1..];
    }
    if let [first, namespace, more @ ..] = rest
        && first == "namespaces"
    {
        found.namespace.clone_from(namespace);
        if more
            .first()
            .is_some_and(|s| !NAMESPACE_SUBRESOURCES.contains(&s.as_str()))
        {
            rest = more;
        }
    }
    found.resource = rest.first()?.clone();
    found.name = rest.get(1).cloned().unwrap_or_default();
    found.subresource = rest.get(2).cloned().unwrap_or_default();
    found.rest = rest.get(3..).unwrap_or_default().join("/");
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str) -> (String, String, String, String, String) {
        let RequestInfo::Resource(r) = RequestInfo::parse(path) else {
            panic!("{path}")
        };
        (
            format!("{}/{}", r.group, r.version),
            r.namespace,
            r.resource,
            r.name,
            r.subresource,
        )
    }

    fn want(
        a: &str,
        b: &str,
        c: &str,
        d: &str,
        e: &str,
    ) -> (String, String, String, String, String) {
        (a.into(), b.into(), c.into(), d.into(), e.into())
    }

    #[test]
    fn resource_paths() {
        assert_eq!(parts("/api/v1/pods"), want("/v1", "", "pods", "", ""));
        assert_eq!(
            parts("/api/v1/namespaces/a/pods/p/log"),
            want("/v1", "a", "pods", "p", "log")
        );
        assert_eq!(
            parts("/api/v1/namespaces/a"),
            want("/v1", "a", "namespaces", "a", "")
        );
        assert_eq!(
            parts("/api/v1/namespaces/a/finalize"),
            want("/v1", "a", "namespaces", "a", "finalize")
        );
        assert_eq!(
            parts("/apis/batch/v1/namespaces/a/jobs/j%2Ex/status"),
            want("batch/v1", "a", "jobs", "j.x", "status")
        );
        assert_eq!(parts("/api/v1/watch/pods"), want("/v1", "", "pods", "", ""));
    }

    #[test]
    fn other_paths() {
        for path in [
            "/",
            "/api",
            "/api/v1",
            "/apis/batch/v1",
            "/version",
            "/healthz/ping",
        ] {
            assert!(
                matches!(RequestInfo::parse(path), RequestInfo::NonResource(_)),
                "{path}"
            );
        }
    }
}
