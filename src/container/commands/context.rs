//! One call of a program.

use bytes::Bytes;

use crate::container::Container;
use crate::filesystem::{Errno, FileSystem, Metadata, file_name};
use crate::shell::Shell;
use crate::streams::{Closed, Input, Streams};

/// The exit code of a program; [`Closed`] if its output has no reader.
pub(crate) type Exit = Result<i32, Closed>;

/// A program with its arguments, streams and environment.
pub(crate) struct Context<'a> {
    pub(crate) shell: &'a mut Shell,
    /// The name by which it was called.
    pub(crate) name: String,
    /// The arguments after the name.
    pub(crate) arguments: &'a [String],
    pub(crate) streams: &'a Streams,
}

impl<'a> Context<'a> {
    pub(crate) fn new(shell: &'a mut Shell, words: &'a [String], streams: &'a Streams) -> Self {
        Self {
            shell,
            name: words
                .first()
                .map(|w| file_name(w).to_owned())
                .unwrap_or_default(),
            arguments: words.get(1..).unwrap_or_default(),
            streams,
        }
    }

    pub(crate) fn container(&self) -> &Container {
        self.shell.container()
    }

    pub(crate) fn files(&self) -> &FileSystem {
        self.shell.container().files()
    }

    pub(crate) fn directory(&self) -> &str {
        self.shell.directory()
    }

    pub(crate) fn now(&self) -> jiff::Timestamp {
        self.container().system().now()
    }

    /// Writes to the standard output.
    pub(crate) async fn write(&self, data: impl AsRef<[u8]>) -> Result<(), Closed> {
        self.streams.stdout.write(data).await
    }

    /// Writes a line to the standard output.
    pub(crate) async fn line(&self, text: impl AsRef<str>) -> Result<(), Closed> {
        self.streams.stdout.line(text).await
    }

    /// Writes an error message, and returns the exit code `code`.
    pub(crate) async fn fail(&self, code: i32, message: impl AsRef<str>) -> Exit {
        let text = format!("{}: {}", self.name, message.as_ref());
        self.streams.stderr.line(text).await?;
        Ok(code)
    }

    /// Opens a file; `-` is the standard input.
    pub(crate) fn open(&self, path: &str) -> Result<Input, Errno> {
        match path {
            "-" => Ok(self.streams.stdin.clone()),
            path => {
                // Reading a directory fails at the first read.
                self.shell.open_input(path, self.streams)
            }
        }
    }

    /// The content of a file; `-` is the standard input.
    pub(crate) async fn read(&self, path: &str) -> Result<Vec<u8>, Errno> {
        Ok(self.open(path)?.read_all().await)
    }

    /// The content of all files, or of the standard input if there are none, and whether a file could not
    /// be read, which is reported.
    pub(crate) async fn read_files(&self, paths: &[&str]) -> Result<(Vec<u8>, bool), Closed> {
        let paths = if paths.is_empty() { &["-"] } else { paths };
        let (mut all, mut failed) = (Vec::new(), false);
        for path in paths {
            match self.read(path).await {
                Ok(data) => all.extend(data),
                Err(error) => {
                    self.fail(1, format!("{path}: {error}")).await?;
                    failed = true;
                }
            }
        }
        Ok((all, failed))
    }

    pub(crate) fn read_file(&self, path: &str) -> Result<Bytes, Errno> {
        self.files().read(self.directory(), path)
    }

    pub(crate) fn stat(&self, path: &str) -> Result<Metadata, Errno> {
        self.files().stat(self.directory(), path)
    }
}
