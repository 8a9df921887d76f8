//! One row of the table, and how rows are written.

pub(super) const STORED: &[&str] = &[
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

/// A subresource: name, (group, version, kind) where it does not speak the parent kind, verbs.
pub(super) type Sub = (
    &'static str,
    (&'static str, &'static str, &'static str),
    &'static [&'static str],
);

pub(super) const PARENT: (&str, &str, &str) = ("", "", "");
pub(super) const STATUS: Sub = ("status", PARENT, READ_WRITE);
pub(super) const SCALE: Sub = ("scale", ("autoscaling", "v1", "Scale"), READ_WRITE);

/// One row of the table.
pub(super) struct Row {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    pub(super) short: &'static [&'static str],
    pub(super) categories: &'static [&'static str],
    pub(super) namespaced: bool,
    pub(super) verbs: &'static [&'static str],
    pub(super) subs: &'static [Sub],
    pub(super) stored_as: Option<(&'static str, &'static str)>,
}

impl Row {
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

    pub(super) const fn subs(mut self, subs: &'static [Sub]) -> Self {
        self.subs = subs;
        self
    }

    pub(super) const fn stored_as(mut self, group: &'static str, version: &'static str) -> Self {
        self.stored_as = Some((group, version));
        self
    }

    /// A kind that is only ever an answer to a create.
    pub(super) const fn review(mut self) -> Self {
        self.verbs = CREATE;
        self.stored_as = Some(("", ""));
        self
    }
}

pub(super) const fn row(
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    plural: &'static str,
) -> Row {
    Row {
        group,
        version,
        kind,
        plural,
        short: &[],
        categories: &[],
        namespaced: false,
        verbs: STORED,
        subs: &[],
        stored_as: None,
    }
}

/// The category of kinds that extend the API.
pub(super) const API_EXTENSIONS: &[&str] = &["api-extensions"];
