//! A question that a person at the terminal answers with yes or no.

use std::io::{BufRead, IsTerminal, Write};

use super::CliError;

/// Whether there is somebody to ask: a terminal to write the question on and to read the answer from.
pub(super) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks; everything but a yes is a no.
///
/// # Errors
/// The question cannot be shown, or the answer not be read.
pub(super) fn confirm(question: &str) -> Result<bool, CliError> {
    let mut out = std::io::stderr().lock();
    let asked = write!(out, "{question} [y/N] ");
    let mut answer = String::new();
    asked
        .and_then(|()| out.flush())
        .and_then(|()| std::io::stdin().lock().read_line(&mut answer))
        .map_err(CliError::failed)?;
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}
