//! The errors of responses without success, as client-go words them
//! (`errors.NewGenericServerResponse`).

use http::StatusCode;

/// The number of bytes of a text that an error quotes.
const TEXT_MAX: usize = 2048;

/// The error of a response with this status; `text` is its body if the content type is text.
pub(super) fn generic_server_response(status: StatusCode, text: Option<&[u8]>) -> String {
    let text = text.map(|text| String::from_utf8_lossy(&text[..text.len().min(TEXT_MAX)]));
    let text = text.as_deref().map_or("unknown", str::trim);
    match status.as_u16() {
        400 => "the server rejected our request for an unknown reason".into(),
        401 => "the server has asked for the client to provide credentials".into(),
        403 | 415 => text.into(),
        404 => "the server could not find the requested resource".into(),
        405 => "the server does not allow this method on the requested resource".into(),
        406 if matches!(text, "" | "unknown") => {
            "the server was unable to respond with a content type that the client supports".into()
        }
        406 => text.into(),
        409 => "the server reported a conflict".into(),
        422 => "the server rejected our request due to an error in our request".into(),
        429 => {
            "the server has received too many requests and has asked us to try again later".into()
        }
        503 => "the server is currently unable to handle the request".into(),
        504 => "the server was unable to return a response in the time allotted, but may still be \
                processing the request"
            .into(),
        500.. => {
            format!("an error on the server ({text:?}) has prevented the request from succeeding")
        }
        code => format!(
            "the server responded with the status code {code} but did not return more information"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_client_go() {
        let error = |code: u16, text: Option<&str>| {
            let status = StatusCode::from_u16(code).unwrap();
            generic_server_response(status, text.map(str::as_bytes))
        };
        assert_eq!(
            error(404, Some("404 page not found\n")),
            "the server could not find the requested resource"
        );
        assert_eq!(
            error(500, Some("it \"broke\"\n")),
            "an error on the server (\"it \\\"broke\\\"\") has prevented the request from succeeding"
        );
        assert_eq!(error(403, None), "unknown");
        assert_eq!(
            error(302, None),
            "the server responded with the status code 302 but did not return more information"
        );
    }
}
