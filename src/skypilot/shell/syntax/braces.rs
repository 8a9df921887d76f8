//! Brace expansion: `{a,b}`, `{1..9}`.

use super::ast::{Part, Word};

/// The characters that may be read in search of the ends of brace expressions; further braces are literal.
pub const BRACE_LETTERS: usize = 1_000_000;
/// Maximum number of words of a brace expansion.
const WORDS: usize = 10_000;
/// The memory of a part beside its text, in bytes.
const OVERHEAD: usize = 64;

/// A character of unquoted text, or another part of a word.
#[derive(Clone, Debug)]
enum Atom {
    Letter(char),
    Part(Part),
}

/// The words of a word with brace expressions, the leftmost one varying slowest. `letters` is what remains of
/// [`BRACE_LETTERS`]. `has_space` is called with the bytes of copies of the word before they are made; `None` if it
/// returns false.
pub fn expand_braces(
    word: &Word,
    letters: &mut usize,
    mut has_space: impl FnMut(usize) -> bool,
) -> Option<Vec<Word>> {
    let mut words = vec![word.clone()];
    let mut index = 0;
    while index < words.len() && words.len() < WORDS {
        let Some(expression) = first_expression(&words[index], letters) else {
            index += 1;
            continue;
        };
        let sizes = words[index].iter().map(|part| match part {
            Part::Literal(text) | Part::Quoted(text) => text.len() + OVERHEAD,
            _ => OVERHEAD,
        });
        let size: usize = sizes.sum();
        if !has_space(expression.alternatives.len().saturating_mul(size)) {
            return None;
        }
        drop(words.splice(index..=index, expression.words()));
    }
    words.truncate(WORDS);
    Some(words)
}

/// A brace expression with its preamble and postscript.
struct BraceExpression {
    before: Vec<Atom>,
    alternatives: Vec<Vec<Atom>>,
    after: Vec<Atom>,
}

impl BraceExpression {
    fn words(self) -> impl Iterator<Item = Word> {
        let Self {
            before,
            alternatives,
            after,
        } = self;
        let word = move |alternative: Vec<Atom>| {
            let mut word = Word::new();
            for atom in before.iter().chain(&alternative).chain(&after) {
                match (atom, word.last_mut()) {
                    (Atom::Letter(c), Some(Part::Literal(text))) => text.push(*c),
                    (Atom::Letter(c), _) => word.push(Part::Literal(c.to_string())),
                    (Atom::Part(part), _) => word.push(part.clone()),
                }
            }
            word
        };
        alternatives.into_iter().map(word)
    }
}

/// The first brace expression of a word.
fn first_expression(word: &Word, letters: &mut usize) -> Option<BraceExpression> {
    let has_brace = |part: &Part| matches!(part, Part::Literal(text) if text.contains('{'));
    if !word.iter().any(has_brace) {
        return None;
    }
    let mut atoms = Vec::new();
    for part in word {
        match part {
            Part::Literal(text) => atoms.extend(text.chars().map(Atom::Letter)),
            part => atoms.push(Atom::Part(part.clone())),
        }
    }
    let opening = atoms.iter().enumerate();
    let opening = opening.filter(|(_, atom)| matches!(atom, Atom::Letter('{')));
    for (open, _) in opening {
        let (mut depth, mut commas) = (0, Vec::new());
        for (at, atom) in atoms.iter().enumerate().skip(open + 1) {
            *letters = letters.checked_sub(1)?;
            match atom {
                Atom::Letter('{') => depth += 1,
                Atom::Letter('}') if depth > 0 => depth -= 1,
                Atom::Letter(',') if depth == 0 => commas.push(at),
                Atom::Letter('}') => {
                    let alternatives = match commas.is_empty() {
                        true => sequence(&atoms[open + 1..at]),
                        false => Some(alternatives(&atoms[..at], open + 1, &commas)),
                    };
                    let Some(alternatives) = alternatives else {
                        break;
                    };
                    return Some(BraceExpression {
                        before: atoms[..open].to_vec(),
                        alternatives,
                        after: atoms[at + 1..].to_vec(),
                    });
                }
                _ => {}
            }
        }
    }
    None
}

/// The atoms between commas, from `begin` on.
fn alternatives(atoms: &[Atom], mut begin: usize, commas: &[usize]) -> Vec<Vec<Atom>> {
    let mut all = Vec::with_capacity(commas.len() + 1);
    for end in commas.iter().copied().chain([atoms.len()]) {
        all.push(atoms[begin..end].to_vec());
        begin = end + 1;
    }
    all
}

fn sequence(atoms: &[Atom]) -> Option<Vec<Vec<Atom>>> {
    let letters = atoms.iter().map(|atom| match atom {
        Atom::Letter(c) => Some(*c),
        Atom::Part(_) => None,
    });
    let values = brace_sequence(&letters.collect::<Option<String>>()?)?;
    let value = |value: String| value.chars().map(Atom::Letter).collect();
    Some(values.into_iter().map(value).collect())
}

/// The values of a sequence expression: `1..10`, `1..10..2`, `a..e`; None if the text is none.
fn brace_sequence(text: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts[..] {
        [first, last] => (first, last, 1),
        [first, last, step] => (first, last, step.parse::<i64>().ok()?),
        _ => return None,
    };
    let step = step.saturating_abs().max(1);
    let range = |first: i64, last: i64| {
        let step = if first <= last { step } else { -step };
        let past = move |n: &i64| if step > 0 { *n <= last } else { *n >= last };
        std::iter::successors(Some(first), move |n| n.checked_add(step))
            .take_while(past)
            .take(WORDS)
    };
    if let (Ok(from), Ok(to)) = (first.parse::<i64>(), last.parse::<i64>()) {
        // A leading zero pads all numbers.
        let padded = [first, last].iter().any(|n| {
            let digits = n.trim_start_matches('-');
            digits.len() > 1 && digits.starts_with('0')
        });
        let width = if padded {
            first.len().max(last.len())
        } else {
            0
        };
        return Some(range(from, to).map(|n| format!("{n:0width$}")).collect());
    }
    let letter = |text: &str| {
        let mut letters = text.chars();
        let letter = letters.next().filter(char::is_ascii_alphabetic)?;
        letters
            .next()
            .is_none()
            .then_some(i64::from(u32::from(letter)))
    };
    let range = range(letter(first)?, letter(last)?);
    let letters = range.filter_map(|n| u32::try_from(n).ok().and_then(char::from_u32));
    Some(letters.map(String::from).collect())
}
