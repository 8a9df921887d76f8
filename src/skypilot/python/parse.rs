//! Programs to syntax trees.

use ruff_python_ast::Stmt;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::lexer::lex;
use ruff_python_parser::{Mode, parse_module};

use crate::error::Exception;

/// Maximum length of a program, in bytes.
const LENGTH: usize = 4 << 20;
/// Maximum number of tokens of a line, which limits how deep its syntax tree is.
const LINE: usize = 2000;
/// Maximum number of open blocks and brackets.
const OPEN: usize = 100;
/// The stack of the recursive parser, in bytes.
const STACK: usize = 64 << 20;

/// Parses a program.
///
/// # Errors
/// It is no program, or too complex.
pub(crate) fn parse(program: &str) -> Result<Vec<Stmt>, Exception> {
    if program.len() > LENGTH || is_complex(program) {
        return Err(Exception::not_supported("a program of this size"));
    }
    let parse = || parse_module(program).map(|module| module.into_syntax().body);
    let parsed = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, parse);
        thread.ok().and_then(|thread| thread.join().ok())
    });
    let parsed = parsed.ok_or_else(|| Exception::not_supported("this program"))?;
    parsed.map_err(|error| Exception::new("SyntaxError", error.to_string()))
}

/// Whether a line or the nesting exceeds a limit.
fn is_complex(program: &str) -> bool {
    let mut tokens = lex(program, Mode::Module);
    let (mut line, mut open) = (0_usize, 0_usize);
    loop {
        line += 1;
        match tokens.next_token() {
            TokenKind::EndOfFile => return false,
            TokenKind::Newline | TokenKind::Semi => line = 0,
            TokenKind::Lpar | TokenKind::Lsqb | TokenKind::Lbrace | TokenKind::Indent => open += 1,
            TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace | TokenKind::Dedent => {
                open = open.saturating_sub(1);
            }
            _ => {}
        }
        if line > LINE || open > OPEN {
            return true;
        }
    }
}
