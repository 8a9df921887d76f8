//! The syntax tree of a script.

use std::sync::{Arc, OnceLock};

/// Commands one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    /// The commands, and whether each runs in the background.
    pub(crate) items: Vec<(AndOr, bool)>,
}

/// How a pipeline depends on the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Connector {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Clone, Debug)]
pub(crate) struct AndOr {
    pub(crate) first: Pipeline,
    pub(crate) rest: Vec<(Connector, Pipeline)>,
}

/// Commands joined by `|`.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    /// Whether it starts with `!`.
    pub(crate) negated: bool,
    pub(crate) commands: Vec<Command>,
}

/// A command.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Simple(SimpleCommand),
    Compound(Box<Compound>, Vec<Redirect>),
    Function(String, Arc<Command>),
}

/// Assignments, words and redirections.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimpleCommand {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
}

/// An assignment before a command.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    /// The index of an element of an array, an arithmetic expression.
    pub(crate) index: Option<Word>,
    /// `+=`
    pub(crate) appends: bool,
    pub(crate) value: AssignedValue,
}

/// The value of an assignment.
#[derive(Clone, Debug)]
pub(crate) enum AssignedValue {
    Text(Word),
    /// The elements of an array: `(...)`.
    Elements(Vec<Word>),
}

/// The elements of an array that an expansion refers to.
#[derive(Clone, Debug)]
pub(crate) enum Index {
    /// `[@]`
    All,
    /// `[*]`
    Joined,
    /// An arithmetic expression.
    At(Word),
}

/// A compound command.
#[derive(Clone, Debug)]
pub(crate) enum Compound {
    Group(List),
    Subshell(List),
    If {
        /// Conditions with their branches.
        branches: Vec<(List, List)>,
        otherwise: Option<List>,
    },
    While {
        condition: List,
        /// The exit status of the condition with which the loop goes on.
        until: bool,
        body: List,
    },
    For {
        name: String,
        /// The values; the positional parameters if absent.
        words: Option<Vec<Word>>,
        body: List,
    },
    ArithmeticFor {
        expressions: [Word; 3],
        body: List,
    },
    Case {
        word: Word,
        arms: Vec<CaseArm>,
    },
    /// `((...))`
    Arithmetic(Word),
    /// `[[ ... ]]`
    Condition(Vec<Word>),
}

/// Patterns and commands of `case`.
#[derive(Clone, Debug)]
pub(crate) struct CaseArm {
    pub(crate) patterns: Vec<Word>,
    pub(crate) body: List,
}

/// A redirection.
#[derive(Clone, Debug)]
pub(crate) struct Redirect {
    /// The file descriptor, if it is written.
    pub(crate) descriptor: Option<u32>,
    pub(crate) kind: RedirectKind,
}

/// What a descriptor is redirected to.
#[derive(Clone, Debug)]
pub(crate) enum RedirectKind {
    Read(Word),
    Write(Word),
    Append(Word),
    /// `&>`
    WriteBoth(Word),
    /// `>&` and `<&`
    Duplicate(Word),
    /// `<<`, with the text that follows the line.
    HereDocument(Arc<OnceLock<Word>>),
    /// `<<<`
    HereString(Word),
}

/// A word, before expansion.
pub(crate) type Word = Vec<Part>;

/// A part of a word.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// Text in which patterns are active.
    Literal(String),
    /// Quoted text.
    Quoted(String),
    /// A parameter.
    Parameter {
        name: String,
        /// Elements of an array; the first one if absent.
        index: Option<Box<Index>>,
        operation: Option<Box<Operation>>,
        quoted: bool,
    },
    /// A command substitution.
    Command(Arc<List>, bool),
    /// An arithmetic expansion.
    Arithmetic(Word),
}

/// The operation of `${name...}`.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// `${#name}`
    Length,
    /// `-`, with `:` also for an empty value.
    Default { colon: bool, word: Word },
    /// `=`
    Assign { colon: bool, word: Word },
    /// `?`
    Error { colon: bool, word: Word },
    /// `+`
    Alternative { colon: bool, word: Word },
    /// `#` and `##`
    RemovePrefix { longest: bool, pattern: Word },
    /// `%` and `%%`
    RemoveSuffix { longest: bool, pattern: Word },
    /// `/` and `//`
    Replace {
        all: bool,
        pattern: Word,
        with: Word,
    },
    /// `:offset` and `:offset:length`
    Substring { offset: Word, length: Option<Word> },
}
