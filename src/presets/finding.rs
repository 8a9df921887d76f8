//! What is wrong or doubtful in a preset, and where.

use std::fmt;

use kueue_lab_yaml::Position;

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The preset is not applied.
    Error,
    /// The preset is applied, but probably does not do what was meant.
    Warning,
}

/// One complaint: file, line, object, what is wrong, what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether the preset can be applied all the same.
    pub severity: Severity,
    /// The file, as the person would name it.
    pub file: String,
    /// Where in the file.
    pub at: Position,
    /// The object it is about, such as `ClusterQueue/cluster-queue`, where known.
    pub object: Option<String>,
    /// What is wrong: one sentence without a final period.
    pub message: String,
    /// What to do about it, where that is not plain from the message.
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

    /// Names the object.
    #[must_use]
    pub fn about(mut self, object: impl fmt::Display) -> Self {
        self.object = Some(object.to_string());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Whether it keeps the preset from being applied.
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
