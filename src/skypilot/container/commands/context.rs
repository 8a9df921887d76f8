//! One call of a program.

use bytes::Bytes;
use parking_lot::Mutex;

use crate::container::Container;
use crate::filesystem::{Errno, FileSystem, Metadata, file_name};
use crate::memory::{MemoryReservation, WORD_OVERHEAD};
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
    /// The memory of the data that the program reads.
    reservations: Mutex<Vec<MemoryReservation>>,
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
            reservations: Mutex::default(),
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

    /// Opens a file; an error is reported and sets `status` to 1.
    pub(crate) async fn open_or_report(
        &self,
        path: &str,
        status: &mut i32,
    ) -> Result<Option<Input>, Closed> {
        match self.open(path) {
            Ok(input) => Ok(Some(input)),
            Err(error) => {
                *status = self.fail(1, format!("{path}: {error}")).await?;
                Ok(None)
            }
        }
    }

    /// The content of a file; `-` is the standard input.
    pub(crate) async fn read(&self, path: &str) -> Result<Vec<u8>, Errno> {
        let input = self.open(path)?;
        Ok(self.read_all(&input).await)
    }

    /// All data of an input. It counts for the memory of the process as long as the program runs.
    pub(crate) async fn read_all(&self, input: &Input) -> Vec<u8> {
        let mut reservation = self.shell.reserve_memory();
        let data = input.read_all(&mut reservation).await;
        self.reservations.lock().push(reservation);
        data
    }

    /// Whether the process has memory for a result of this size. If it has not, it ends.
    pub(crate) fn has_memory(&self, bytes: usize) -> bool {
        self.shell.reserve_memory().grow(bytes)
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
        // Most programs divide the data into lines.
        let mut reservation = self.shell.reserve_memory();
        let lines = all.iter().filter(|byte| **byte == b'\n').count();
        if !reservation.grow(lines * WORD_OVERHEAD) {
            all.clear();
        }
        self.reservations.lock().push(reservation);
        Ok((all, failed))
    }

    pub(crate) fn read_file(&self, path: &str) -> Result<Bytes, Errno> {
        self.files().read(self.directory(), path)
    }

    pub(crate) fn stat(&self, path: &str) -> Result<Metadata, Errno> {
        self.files().stat(self.directory(), path)
    }
}
