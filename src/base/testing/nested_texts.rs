//! [`assert_parses_nested_texts`]: parsers do not overflow the stack.

/// What opens a nested expression, path, document or selector.
const OPENINGS: [&str; 25] = [
    "(",
    "[",
    "{",
    "{a: ",
    "!",
    "-",
    "a.",
    "a?",
    "a ? b : ",
    "[1].map(x, ",
    "..",
    "[?(@.a",
    "a[",
    "{\"a\":",
    "- ",
    "a in (",
    "$",
    "~",
    "/",
    "{.a[",
    "((a == ",
    "!(",
    "\"\" + ",
    "a && ",
    "a || ",
];
/// How often it is repeated.
const DEPTH: usize = 20_000;
/// The stack of the threads of an asynchronous runtime, in bytes.
const STACK: usize = 2 << 20;

/// Parses deeply nested texts on the stack of a runtime's thread.
///
/// # Panics
/// If `parse` panics. A stack that overflows ends the process.
pub fn assert_parses_nested_texts(parse: fn(&str)) {
    for opening in OPENINGS {
        let text = opening.repeat(DEPTH);
        let thread = std::thread::Builder::new().stack_size(STACK);
        let parsing = thread
            .spawn(move || parse(&text))
            .map(std::thread::JoinHandle::join);
        assert!(matches!(parsing, Ok(Ok(()))), "{opening}");
    }
}
