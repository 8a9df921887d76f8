//! The prompt for filters, searches and commands.

use tui_input::{Input, InputRequest};

/// What is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptMode {
    /// A filter of the list, applied while it is typed.
    Filter,
    /// A text to find in the page, which scrolls while it is typed.
    Search,
    /// A command.
    Command,
}

impl PromptMode {
    /// The sign before the text.
    pub(crate) fn sign(self) -> char {
        match self {
            PromptMode::Filter | PromptMode::Search => '/',
            PromptMode::Command => ':',
        }
    }
}

/// An open prompt.
#[derive(Clone, Debug)]
pub(crate) struct Prompt {
    /// What is typed.
    pub kind: PromptMode,
    input: Input,
    /// The text at the start, restored on cancel.
    pub initial: String,
    /// The completions of the text.
    pub completions: Vec<String>,
    /// The index of the completion in the text; `None` if the text was typed.
    pub completion_index: Option<usize>,
    /// How many entries back in the history the text is from; 0 for typed text.
    pub history_index: usize,
}

/// The most characters of a text.
const MAX_CHARS: usize = 256;

impl Prompt {
    /// A prompt with an initial text, the cursor at its end.
    pub(crate) fn new(kind: PromptMode, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            kind,
            initial: text.clone(),
            input: Input::new(text),
            completions: Vec::new(),
            completion_index: None,
            history_index: 0,
        }
    }

    /// The text.
    pub(crate) fn text(&self) -> &str {
        self.input.value()
    }

    /// The number of characters before the cursor.
    pub(crate) fn cursor(&self) -> usize {
        self.input.cursor()
    }

    /// Replaces the text; the cursor goes to its end.
    pub(crate) fn set_text(&mut self, text: impl Into<String>) {
        self.input = Input::new(text.into());
    }

    /// Edits the text or moves the cursor. Control characters and text beyond the limit are ignored.
    pub(crate) fn edit(&mut self, request: InputRequest) {
        if let InputRequest::InsertChar(c) = request
            && (c.is_control() || self.text().chars().count() >= MAX_CHARS)
        {
            return;
        }
        let changed = self.input.handle(request);
        if changed.is_some_and(|change| change.value) {
            self.completion_index = None;
        }
    }

    /// Replaces the text by the next or previous completion.
    pub(crate) fn complete(&mut self, forward: bool) {
        let n = self.completions.len();
        if n == 0 {
            return;
        }
        let next = match (self.completion_index, forward) {
            (None, true) => 0,
            (None, false) => n - 1,
            (Some(at), true) => (at + 1) % n,
            (Some(at), false) => (at + n - 1) % n,
        };
        self.completion_index = Some(next);
        self.set_text(self.completions[next].clone());
    }
}
