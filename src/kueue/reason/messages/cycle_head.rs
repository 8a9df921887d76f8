//! Renders the decision on a head of a cycle that has not begun.

use std::fmt::Write;

use super::TextStyle;
use crate::HeadOutcome;

/// The most preempted workloads that a text names.
const MAX_TARGETS: usize = 3;

impl HeadOutcome {
    /// The decision as text.
    pub fn text(&self, style: &dyn TextStyle) -> String {
        match self {
            Self::Admits { flavors, borrows } => {
                let mut text = "reserves quota".to_owned();
                if !flavors.is_empty() {
                    let _ = write!(text, " in {}", flavors.join(", "));
                }
                if *borrows {
                    text.push_str(", borrowed in part");
                }
                text
            }
            Self::Preempts { targets } => {
                let named = &targets[..targets.len().min(MAX_TARGETS)];
                let mut text = format!("preempts {}", named.join(", "));
                if targets.len() > named.len() {
                    let _ = write!(text, " and {} more", targets.len() - named.len());
                }
                text
            }
            Self::Waits { reason } => format!("waits: {}", reason.text(style)),
        }
    }
}
