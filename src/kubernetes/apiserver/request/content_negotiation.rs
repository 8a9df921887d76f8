//! Content negotiation: the media type and representation of a response.

use kueue_lab_apimachinery::api_error::ApiError;
use kueue_lab_apimachinery::status_reason::StatusReason;

/// The representation of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ResponseForm {
    /// The object or list itself.
    #[default]
    Object,
    /// `meta.k8s.io/v1` Table.
    Table,
    /// `meta.k8s.io/v1` PartialObjectMetadata or its list.
    PartialObjectMetadata,
    /// `apidiscovery.k8s.io/v2` aggregated discovery.
    Discovery,
}

/// The encoding of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// JSON.
    #[default]
    Json,
    /// YAML.
    Yaml,
    /// Protobuf, for kinds with a message.
    Protobuf,
}

/// The outcome of content negotiation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MediaTypeOptions {
    /// JSON, YAML or protobuf.
    pub encoding: Encoding,
    /// The representation of the object.
    pub form: ResponseForm,
    /// Whether the JSON is indented.
    pub pretty: bool,
}

/// The representations an endpoint supports besides the plain object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndpointRestrictions {
    /// Nothing else, for errors.
    Default,
    /// Tables and partial metadata, for resources.
    Resources,
    /// As for resources, without YAML, which cannot be streamed.
    Watch,
    /// Aggregated discovery, for `/api` and `/apis`.
    Discovery,
}

/// The media types listed in a 406 error.
pub(crate) const MEDIA_TYPES: &str =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// The media types listed in a 406 error of a watch.
const WATCH_MEDIA_TYPES: &str =
    "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

#[derive(Debug)]
struct MediaRange<'a> {
    kind: &'a str,
    subtype: &'a str,
    quality: u16,
    params: Vec<(&'a str, &'a str)>,
}

fn media_ranges(header: &str) -> Vec<MediaRange<'_>> {
    let mut all: Vec<MediaRange<'_>> = header
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
            Some(MediaRange {
                kind,
                subtype,
                quality,
                params,
            })
        })
        .collect();
    // The sort is stable: equal clauses keep the client's order; wildcards come last.
    all.sort_by_key(|c| {
        (
            std::cmp::Reverse(c.quality),
            u8::from(c.kind == "*"),
            u8::from(c.subtype == "*"),
        )
    });
    all
}

impl MediaTypeOptions {
    /// Selects the first clause of an `Accept` header that the endpoint supports.
    ///
    /// # Errors
    /// 406 if there is none.
    pub(crate) fn negotiate(header: &str, views: EndpointRestrictions) -> Result<Self, ApiError> {
        if header.trim().is_empty() {
            return Ok(Self::default());
        }
        media_ranges(header)
            .iter()
            .find_map(|c| accept_media_range(c, views))
            .ok_or_else(|| not_acceptable(views))
    }
}

fn not_acceptable(views: EndpointRestrictions) -> ApiError {
    let accepted = match views {
        EndpointRestrictions::Watch => WATCH_MEDIA_TYPES,
        _ => MEDIA_TYPES,
    };
    ApiError::new(
        406,
        StatusReason::NotAcceptable,
        format!("only the following media types are accepted: {accepted}"),
    )
}

fn accept_media_range(
    clause: &MediaRange<'_>,
    views: EndpointRestrictions,
) -> Option<MediaTypeOptions> {
    let encoding = match (clause.kind, clause.subtype) {
        ("application", "json" | "*") | ("*", "*") => Encoding::Json,
        ("application", "yaml") if views != EndpointRestrictions::Watch => Encoding::Yaml,
        ("application", "vnd.kubernetes.protobuf") => Encoding::Protobuf,
        _ => return None,
    };
    let transforms = matches!(
        views,
        EndpointRestrictions::Resources | EndpointRestrictions::Watch
    );
    let (mut kind, mut group, mut version) = ("", "", "");
    let mut accept = MediaTypeOptions {
        encoding,
        ..MediaTypeOptions::default()
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
        (_, "", "", "") => ResponseForm::Object,
        (_, "Table", "meta.k8s.io", "v1") if transforms => ResponseForm::Table,
        (_, "PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1")
            if transforms =>
        {
            ResponseForm::PartialObjectMetadata
        }
        (EndpointRestrictions::Discovery, "APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2")
            if encoding == Encoding::Json =>
        {
            ResponseForm::Discovery
        }
        _ => return None,
    };
    Some(accept)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBECTL_GET: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

    #[test]
    fn kubectl_get_negotiates_a_table() {
        let a = MediaTypeOptions::negotiate(KUBECTL_GET, EndpointRestrictions::Resources).unwrap();
        assert_eq!((a.form, a.encoding), (ResponseForm::Table, Encoding::Json));
        let a = MediaTypeOptions::negotiate(KUBECTL_GET, EndpointRestrictions::Discovery).unwrap();
        assert_eq!(a.form, ResponseForm::Object);
    }

    #[test]
    fn protobuf_is_negotiated_and_yaml_is_not_streamed() {
        let negotiate = MediaTypeOptions::negotiate;
        let both = "application/vnd.kubernetes.protobuf,application/json";
        let a = negotiate(both, EndpointRestrictions::Resources).unwrap();
        assert_eq!(a.encoding, Encoding::Protobuf);
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io, application/yaml";
        let a = negotiate(table, EndpointRestrictions::Default).unwrap();
        assert_eq!((a.form, a.encoding), (ResponseForm::Object, Encoding::Yaml));
        let a = negotiate("application/yaml", EndpointRestrictions::Watch);
        assert_eq!(a.unwrap_err().code, 406);
    }

    #[test]
    fn quality_orders_and_wildcards_match() {
        let a = MediaTypeOptions::negotiate(
            "application/json;q=0.5,application/yaml",
            EndpointRestrictions::Resources,
        )
        .unwrap();
        assert_eq!(a.encoding, Encoding::Yaml);
        assert_eq!(
            MediaTypeOptions::negotiate("*/*", EndpointRestrictions::Resources)
                .unwrap()
                .encoding,
            Encoding::Json
        );
        assert!(MediaTypeOptions::negotiate("text/html", EndpointRestrictions::Resources).is_err());
    }
}
