//! The programs: `python3` and `uv`.

use std::sync::Arc;

use async_trait::async_trait;
use kueue_lab_container::{Program, ProgramCall};

use crate::python;
use crate::runtime::Runtime;

/// The programs for the container of a runtime.
pub fn programs(runtime: &Arc<Runtime>) -> Vec<Arc<dyn Program>> {
    let python = |name| -> Arc<dyn Program> {
        Arc::new(Python {
            name,
            runtime: runtime.clone(),
        })
    };
    vec![python("python3"), python("python"), Arc::new(Uv)]
}

/// `python3` and `python`
struct Python {
    name: &'static str,
    runtime: Arc<Runtime>,
}

#[async_trait]
impl Program for Python {
    fn name(&self) -> &'static str {
        self.name
    }

    async fn run(&self, call: ProgramCall<'_>) -> i32 {
        python::run(&self.runtime, &call).await
    }
}

/// `uv`: lists the packages of SkyPilot's runtime, and installs none.
struct Uv;

/// The packages of the runtime, as `uv pip list` prints them.
const PACKAGES: &str =
    "Package    Version\n---------- -------\nray        2.9.3\nskypilot   0.14.1\n";

#[async_trait]
impl Program for Uv {
    fn name(&self) -> &'static str {
        "uv"
    }

    async fn run(&self, call: ProgramCall<'_>) -> i32 {
        let words: Vec<&str> = call.arguments().iter().map(String::as_str).collect();
        let text = match words[..] {
            ["-V" | "--version", ..] => "uv 0.8.0\n",
            ["pip", "list", ..] => PACKAGES,
            ["pip", "install" | "uninstall", ..] | ["venv", ..] => "",
            _ => {
                let text = format!("error: uv {} is not simulated\n", words.join(" "));
                call.print_error(&text).await;
                return 2;
            }
        };
        call.print(text).await;
        0
    }
}
