//! A line being typed: a filter or a command.

/// What is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptMode {
    /// A filter for the rows of the open view; applied while typing.
    Filter,
    /// A command.
    Command,
}

impl PromptMode {
    /// The sign in front of the line.
    pub fn sign(self) -> char {
        match self {
            PromptMode::Filter => '/',
            PromptMode::Command => ':',
        }
    }
}

/// A line being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// What is typed.
    pub kind: PromptMode,
    /// The text so far.
    pub text: String,
    /// What the text was before, to go back to.
    pub initial: String,
    /// What could complete the line, and which of it stands there now.
    pub completions: Vec<String>,
    /// The completion that was taken last.
    pub completion_index: Option<usize>,
    /// How many entries back in history the text is from; 0 for typed.
    pub history_index: usize,
}

/// The most characters that can be typed.
const MAX_CHARS: usize = 256;

impl Prompt {
    /// A line that begins with some text.
    pub fn new(kind: PromptMode, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            kind,
            initial: text.clone(),
            text,
            completions: Vec::new(),
            completion_index: None,
            history_index: 0,
        }
    }

    /// Types a character.
    pub fn push(&mut self, c: char) {
        if self.text.chars().count() < MAX_CHARS && !c.is_control() {
            self.text.push(c);
            self.completion_index = None;
        }
    }

    /// Takes back a character.
    pub fn pop(&mut self) {
        self.text.pop();
        self.completion_index = None;
    }

    /// Takes back a word.
    pub fn pop_word(&mut self) {
        let kept = self.text.trim_end().rfind(' ').map_or(0, |at| at + 1);
        self.text.truncate(kept);
        self.completion_index = None;
    }

    /// Puts in the next completion, or the one before.
    pub fn complete(&mut self, forward: bool) {
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
        self.text.clone_from(&self.completions[next]);
    }
}
