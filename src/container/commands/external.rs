//! Calls of programs that the caller of this crate adds.

use std::sync::Arc;

use async_trait::async_trait;

use super::context::{Context, Exit};
use crate::program::{Program, ProgramCall, ProgramStreams};
use crate::streams::Streams;

#[async_trait]
impl ProgramStreams for Streams {
    async fn read_all(&self) -> Vec<u8> {
        self.stdin.read_all().await
    }

    async fn write(&self, is_error: bool, text: &str) -> bool {
        let output = match is_error {
            true => &self.stderr,
            false => &self.stdout,
        };
        output.write(text).await.is_ok()
    }
}

/// Runs a program.
pub(super) async fn run(program: Arc<dyn Program>, context: &Context<'_>) -> Exit {
    let call = ProgramCall {
        container: context.shell.container().clone(),
        arguments: context.arguments,
        environment: context.shell.environment().into_iter().collect(),
        directory: context.directory(),
        streams: context.streams,
    };
    Ok(program.run(call).await)
}
