//! `/openapi`: the documents clients learn the API from, over the kinds served now.

use http::header::{ACCEPT, CACHE_CONTROL, ETAG, EXPIRES, IF_NONE_MATCH, LOCATION};
use serde_json::json;

use super::Incoming;
use super::reply::Reply;
use crate::kind::Kind;
use crate::openapi::{CustomSchema, PROTOBUF_V2, Source};
use crate::registry::Table;
use crate::request::Query;
use crate::server::Core;
use crate::status::ApiError;

/// Answers a path below `/openapi`.
pub(super) fn answer(core: &Core, incoming: &Incoming, path: &[&str]) -> Result<Reply, ApiError> {
    let table = core.registry.table();
    let source = Served(&table);
    match path {
        ["v2"] => Ok(whole(core, incoming, &source)),
        ["v3"] | ["v3", ""] => {
            let index = core.openapi.index(&source).to_string();
            Ok(Reply::text(200, index))
        }
        ["v3", path @ ..] => Ok(one(core, incoming, &source, &path.join("/"))),
        _ => Ok(Reply::page_not_found()),
    }
}

const JSON: &str = "application/json";

/// The first media type a client takes of what there is.
fn accepted(incoming: &Incoming, offered: &[&'static str]) -> Option<&'static str> {
    let values = incoming.head.headers.get_all(ACCEPT).iter();
    let texts: Vec<&str> = values.filter_map(|v| v.to_str().ok()).collect();
    let asked = texts.iter().flat_map(|t| t.split(','));
    let mut asked = asked
        .map(|media| media.split(';').next().unwrap_or_default().trim())
        .filter(|media| !media.is_empty())
        .peekable();
    if asked.peek().is_none() {
        return offered.first().copied();
    }
    asked.find_map(|media| match media {
        "*/*" | "application/*" => offered.first().copied(),
        _ => offered
            .iter()
            .copied()
            .find(|o| *o == media || alias(o) == media),
    })
}

/// The older name of a media type.
fn alias(media: &str) -> &str {
    match media {
        PROTOBUF_V2 => "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
        other => other,
    }
}

/// The document of version 2, which knows no hash in its address.
fn whole(core: &Core, incoming: &Incoming, source: &dyn Source) -> Reply {
    let Some(media) = accepted(incoming, &[JSON, PROTOBUF_V2]) else {
        return Reply::empty(406);
    };
    let (bytes, hash) = core.openapi.swagger(source, media == PROTOBUF_V2);
    unchanged(incoming, &hash)
        .unwrap_or_else(|| Reply::new(200, media, bytes.into()))
        .with_header(ETAG, &format!("\"{hash}\""))
}

/// One document of version 3. With its hash in the address it may be kept for good.
fn one(core: &Core, incoming: &Incoming, source: &dyn Source, path: &str) -> Reply {
    let Some((bytes, hash)) = core.openapi.document(source, path) else {
        return Reply::page_not_found();
    };
    if accepted(incoming, &[JSON]).is_none() {
        return Reply::empty(406);
    }
    let query = Query::parse(incoming.head.uri.query().unwrap_or_default());
    let etag = format!("\"{hash}\"");
    match query.text("hash") {
        "" => {}
        asked if asked == hash => {
            return unchanged(incoming, &hash)
                .unwrap_or_else(|| Reply::new(200, JSON, bytes.into()))
                .with_header(ETAG, &etag)
                .with_header(CACHE_CONTROL, "public, immutable")
                .with_header(EXPIRES, "Fri, 31 Dec 2100 23:59:59 GMT");
        }
        _ => {
            let place = format!("/openapi/v3/{path}?hash={hash}");
            return Reply::empty(301).with_header(LOCATION, &place);
        }
    }
    unchanged(incoming, &hash)
        .unwrap_or_else(|| Reply::new(200, JSON, bytes.into()))
        .with_header(ETAG, &etag)
}

/// The short answer to a client that already has the document.
fn unchanged(incoming: &Incoming, hash: &str) -> Option<Reply> {
    let known = incoming.head.headers.get(IF_NONE_MATCH)?.to_str().ok()?;
    let same = |etag: &str| etag.trim().trim_start_matches("W/").trim_matches('"') == hash;
    known.split(',').any(same).then(|| Reply::empty(304))
}

/// The kinds served now.
struct Served<'a>(&'a Table);

impl Source for Served<'_> {
    fn kinds(&self, group: &str, version: &str) -> Vec<Kind> {
        let version = self.0.group(group).and_then(|g| g.version(version));
        version
            .into_iter()
            .flat_map(|v| &v.resources)
            .map(|served| served.kind.clone())
            .collect()
    }

    fn group_versions(&self) -> Vec<(String, String)> {
        let groups = self.0.groups().iter();
        groups
            .flat_map(|g| {
                g.versions
                    .iter()
                    .map(|v| (g.name.to_string(), v.name.to_string()))
            })
            .collect()
    }

    fn custom(&self, kind: &Kind) -> Option<CustomSchema> {
        let served = self.0.find(&kind.group, &kind.version, &kind.plural)?;
        let version = served.custom.as_ref()?.version();
        let selectable = version.selectable.iter();
        Some(CustomSchema {
            schema: (version.schema)(),
            selectable_fields: selectable.map(|p| json!({"jsonPath": p})).collect(),
        })
    }

    fn state(&self, group: &str, version: &str) -> String {
        let version = self.0.group(group).and_then(|g| g.version(version));
        let resources = version.into_iter().flat_map(|v| &v.resources);
        resources
            .map(|served| format!("{}:{},", served.kind.plural, served.shape))
            .collect()
    }
}
