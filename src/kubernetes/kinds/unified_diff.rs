//! Unified diff of two texts with the algorithm of difflib: the longest matching block, then
//! recursively the ranges on both sides of it.

use std::collections::HashMap;

/// Number of context lines around a change.
const CONTEXT: usize = 3;
/// The most lines of texts that are compared so, which costs the square of their number. Of longer ones, only the lines
/// before the first and after the last difference match.
const MAX_LINES: usize = 2000;

#[derive(Clone, Copy, Debug, PartialEq)]
struct MatchingBlock {
    a: usize,
    b: usize,
    size: usize,
}

/// A pair of line ranges: equal, or `a` replaced by `b`.
#[derive(Clone, Copy, Debug)]
struct OpCode {
    equal: bool,
    a: (usize, usize),
    b: (usize, usize),
}

/// Returns the unified diff of two texts; empty if they are equal.
pub(super) fn unified(a: &str, b: &str) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.lines().collect(), b.lines().collect());
    let mut out = String::new();
    for group in grouped_opcodes(&opcodes(&a, &b)) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let (from, to) = (range(first.a.0, last.a.1), range(first.b.0, last.b.1));
        out.push_str(&format!("@@ -{from} +{to} @@\n"));
        for s in &group {
            let mut write = |sign: char, lines: &[&str]| {
                for line in lines {
                    out.push(sign);
                    out.push_str(line);
                    out.push('\n');
                }
            };
            if s.equal {
                write(' ', &a[s.a.0..s.a.1]);
            } else {
                write('-', &a[s.a.0..s.a.1]);
                write('+', &b[s.b.0..s.b.1]);
            }
        }
    }
    out
}

fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        n => format!("{},{n}", start + 1),
    }
}

/// Groups changes with their context; adjacent changes share a group.
fn grouped_opcodes(opcodes: &[OpCode]) -> Vec<Vec<OpCode>> {
    let mut groups = Vec::new();
    let mut group: Vec<OpCode> = Vec::new();
    for (i, s) in opcodes.iter().enumerate() {
        if !s.equal {
            group.push(*s);
            continue;
        }
        let len = s.a.1 - s.a.0;
        let (is_first, is_last) = (i == 0, i + 1 == opcodes.len());
        let head = |n: usize| OpCode {
            equal: true,
            a: (s.a.0, s.a.0 + n),
            b: (s.b.0, s.b.0 + n),
        };
        let tail = |n: usize| OpCode {
            equal: true,
            a: (s.a.1 - n, s.a.1),
            b: (s.b.1 - n, s.b.1),
        };
        if is_first && is_last {
            return groups;
        }
        if is_first {
            group.push(tail(len.min(CONTEXT)));
        } else if is_last {
            group.push(head(len.min(CONTEXT)));
        } else if len > 2 * CONTEXT {
            group.push(head(CONTEXT));
            groups.push(std::mem::take(&mut group));
            group.push(tail(CONTEXT));
        } else {
            group.push(*s);
        }
    }
    if group.iter().any(|s| !s.equal) {
        groups.push(group);
    }
    groups
}

fn opcodes(a: &[&str], b: &[&str]) -> Vec<OpCode> {
    let mut out = Vec::new();
    let (mut i, mut j) = (0, 0);
    for block in matching_blocks(a, b) {
        if i < block.a || j < block.b {
            out.push(OpCode {
                equal: false,
                a: (i, block.a),
                b: (j, block.b),
            });
        }
        (i, j) = (block.a + block.size, block.b + block.size);
        if block.size > 0 {
            out.push(OpCode {
                equal: true,
                a: (block.a, i),
                b: (block.b, j),
            });
        }
    }
    out
}

/// Matching blocks in order, terminated by an empty block at the end of both texts.
fn matching_blocks(a: &[&str], b: &[&str]) -> Vec<MatchingBlock> {
    if a.len().max(b.len()) > MAX_LINES {
        return outer_blocks(a, b);
    }
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (j, line) in b.iter().enumerate() {
        places.entry(line).or_default().push(j);
    }
    // In texts of 200 or more lines, popular lines are ignored when matching.
    if b.len() >= 200 {
        places.retain(|_, at| at.len() <= b.len() / 100 + 1);
    }
    let mut found = Vec::new();
    let mut todo = vec![((0, a.len()), (0, b.len()))];
    while let Some((in_a, in_b)) = todo.pop() {
        let block = find_longest_match(a, b, &places, in_a, in_b);
        if block.size == 0 {
            continue;
        }
        found.push(block);
        todo.push(((in_a.0, block.a), (in_b.0, block.b)));
        todo.push((
            (block.a + block.size, in_a.1),
            (block.b + block.size, in_b.1),
        ));
    }
    found.sort_by_key(|block| (block.a, block.b));
    let mut joined: Vec<MatchingBlock> = Vec::new();
    for block in found {
        match joined.last_mut() {
            Some(last) if last.a + last.size == block.a && last.b + last.size == block.b => {
                last.size += block.size;
            }
            _ => joined.push(block),
        }
    }
    joined.push(MatchingBlock {
        a: a.len(),
        b: b.len(),
        size: 0,
    });
    joined
}

/// The matching blocks at the start and at the end of both texts, terminated by an empty block.
fn outer_blocks(a: &[&str], b: &[&str]) -> Vec<MatchingBlock> {
    let start = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let ends = a[start..].iter().rev().zip(b[start..].iter().rev());
    let end = ends.take_while(|(a, b)| a == b).count();
    [
        (0, 0, start),
        (a.len() - end, b.len() - end, end),
        (a.len(), b.len(), 0),
    ]
    .map(|(a, b, size)| MatchingBlock { a, b, size })
    .into()
}

/// Returns the longest matching block within both ranges, the first one of equal length.
fn find_longest_match(
    a: &[&str],
    b: &[&str],
    places: &HashMap<&str, Vec<usize>>,
    in_a: (usize, usize),
    in_b: (usize, usize),
) -> MatchingBlock {
    let mut best = MatchingBlock {
        a: in_a.0,
        b: in_b.0,
        size: 0,
    };
    let mut lengths: HashMap<usize, usize> = HashMap::new();
    for (i, line) in a.iter().enumerate().take(in_a.1).skip(in_a.0) {
        let mut next = HashMap::new();
        for &j in places.get(line).map(Vec::as_slice).unwrap_or_default() {
            if j < in_b.0 {
                continue;
            }
            if j >= in_b.1 {
                break;
            }
            let before = if j == 0 {
                0
            } else {
                lengths.get(&(j - 1)).copied().unwrap_or(0)
            };
            let size = before + 1;
            next.insert(j, size);
            if size > best.size {
                best = MatchingBlock {
                    a: i + 1 - size,
                    b: j + 1 - size,
                    size,
                };
            }
        }
        lengths = next;
    }
    while best.a > in_a.0 && best.b > in_b.0 && a[best.a - 1] == b[best.b - 1] {
        best = MatchingBlock {
            a: best.a - 1,
            b: best.b - 1,
            size: best.size + 1,
        };
    }
    while best.a + best.size < in_a.1
        && best.b + best.size < in_b.1
        && a[best.a + best.size] == b[best.b + best.size]
    {
        best.size += 1;
    }
    best
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_change_with_its_context() {
        let a: Vec<String> = (0..10).map(|i| format!("line {i}")).collect();
        let mut b = a.clone();
        b[5] = "other".into();
        let want = "@@ -3,7 +3,7 @@\n line 2\n line 3\n line 4\n-line 5\n+other\n line 6\n line 7\n line 8\n";
        assert_eq!(unified(&a.join("\n"), &b.join("\n")), want);
        assert_eq!(unified("a\nb", "a\nb"), "");
        assert_eq!(unified("", "x"), "@@ -0,0 +1 @@\n+x\n");
    }

    #[test]
    fn of_long_texts_the_start_and_the_end_match() {
        let a: Vec<String> = (0..2 * MAX_LINES).map(|i| format!("line {i}")).collect();
        let mut b = a.clone();
        b[5] = "other".into();
        b[7] = "other".into();
        let want = "@@ -3,9 +3,9 @@\n line 2\n line 3\n line 4\n-line 5\n-line 6\n-line 7\n+other\n+line 6\n+other\n line 8\n line 9\n line 10\n";
        assert_eq!(unified(&a.join("\n"), &b.join("\n")), want);
        assert_eq!(unified(&a.join("\n"), &a.join("\n")), "");
    }

    proptest! {
        #[test]
        fn a_difference_holds_every_change(
            a in prop::collection::vec("[a-d]", 0..30),
            b in prop::collection::vec("[a-d]", 0..30),
        ) {
            let diff = unified(&a.join("\n"), &b.join("\n"));
            let (a, b): (Vec<&str>, Vec<&str>) =
                (a.iter().map(String::as_str).collect(), b.iter().map(String::as_str).collect());
            let opcodes = opcodes(&a, &b);
            let mut rebuilt: Vec<&str> = Vec::new();
            for s in &opcodes {
                prop_assert!(!s.equal || a[s.a.0..s.a.1] == b[s.b.0..s.b.1]);
                rebuilt.extend(&b[s.b.0..s.b.1]);
            }
            prop_assert_eq!(&rebuilt, &b);
            prop_assert_eq!(diff.is_empty(), a == b);
        }
    }
}
