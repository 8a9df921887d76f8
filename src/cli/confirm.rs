//! Yes/no confirmation on the terminal.

use std::io::{BufRead, IsTerminal, Write};

use super::CommandError;

/// Whether stdin and stderr are terminals.
pub(super) fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks on stderr; any answer but `y` or `yes` is a no.
///
/// # Errors
/// The terminal cannot be written or read.
pub(super) fn confirm(question: &str) -> Result<bool, CommandError> {
    let mut out = std::io::stderr().lock();
    let asked = write!(out, "{question} [y/N] ");
    let mut answer = String::new();
    asked
        .and_then(|()| out.flush())
        .and_then(|()| std::io::stdin().lock().read_line(&mut answer))
        .map_err(CommandError::failed)?;
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}
