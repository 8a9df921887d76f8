//! Fuzz targets: parsers of requests do not panic. Those of objects are in the crates `apimachinery` and
//! `apiextensions`, those of protobuf in `protobuf`, those of SPDY and WebSocket frames in the crate
//! `streaming`, those of scripts in `shell` and `container`.

use proptest::prelude::*;

use crate::request::content_negotiation::EndpointRestrictions;
use crate::request::{MediaTypeOptions, Query, RequestInfo};

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
    for opening in [
        "(",
        "[",
        "{",
        "{a: ",
        "!",
        "-",
        "a.",
        "a?",
        "a ? b : ",
        "[1].map(x, ",
        "..",
        "[?(@.a",
        "a[",
        "{\"a\":",
        "- ",
        "a in (",
        "$",
        "~",
        "/",
        "{.a[",
        "((a == ",
        "!(",
        "\"\" + ",
        "a && ",
        "a || ",
    ] {
        // As on the threads of the runtime.
        let text = opening.repeat(20_000);
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        let parsing = thread.spawn(move || parse_all(&text)).unwrap();
        assert!(parsing.join().is_ok(), "{opening}");
    }
}
