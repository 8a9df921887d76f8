//! Exceptions.

/// An exception that ends the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exception {
    /// `sys.exit` with an exit code.
    Exit(i32),
    /// An exception of a class with a message.
    Raised {
        /// The class, such as `ValueError`.
        class: String,
        /// The message.
        message: String,
    },
}

impl Exception {
    /// An exception of a class.
    pub fn new(class: &str, message: impl Into<String>) -> Self {
        Self::Raised {
            class: class.to_owned(),
            message: message.into(),
        }
    }

    /// The program uses something that is not interpreted.
    pub fn not_supported(what: impl AsRef<str>) -> Self {
        let message = format!("{} is not supported by the simulated Python", what.as_ref());
        Self::new("NotImplementedError", message)
    }

    pub(crate) fn type_error(message: impl Into<String>) -> Self {
        Self::new("TypeError", message)
    }
}

impl std::fmt::Display for Exception {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "SystemExit: {code}"),
            Self::Raised { class, message } => write!(f, "{class}: {message}"),
        }
    }
}
