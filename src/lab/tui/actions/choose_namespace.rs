//! Choosing the namespace that is shown.

use super::Action;
use crate::msg::Cmd;
use crate::state::{Severity, State};

/// Shows all namespaces; as a command with an argument shows one.
#[derive(Debug)]
pub(crate) struct ChooseNamespace;

impl Action for ChooseNamespace {
    fn run(&self, state: &mut State) -> Vec<Cmd> {
        state.ui.namespace = None;
        Vec::new()
    }

    fn run_with(&self, state: &mut State, namespace: &str) -> Vec<Cmd> {
        if matches!(namespace, "" | "all" | "*") {
            return self.run(state);
        }
        state.ui.namespace = Some(namespace.to_owned());
        if !state.namespaces().iter().any(|n| n == namespace) {
            let text = format!("no objects in namespace {namespace}; 0 shows all namespaces");
            state.notify(Severity::Hint, text);
        }
        Vec::new()
    }

    fn complete(&self, state: &State) -> Vec<String> {
        let mut all = state.namespaces();
        all.push("all".to_owned());
        all
    }
}
