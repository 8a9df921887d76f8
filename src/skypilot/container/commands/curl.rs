//! `curl` and `wget`.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Response, Uri};

use super::context::{Context, Exit};
use crate::filesystem::{Errno, file_name};
use crate::system::{CertificateAuthorities, InsecureTls, RequestError};

/// Maximum number of redirects.
const REDIRECTS: usize = 10;

/// A request of the command line.
#[derive(Default)]
struct Options {
    method: Option<Method>,
    headers: Vec<(String, String)>,
    data: Option<Vec<u8>>,
    output: Option<String>,
    write_out: String,
    silent: bool,
    show_error: bool,
    fail: bool,
    include: bool,
    head: bool,
    location: bool,
    verbose: bool,
    insecure: bool,
    authorities: Option<Bytes>,
    timeout: Option<Duration>,
    urls: Vec<String>,
}

/// Why the options of `curl` are refused.
#[derive(Debug, thiserror::Error)]
enum OptionError {
    #[error("option {0}: requires parameter")]
    MissingParameter(String),
    #[error("option {0}: is unknown")]
    Unknown(String),
    #[error("{0}: {1}")]
    Data(String, Errno),
}

pub(super) async fn run(program: &str, context: &mut Context<'_>) -> Exit {
    let parsed = match program {
        "curl" => parse_curl(context),
        _ => Ok(parse_wget(context)),
    };
    let options = match parsed {
        Ok(options) => options,
        Err(error) => return context.fail(2, error.to_string()).await,
    };
    if options.urls.is_empty() {
        return context.fail(2, "no URL specified").await;
    }
    let mut status = 0;
    for url in &options.urls {
        status = match program {
            "curl" => curl(context, &options, url).await?,
            _ => wget(context, &options, url).await?,
        };
    }
    Ok(status)
}

fn parse_curl(context: &Context<'_>) -> Result<Options, OptionError> {
    let mut options = Options::default();
    let mut rest = context.arguments.iter();
    while let Some(argument) = rest.next() {
        let mut value = || {
            let missing = || OptionError::MissingParameter(argument.clone());
            rest.next().cloned().ok_or_else(missing)
        };
        match argument.as_str() {
            "-X" | "--request" => {
                let method = value()?;
                options.method = Method::from_bytes(method.as_bytes()).ok();
            }
            "-H" | "--header" => {
                let header = value()?;
                let (name, text) = header.split_once(':').unwrap_or((&header, ""));
                options
                    .headers
                    .push((name.trim().into(), text.trim().into()));
            }
            "-d" | "--data" | "--data-raw" | "--data-binary" | "--data-ascii" | "--json" => {
                let text = value()?;
                let data = match text.strip_prefix('@') {
                    Some(path) if argument != "--data-raw" => {
                        let data = context.read_file(path);
                        data.map_err(|error| OptionError::Data(path.to_owned(), error))?
                            .to_vec()
                    }
                    _ => text.into_bytes(),
                };
                match &mut options.data {
                    Some(before) => {
                        before.push(b'&');
                        before.extend(data);
                    }
                    None => options.data = Some(data),
                }
                if argument == "--json" {
                    for name in ["Content-Type", "Accept"] {
                        options
                            .headers
                            .push((name.into(), "application/json".into()));
                    }
                }
            }
            "-u" | "--user" => {
                let credentials = STANDARD.encode(value()?);
                let header = ("Authorization".into(), format!("Basic {credentials}"));
                options.headers.push(header);
            }
            "-A" | "--user-agent" => {
                let header = ("User-Agent".into(), value()?);
                options.headers.push(header);
            }
            "-o" | "--output" => options.output = Some(value()?),
            "-w" | "--write-out" => options.write_out = value()?,
            "-m" | "--max-time" => {
                options.timeout = kueue_lab_container_program::duration(&value()?);
            }
            "--cacert" => options.authorities = Some(authorities(context, &value()?)),
            "--connect-timeout" | "--retry" | "--retry-delay" | "--cert" | "--key"
            | "--resolve" | "-x" | "--proxy" | "--retry-max-time" => drop(value()?),
            "--url" => options.urls.push(value()?),
            "--silent" => options.silent = true,
            "--show-error" => options.show_error = true,
            "--fail" | "--fail-with-body" => options.fail = true,
            "--include" => options.include = true,
            "--head" => options.head = true,
            "--location" => options.location = true,
            "--verbose" => options.verbose = true,
            "--insecure" => options.insecure = true,
            long if long.starts_with("--") => {}
            short if short.starts_with('-') && short.len() > 1 => {
                for letter in short.chars().skip(1) {
                    match letter {
                        's' => options.silent = true,
                        'S' => options.show_error = true,
                        'f' => options.fail = true,
                        'i' => options.include = true,
                        'I' => options.head = true,
                        'L' => options.location = true,
                        'v' => options.verbose = true,
                        'k' => options.insecure = true,
                        'g' | 'N' | '4' | '6' | '#' => {}
                        'o' => options.output = Some(value()?),
                        'm' => options.timeout = kueue_lab_container_program::duration(&value()?),
                        'w' => options.write_out = value()?,
                        'O' => options.output = Some(String::new()),
                        'G' => options.method = Some(Method::GET),
                        _ => return Err(OptionError::Unknown(short.to_string())),
                    }
                }
            }
            url => options.urls.push(url.to_owned()),
        }
    }
    Ok(options)
}

fn parse_wget(context: &Context<'_>) -> Options {
    let mut options = Options {
        location: true,
        ..Options::default()
    };
    let mut rest = context.arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "-O" => options.output = rest.next().cloned(),
            "-T" => {
                options.timeout = rest
                    .next()
                    .and_then(|t| kueue_lab_container_program::duration(t))
            }
            "-q" | "--quiet" => options.silent = true,
            "--spider" => options.head = true,
            group if group.starts_with('-') && !group.starts_with("--") && group.len() > 2 => {
                options.silent |= group.contains('q');
                if let Some((_, attached)) = group.split_once('O') {
                    options.output = match attached {
                        "" => rest.next().cloned(),
                        attached => Some(attached.to_owned()),
                    };
                }
            }
            "--no-check-certificate" => options.insecure = true,
            file if file.starts_with("--ca-certificate=") => {
                let path = file.split_once('=').map_or("", |(_, path)| path);
                options.authorities = Some(authorities(context, path));
            }
            long if long.starts_with("--") => {
                if let Some((name, text)) = long
                    .strip_prefix("--header=")
                    .and_then(|header| header.split_once(':'))
                {
                    options
                        .headers
                        .push((name.trim().into(), text.trim().into()));
                }
                if let Some(data) = long.strip_prefix("--post-data=") {
                    options.data = Some(data.as_bytes().to_vec());
                }
            }
            option if option.starts_with('-') => {}
            url => options.urls.push(url.to_owned()),
        }
    }
    options
}

/// The certificate authorities in a file; an unreadable file has none, which is the error of the
/// request.
fn authorities(context: &Context<'_>, path: &str) -> Bytes {
    context.read_file(path).unwrap_or_default()
}

/// The error of a request without a response.
enum Failure {
    Url,
    Timeout,
    Request(RequestError),
}

async fn send(
    context: &Context<'_>,
    options: &Options,
    agent: &str,
    url: &str,
) -> Result<(Uri, Response<Bytes>), Failure> {
    let url = match url.contains("://") {
        true => url.to_owned(),
        false => format!("http://{url}"),
    };
    let mut uri: Uri = url.parse().map_err(|_| Failure::Url)?;
    for _ in 0..REDIRECTS {
        let request = request(options, agent, &uri).ok_or(Failure::Url)?;
        let system = context.container().system();
        let response = match options.timeout {
            None => system.request(request).await,
            Some(timeout) => tokio::select! {
                response = system.request(request) => response,
                () = system.sleep(timeout) => return Err(Failure::Timeout),
            },
        };
        let response = response.map_err(Failure::Request)?;
        let location = response.headers().get(http::header::LOCATION);
        let location = location.and_then(|location| location.to_str().ok());
        match location {
            Some(location) if options.location && response.status().is_redirection() => {
                let base = format!(
                    "{}://{}",
                    uri.scheme_str().unwrap_or("http"),
                    uri.authority().map_or("", |a| a.as_str())
                );
                let next = match location.starts_with('/') {
                    true => format!("{base}{location}"),
                    false => location.to_owned(),
                };
                uri = next.parse().map_err(|_| Failure::Url)?;
            }
            _ => return Ok((uri, response)),
        }
    }
    Err(Failure::Request(RequestError::EmptyReply))
}

fn request(options: &Options, agent: &str, uri: &Uri) -> Option<Request<Bytes>> {
    uri.authority()?;
    let method = match (&options.method, options.head, &options.data) {
        (Some(method), ..) => method.clone(),
        (None, true, _) => Method::HEAD,
        (None, false, Some(_)) => Method::POST,
        (None, false, None) => Method::GET,
    };
    let mut request = Request::new(Bytes::from(options.data.clone().unwrap_or_default()));
    *request.method_mut() = method;
    *request.uri_mut() = uri.clone();
    if options.insecure {
        request.extensions_mut().insert(InsecureTls);
    }
    if let Some(authorities) = &options.authorities {
        let authorities = CertificateAuthorities(authorities.clone());
        request.extensions_mut().insert(authorities);
    }
    let headers = request.headers_mut();
    headers.insert(http::header::ACCEPT, HeaderValue::from_static("*/*"));
    headers.insert(http::header::USER_AGENT, HeaderValue::from_str(agent).ok()?);
    if options.data.is_some() {
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(http::header::CONTENT_TYPE, form);
    }
    for (name, value) in &options.headers {
        let name: HeaderName = name.parse().ok()?;
        headers.insert(name, HeaderValue::from_str(value).ok()?);
    }
    Some(request)
}

/// The exit code and the message of `curl`.
fn curl_failure(failure: &Failure, options: &Options) -> (i32, String) {
    match failure {
        Failure::Url => (3, "URL using bad/illegal format or missing URL".into()),
        Failure::Timeout => {
            let milliseconds = options.timeout.unwrap_or_default().as_millis();
            (
                28,
                format!(
                    "Operation timed out after {milliseconds} milliseconds with 0 bytes received"
                ),
            )
        }
        Failure::Request(error) => match error {
            RequestError::UnknownHost(_) => (6, error.to_string()),
            RequestError::Connect(_) => (7, error.to_string()),
            RequestError::EmptyReply => (52, error.to_string()),
            RequestError::UnknownIssuer | RequestError::WrongName(_) => (60, error.to_string()),
            RequestError::InvalidAuthorities => (77, error.to_string()),
            RequestError::Tls(_) => (35, error.to_string()),
        },
    }
}

async fn curl(context: &Context<'_>, options: &Options, url: &str) -> Exit {
    let (uri, response) = match send(context, options, "curl/8.5.0", url).await {
        Ok(response) => response,
        Err(failure) => {
            let (code, message) = curl_failure(&failure, options);
            if !options.silent || options.show_error {
                context
                    .streams
                    .stderr
                    .line(format!("curl: ({code}) {message}"))
                    .await?;
            }
            if !options.write_out.is_empty() {
                context.write(write_out(&options.write_out, 0, 0)).await?;
            }
            return Ok(code);
        }
    };
    let status = response.status();
    if options.verbose {
        let host = uri.authority().map_or("", |a| a.as_str());
        let path = uri.path_and_query().map_or("/", |p| p.as_str());
        let text = format!("> GET {path} HTTP/1.1\n> Host: {host}\n>\n< HTTP/1.1 {status}\n<");
        context.streams.stderr.line(text).await?;
    }
    if options.fail && status.as_u16() >= 400 {
        if !options.silent || options.show_error {
            let code = status.as_u16();
            let text = format!("curl: (22) The requested URL returned error: {code}");
            context.streams.stderr.line(text).await?;
        }
        return Ok(22);
    }
    let mut data = Vec::new();
    if options.include || options.head {
        data.extend(format!("HTTP/1.1 {status}\r\n").into_bytes());
        for (name, value) in response.headers() {
            data.extend(format!("{name}: ").into_bytes());
            data.extend(value.as_bytes());
            data.extend(b"\r\n");
        }
        data.extend(b"\r\n");
    }
    data.extend_from_slice(response.body());
    let size = response.body().len();
    let output = match options.output.as_deref() {
        // `-O`: the last part of the path.
        Some("") => Some(file_name(uri.path()).to_owned()),
        output => output.map(str::to_owned),
    };
    match output.as_deref() {
        None | Some("-" | "/dev/stdout") => context.write(data).await?,
        Some("/dev/null") => {}
        Some(path) => {
            let now = context.now();
            let written = context
                .files()
                .write(context.directory(), path, data.into(), now);
            if written.is_err() {
                let text = format!("curl: (23) Failure writing output to destination, {path}");
                context.streams.stderr.line(text).await?;
                return Ok(23);
            }
        }
    }
    if !options.write_out.is_empty() {
        context
            .write(write_out(&options.write_out, status.as_u16(), size))
            .await?;
    }
    Ok(0)
}

fn write_out(format: &str, status: u16, size: usize) -> String {
    format
        .replace("%{http_code}", &format!("{status:03}"))
        .replace("%{response_code}", &format!("{status:03}"))
        .replace("%{size_download}", &size.to_string())
        .replace("\\n", "\n")
        .replace("\\t", "\t")
}

async fn wget(context: &Context<'_>, options: &Options, url: &str) -> Exit {
    let (uri, response) = match send(context, options, "Wget", url).await {
        Ok(response) => response,
        Err(failure) => {
            let message = match &failure {
                Failure::Url => format!("bad address '{url}'"),
                Failure::Timeout => "download timed out".into(),
                Failure::Request(RequestError::UnknownHost(host)) => {
                    format!("bad address '{host}'")
                }
                Failure::Request(error) => format!("can't connect to remote host: {error}"),
            };
            return context.fail(1, message).await;
        }
    };
    let status = response.status();
    if status.as_u16() >= 400 {
        let message = format!("server returned error: HTTP/1.1 {status}");
        return context.fail(1, message).await;
    }
    if options.head {
        return Ok(0);
    }
    let name = match (file_name(uri.path()), options.output.as_deref()) {
        (_, Some(output)) => output.to_owned(),
        ("/" | "", None) => "index.html".into(),
        (name, None) => name.to_owned(),
    };
    if name == "-" {
        context.write(response.body()).await?;
        return Ok(0);
    }
    let now = context.now();
    let data = response.into_body();
    match context.files().write(context.directory(), &name, data, now) {
        Ok(()) => {
            if !options.silent {
                context
                    .streams
                    .stderr
                    .line(format!("saving to '{name}'\n'{name}' saved"))
                    .await?;
            }
            Ok(0)
        }
        Err(error) => {
            context
                .fail(1, format!("can't open '{name}': {error}"))
                .await
        }
    }
}
