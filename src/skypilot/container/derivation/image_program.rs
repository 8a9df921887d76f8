//! Programs whose output depends on what the derivation does not know.

use std::sync::Arc;

use async_trait::async_trait;

use crate::program::{Program, ProgramCall};

/// Programs about the time, the devices and the network of the pod.
const NAMES: [&str; 4] = ["date", "getent", "nslookup", "nvidia-smi"];

/// A program that succeeds without output.
struct ImageProgram(&'static str);

#[async_trait]
impl Program for ImageProgram {
    fn name(&self) -> &'static str {
        self.0
    }

    async fn run(&self, _: ProgramCall<'_>) -> i32 {
        0
    }
}

/// The programs that succeed without output.
pub(super) fn image_programs() -> Vec<Arc<dyn Program>> {
    let programs = NAMES.map(|name| Arc::new(ImageProgram(name)) as Arc<dyn Program>);
    programs.into()
}
