//! The syntax tree of a script.

use std::sync::{Arc, OnceLock};

/// Commands one after the other.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// The commands, and whether each runs in the background.
    pub items: Vec<(AndOr, bool)>,
}

/// How a pipeline depends on the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Clone, Debug)]
pub struct AndOr {
    /// The first pipeline.
    pub first: Pipeline,
    /// The others, and how each depends on the one before it.
    pub rest: Vec<(Connector, Pipeline)>,
}

/// Commands joined by `|`.
#[derive(Clone, Debug)]
pub struct Pipeline {
    /// Whether it starts with `!`.
    pub negated: bool,
    /// The commands, at least one.
    pub commands: Vec<Command>,
}

/// A command.
#[derive(Clone, Debug)]
pub enum Command {
    /// Words, the first of which is the command.
    Simple(SimpleCommand),
    /// A compound command with its redirections.
    Compound(Box<Compound>, Vec<Redirect>),
    /// The definition of a function with this name and body.
    Function(String, Arc<Command>),
}

/// Assignments, words and redirections.
#[derive(Clone, Debug, Default)]
pub struct SimpleCommand {
    /// The assignments before the first word.
    pub assignments: Vec<Assignment>,
    /// The command and its arguments; empty if there are only assignments and redirections.
    pub words: Vec<Word>,
    /// The redirections.
    pub redirects: Vec<Redirect>,
}

/// An assignment before a command.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// The index of an element of an array, an arithmetic expression.
    pub index: Option<Word>,
    /// `+=`
    pub appends: bool,
    /// The value.
    pub value: AssignedValue,
}

/// The value of an assignment.
#[derive(Clone, Debug)]
pub enum AssignedValue {
    /// A text.
    Text(Word),
    /// The elements of an array: `(...)`.
    Elements(Vec<Word>),
}

/// The elements of an array that an expansion refers to.
#[derive(Clone, Debug)]
pub enum Index {
    /// `[@]`
    All,
    /// `[*]`
    Joined,
    /// An arithmetic expression.
    At(Word),
}

/// A compound command.
#[derive(Clone, Debug)]
pub enum Compound {
    /// `{ ...; }`
    Group(List),
    /// `( ... )`
    Subshell(List),
    /// `if`
    If {
        /// Conditions with their branches.
        branches: Vec<(List, List)>,
        /// The commands after `else`.
        otherwise: Option<List>,
    },
    /// `while` and `until`
    While {
        /// The commands whose exit status is the condition.
        condition: List,
        /// The exit status of the condition with which the loop continues.
        until: bool,
        /// The body of the loop.
        body: List,
    },
    /// `for NAME in WORDS`
    For {
        /// The variable.
        name: String,
        /// The values; the positional parameters if absent.
        words: Option<Vec<Word>>,
        /// The body of the loop.
        body: List,
    },
    /// `for ((INITIAL; CONDITION; STEP))`
    ArithmeticFor {
        /// The three expressions, each of which may be empty.
        expressions: [Word; 3],
        /// The body of the loop.
        body: List,
    },
    /// `case`
    Case {
        /// The word that is compared with the patterns.
        word: Word,
        /// The patterns with their commands.
        arms: Vec<CaseArm>,
    },
    /// `((...))`
    Arithmetic(Word),
    /// `[[ ... ]]`
    Condition(Vec<Word>),
}

/// Patterns and commands of `case`.
#[derive(Clone, Debug)]
pub struct CaseArm {
    /// The patterns, one of which must match.
    pub patterns: Vec<Word>,
    /// The commands.
    pub body: List,
}

/// A redirection.
#[derive(Clone, Debug)]
pub struct Redirect {
    /// The file descriptor, if it is written.
    pub descriptor: Option<u32>,
    /// The operator and its operand.
    pub kind: RedirectKind,
}

/// The target of a redirection.
#[derive(Clone, Debug)]
pub enum RedirectKind {
    /// `<`
    Read(Word),
    /// `>`
    Write(Word),
    /// `>>`
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
pub type Word = Vec<Part>;

/// A part of a word.
#[derive(Clone, Debug)]
pub enum Part {
    /// Text in which patterns are active.
    Literal(String),
    /// Quoted text.
    Quoted(String),
    /// A parameter.
    Parameter {
        /// The name of a variable or a special parameter.
        name: String,
        /// Elements of an array; the first one if absent.
        index: Option<Box<Index>>,
        /// The operation on the value.
        operation: Option<Box<Operation>>,
        /// Whether it is in double quotes.
        quoted: bool,
    },
    /// A command substitution, and whether it is in double quotes.
    Command(Arc<List>, bool),
    /// An arithmetic expansion.
    Arithmetic(Word),
}

/// The operation of `${name...}`.
#[derive(Clone, Debug)]
pub enum Operation {
    /// `${#name}`
    Length,
    /// `-`
    Default {
        /// Whether it is also for an empty value.
        colon: bool,
        /// The value in place of an absent one.
        word: Word,
    },
    /// `=`
    Assign {
        /// Whether it is also for an empty value.
        colon: bool,
        /// The value that is assigned in place of an absent one.
        word: Word,
    },
    /// `?`
    Error {
        /// Whether it is also for an empty value.
        colon: bool,
        /// The message for an absent value.
        word: Word,
    },
    /// `+`
    Alternative {
        /// Whether an empty value counts as absent.
        colon: bool,
        /// The value in place of a present one.
        word: Word,
    },
    /// `#` and `##`
    RemovePrefix {
        /// Whether the longest match is removed.
        longest: bool,
        /// The pattern.
        pattern: Word,
    },
    /// `%` and `%%`
    RemoveSuffix {
        /// Whether the longest match is removed.
        longest: bool,
        /// The pattern.
        pattern: Word,
    },
    /// `/` and `//`
    Replace {
        /// Whether all matches are replaced.
        all: bool,
        /// The pattern.
        pattern: Word,
        /// The text in place of a match.
        with: Word,
    },
    /// `:offset` and `:offset:length`
    Substring {
        /// The expression of the first position.
        offset: Word,
        /// The expression of the length.
        length: Option<Word>,
    },
}
