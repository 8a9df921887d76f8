//! Which form of answer a client accepts.

use crate::status::ApiError;

/// What an answer is turned into before it is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// The object or list itself.
    #[default]
    Plain,
    /// `meta.k8s.io/v1` Table.
    Table,
    /// `meta.k8s.io/v1` PartialObjectMetadata or its list.
    Partial,
    /// `apidiscovery.k8s.io/v2` aggregated discovery.
    Discovery,
}

/// The encoding of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// JSON.
    #[default]
    Json,
    /// YAML.
    Yaml,
}

/// The outcome of content negotiation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accept {
    /// JSON or YAML.
    pub encoding: Encoding,
    /// The object itself or a view of it.
    pub form: Form,
    /// Whether the JSON is indented for people.
    pub pretty: bool,
}

/// Which views an endpoint offers besides the plain one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Views {
    /// None.
    Plain,
    /// Tables and partial metadata, for resources.
    Resources,
    /// Aggregated discovery, for `/api` and `/apis`.
    Discovery,
}

/// The media types named in a refusal.
pub const MEDIA_TYPES: &str =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

#[derive(Debug)]
struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: u16,
    params: Vec<(&'a str, &'a str)>,
}

fn clauses(header: &str) -> Vec<Clause<'_>> {
    let mut all: Vec<Clause<'_>> = header
        .split(',')
        .filter_map(|text| {
            let mut parts = text.split(';').map(str::trim);
            let (kind, subtype) = match parts.next()? {
                "*" => ("*", "*"),
                media => media.split_once('/')?,
            };
            let mut quality = 1000;
            let mut params = Vec::new();
            for (key, value) in parts.filter_map(|p| p.split_once('=')) {
                match key.trim() {
                    "q" => {
                        let q = value.trim().parse::<f32>().unwrap_or(1.0).clamp(0.0, 1.0);
                        quality = (q * 1000.0) as u16;
                    }
                    key => params.push((key, value.trim().trim_matches('"'))),
                }
            }
            Some(Clause {
                kind,
                subtype,
                quality,
                params,
            })
        })
        .collect();
    // Stable: equals stay in the client's order, wildcards after names.
    all.sort_by_key(|c| {
        (
            std::cmp::Reverse(c.quality),
            u8::from(c.kind == "*"),
            u8::from(c.subtype == "*"),
        )
    });
    all
}

impl Accept {
    /// Picks the first clause of an `Accept` header that the endpoint can satisfy.
    ///
    /// # Errors
    /// 406 when there is none.
    pub fn negotiate(header: &str, views: Views) -> Result<Self, ApiError> {
        if header.trim().is_empty() {
            return Ok(Self::default());
        }
        clauses(header)
            .iter()
            .find_map(|c| satisfy(c, views))
            .ok_or_else(not_acceptable)
    }
}

fn not_acceptable() -> ApiError {
    ApiError::new(
        406,
        "NotAcceptable",
        format!("only the following media types are accepted: {MEDIA_TYPES}"),
    )
}

fn satisfy(clause: &Clause<'_>, views: Views) -> Option<Accept> {
    let encoding = match (clause.kind, clause.subtype) {
        ("application", "json" | "*") | ("*", "*") => Encoding::Json,
        ("application", "yaml") => Encoding::Yaml,
        _ => return None,
    };
    let (mut kind, mut group, mut version) = ("", "", "");
    let mut accept = Accept {
        encoding,
        ..Accept::default()
    };
    for &(key, value) in &clause.params {
        match key {
            "as" => kind = value,
            "g" => group = value,
            "v" => version = value,
            "pretty" => accept.pretty = value == "1",
            "stream" if value != "watch" && !value.is_empty() => return None,
            "sv" if !value.is_empty() => return None,
            _ => {}
        }
    }
    accept.form = match (views, kind, group, version) {
        (_, "", "", "") => Form::Plain,
        (Views::Resources, "Table", "meta.k8s.io", "v1") => Form::Table,
        (
            Views::Resources,
            "PartialObjectMetadata" | "PartialObjectMetadataList",
            "meta.k8s.io",
            "v1",
        ) => Form::Partial,
        (Views::Discovery, "APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => Form::Discovery,
        _ => return None,
    };
    Some(accept)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBECTL_GET: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

    #[test]
    fn kubectl_gets_its_table() {
        let a = Accept::negotiate(KUBECTL_GET, Views::Resources).unwrap();
        assert_eq!((a.form, a.encoding), (Form::Table, Encoding::Json));
        let a = Accept::negotiate(KUBECTL_GET, Views::Plain).unwrap();
        assert_eq!(a.form, Form::Plain);
    }

    #[test]
    fn protobuf_is_passed_over_and_alone_refused() {
        let both = "application/vnd.kubernetes.protobuf,application/json";
        assert!(Accept::negotiate(both, Views::Resources).is_ok());
        let only = "application/vnd.kubernetes.protobuf";
        assert_eq!(
            Accept::negotiate(only, Views::Resources).unwrap_err().code,
            406
        );
    }

    #[test]
    fn quality_orders_and_wildcards_match() {
        let a = Accept::negotiate("application/json;q=0.5,application/yaml", Views::Plain).unwrap();
        assert_eq!(a.encoding, Encoding::Yaml);
        assert_eq!(
            Accept::negotiate("*/*", Views::Plain).unwrap().encoding,
            Encoding::Json
        );
        assert!(Accept::negotiate("text/html", Views::Plain).is_err());
    }
}
