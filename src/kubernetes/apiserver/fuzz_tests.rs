//! Fuzz targets: parsers of requests do not panic. Those of objects are in the crates
//! `apimachinery` and `apiextensions`, those of protobuf in `protobuf`, those of SPDY and WebSocket
//! frames in the crate `streaming`, those of scripts in `shell` and `container`.

use proptest::prelude::*;

use crate::request::content_negotiation::EndpointRestrictions;
use crate::request::{MediaTypeOptions, Query, RequestInfo};
use kueue_lab_testing::assert_parses_nested_texts;

/// Parses a text with every parser of texts.
fn parse_all(text: &str) {
    let _ = RequestInfo::parse(text);
    let _ = Query::parse(text);
    for endpoint in [EndpointRestrictions::Resources, EndpointRestrictions::Watch] {
        let _ = MediaTypeOptions::negotiate(text, endpoint);
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "[a-f ()\\[\\]{}<>=!,.:;/*+'\"\\\\?@$#&|0-9%~\n-]{0,80}") {
        parse_all(&text);
    }
}

#[test]
fn nesting_does_not_overflow_the_stack() {
    assert_parses_nested_texts(parse_all);
}
