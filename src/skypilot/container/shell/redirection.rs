//! Redirections.

use super::expansion::ExpansionError;
use super::state::Shell;
use crate::filesystem::Errno;
use crate::streams::{Input, Output, Streams};
use kueue_lab_shell::syntax::{Redirect, RedirectKind};

/// Bytes of `/dev/zero` and `/dev/urandom`.
const DEVICE_BYTES: usize = 1 << 20;

impl Shell {
    /// The streams of a command with redirections.
    pub(super) async fn redirect(
        &mut self,
        redirects: &[Redirect],
        streams: &Streams,
    ) -> Result<Streams, ExpansionError> {
        let mut streams = streams.clone();
        for redirect in redirects {
            let descriptor = redirect.descriptor.unwrap_or(1);
            match &redirect.kind {
                RedirectKind::Read(word) => {
                    let path = self.expand_text(word, &streams).await?;
                    let input = self.open_input(&path, &streams);
                    streams.stdin = input.map_err(|error| cannot("open", &path, error))?;
                }
                RedirectKind::HereDocument(text) => {
                    let text = match text.get() {
                        Some(word) => self.expand_text(word, &streams).await?,
                        None => String::new(),
                    };
                    streams.stdin = Input::bytes(text);
                }
                RedirectKind::HereString(word) => {
                    let text = self.expand_text(word, &streams).await?;
                    streams.stdin = Input::bytes(format!("{text}\n"));
                }
                RedirectKind::Write(word) => {
                    let path = self.expand_text(word, &streams).await?;
                    let output = self.open_output(&path, false, &streams);
                    let output = output.map_err(|error| cannot("create", &path, error))?;
                    set(&mut streams, descriptor, output);
                }
                RedirectKind::Append(word) => {
                    let path = self.expand_text(word, &streams).await?;
                    let output = self.open_output(&path, true, &streams);
                    let output = output.map_err(|error| cannot("create", &path, error))?;
                    set(&mut streams, descriptor, output);
                }
                RedirectKind::WriteBoth(word) => {
                    let path = self.expand_text(word, &streams).await?;
                    let output = self.open_output(&path, false, &streams);
                    let output = output.map_err(|error| cannot("create", &path, error))?;
                    set(&mut streams, 1, output.clone());
                    set(&mut streams, 2, output);
                }
                RedirectKind::Duplicate(word) => {
                    let target = self.expand_text(word, &streams).await?;
                    match (descriptor, target.as_str()) {
                        (0, "-") => streams.stdin = Input::empty(),
                        (_, "-") => set(&mut streams, descriptor, Output::null()),
                        (_, "1") => {
                            let output = streams.stdout.clone();
                            set(&mut streams, descriptor, output);
                        }
                        (_, "2") => {
                            let output = streams.stderr.clone();
                            set(&mut streams, descriptor, output);
                        }
                        (0, "0") => {}
                        _ => return Err(ExpansionError(format!("{target}: Bad file descriptor"))),
                    }
                }
            }
        }
        Ok(streams)
    }

    /// Opens a file or device for reading.
    pub(crate) fn open_input(&self, path: &str, streams: &Streams) -> Result<Input, Errno> {
        let bytes = |byte: &mut dyn FnMut() -> u8| {
            let data: Vec<u8> = (0..DEVICE_BYTES).map(|_| byte()).collect();
            Input::bytes(data)
        };
        match path {
            "/dev/null" => Ok(Input::empty()),
            "/dev/stdin" | "/dev/tty" | "/proc/self/fd/0" => Ok(streams.stdin.clone()),
            "/dev/zero" => Ok(bytes(&mut || 0)),
            "/dev/urandom" | "/dev/random" => {
                let system = self.container().system();
                Ok(bytes(&mut || system.random() as u8))
            }
            path => {
                let data = self.container().files().read(&self.directory, path)?;
                Ok(Input::bytes(data))
            }
        }
    }

    /// Opens a file or device for writing.
    pub(crate) fn open_output(
        &self,
        path: &str,
        append: bool,
        streams: &Streams,
    ) -> Result<Output, Errno> {
        match path {
            "/dev/null" | "/dev/zero" => return Ok(Output::null()),
            "/dev/stdout" | "/dev/tty" | "/proc/self/fd/1" => return Ok(streams.stdout.clone()),
            "/dev/stderr" | "/proc/self/fd/2" => return Ok(streams.stderr.clone()),
            _ => {}
        }
        let container = self.container();
        let now = container.system().now();
        let files = container.files();
        match append {
            true => files.append(&self.directory, path, &[], now)?,
            false => files.write(&self.directory, path, Default::default(), now)?,
        }
        let resolved = files.resolve(&self.directory, path, true)?;
        Ok(Output::file(container.clone(), &resolved))
    }
}

fn cannot(what: &str, path: &str, error: Errno) -> ExpansionError {
    // dash has its own words for the most frequent error.
    let why = match (what, error) {
        ("open", Errno::NotFound) => "No such file".to_owned(),
        ("create", Errno::NotFound) => "Directory nonexistent".to_owned(),
        (_, error) => error.to_string(),
    };
    ExpansionError(format!("cannot {what} {path}: {why}"))
}

/// Replaces an output; other descriptors than 1 and 2 are not used.
fn set(streams: &mut Streams, descriptor: u32, output: Output) {
    match descriptor {
        1 => streams.stdout = output,
        2 => streams.stderr = output,
        _ => {}
    }
}
