//! Row type of the table of built-in resources and its const builders.

pub(super) const STANDARD_VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
pub(super) const READ_WRITE: &[&str] = &["get", "patch", "update"];
pub(super) const PROXY: &[&str] = &["create", "delete", "get", "patch", "update"];
pub(super) const CREATE: &[&str] = &["create"];
pub(super) const STREAM: &[&str] = &["create", "get"];

/// A subresource: name, (group, version, kind) if it differs from the parent resource, verbs.
pub(super) type SubresourceRow = (
    &'static str,
    (&'static str, &'static str, &'static str),
    &'static [&'static str],
);

pub(super) const PARENT_KIND: (&str, &str, &str) = ("", "", "");
pub(super) const STATUS: SubresourceRow = ("status", PARENT_KIND, READ_WRITE);
pub(super) const SCALE: SubresourceRow = ("scale", ("autoscaling", "v1", "Scale"), READ_WRITE);

/// One row of the table of built-in resources.
pub(super) struct ApiResourceRow {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    pub(super) short: &'static [&'static str],
    pub(super) categories: &'static [&'static str],
    pub(super) namespaced: bool,
    pub(super) verbs: &'static [&'static str],
    pub(super) subresources: &'static [SubresourceRow],
    pub(super) storage_version: Option<(&'static str, &'static str)>,
}

impl ApiResourceRow {
    pub(super) const fn namespaced(mut self) -> Self {
        self.namespaced = true;
        self
    }

    pub(super) const fn short(mut self, names: &'static [&'static str]) -> Self {
        self.short = names;
        self
    }

    pub(super) const fn category(mut self, names: &'static [&'static str]) -> Self {
        self.categories = names;
        self
    }

    pub(super) const fn verbs(mut self, verbs: &'static [&'static str]) -> Self {
        self.verbs = verbs;
        self
    }

    pub(super) const fn subresources(mut self, subs: &'static [SubresourceRow]) -> Self {
        self.subresources = subs;
        self
    }

    pub(super) const fn storage_version(
        mut self,
        group: &'static str,
        version: &'static str,
    ) -> Self {
        self.storage_version = Some((group, version));
        self
    }

    /// Marks a kind that supports only create and is not persisted, such as a TokenReview.
    pub(super) const fn review(mut self) -> Self {
        self.verbs = CREATE;
        self.storage_version = Some(("", ""));
        self
    }
}

pub(super) const fn row(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> ApiResourceRow {
    ApiResourceRow {
        group,
        version,
        kind,
        plural,
        short: &[],
        categories: &[],
        namespaced: false,
        verbs: STANDARD_VERBS,
        subresources: &[],
        storage_version: None,
    }
}

/// Category of the kinds that extend the API.
pub(super) const API_EXTENSIONS: &[&str] = &["api-extensions"];
