//! Errors and warnings about a preset, with their position.

use std::fmt;

use kueue_lab_yaml::{Position, source_snippet};

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The preset is not applied.
    Error,
    /// The preset is applied, but probably not as intended.
    Warning,
}

/// One error or warning: file, position, object, message and remedy. The order is that of files, lines and columns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file as the user names it.
    pub file: String,
    /// The position in the file.
    pub at: Position,
    /// The severity.
    pub severity: Severity,
    /// The object, such as `ClusterQueue/cluster-queue`, if known.
    pub object: Option<String>,
    /// The message: one sentence without a final period.
    pub message: String,
    /// The remedy, if the message does not imply it.
    pub remedy: Option<String>,
}

impl Finding {
    /// An error.
    pub fn error(file: &str, at: Position, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            file: file.to_owned(),
            at,
            object: None,
            message: message.into(),
            remedy: None,
        }
    }

    /// A warning.
    pub fn warning(file: &str, at: Position, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(file, at, message)
        }
    }

    /// Sets the object.
    #[must_use]
    pub fn about(mut self, object: impl fmt::Display) -> Self {
        self.object = Some(object.to_string());
        self
    }

    /// Sets the remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The finding and the line of its file's text with a caret.
    pub fn with_source(&self, text: &str) -> String {
        match source_snippet(text, self.at) {
            snippet if snippet.is_empty() => self.to_string(),
            snippet => format!("{self}\n{snippet}"),
        }
    }

    /// Whether it prevents the preset from being applied.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Finding {
    /// `FILE:LINE:COLUMN: OBJECT: message; remedy`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.at)?;
        if let Some(object) = &self.object {
            write!(f, "{object}: ")?;
        }
        f.write_str(&self.message)?;
        if let Some(remedy) = &self.remedy {
            write!(f, "; {remedy}")?;
        }
        Ok(())
    }
}
