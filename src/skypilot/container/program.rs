//! Programs that the caller adds to a container.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use crate::container::Container;

/// A program of the image that is not one of this crate.
#[async_trait]
pub trait Program: Send + Sync {
    /// Its name, which the image must have as well.
    fn name(&self) -> &'static str;

    /// Runs it. Returns its exit code.
    async fn run(&self, call: ProgramCall<'_>) -> i32;
}

/// The standard streams of a call.
#[async_trait]
pub(crate) trait ProgramStreams: Send + Sync {
    /// All data of the standard input.
    async fn read_all(&self) -> Vec<u8>;

    /// Writes to the standard output or error. False if it has no reader.
    async fn write(&self, is_error: bool, text: &str) -> bool;
}

/// One call of a [`Program`].
pub struct ProgramCall<'a> {
    pub(crate) container: Arc<Container>,
    pub(crate) arguments: &'a [String],
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) directory: &'a str,
    pub(crate) streams: &'a dyn ProgramStreams,
}

impl ProgramCall<'_> {
    /// The container in which it runs.
    pub fn container(&self) -> &Arc<Container> {
        &self.container
    }

    /// The arguments after its name.
    pub fn arguments(&self) -> &[String] {
        self.arguments
    }

    /// The environment variables.
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// The working directory.
    pub fn directory(&self) -> &str {
        self.directory
    }

    /// All data of the standard input.
    pub async fn input(&self) -> Vec<u8> {
        self.streams.read_all().await
    }

    /// Writes to the standard output. False if it has no reader.
    pub async fn print(&self, text: &str) -> bool {
        self.streams.write(false, text).await
    }

    /// Writes to the standard error. False if it has no reader.
    pub async fn print_error(&self, text: &str) -> bool {
        self.streams.write(true, text).await
    }
}
