//! Calls of programs that the caller of this crate adds.

use std::sync::Arc;

use async_trait::async_trait;

use super::context::{Context, Exit};
use crate::program::{Program, ProgramCall, ProgramStreams};

#[async_trait]
impl ProgramStreams for Context<'_> {
    async fn read_all(&self) -> Vec<u8> {
        Context::read_all(self, &self.streams.stdin).await
    }

    async fn write(&self, is_error: bool, text: &str) -> bool {
        let output = match is_error {
            true => &self.streams.stderr,
            false => &self.streams.stdout,
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
        streams: context,
    };
    Ok(program.run(call).await)
}
