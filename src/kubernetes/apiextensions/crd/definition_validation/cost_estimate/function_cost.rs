//! The estimated cost of function calls: cel-go's `functionCost` and the functions of Kubernetes,
//! `k8s.io/apiserver/pkg/cel/library/cost.go`.

use super::decl_type::Kind;
use super::estimate::Node;
use super::size::{REGEX_LENGTH, STRING_TRAVERSAL, Size, times};

/// The maximum length of the regular expressions of named formats.
const FORMAT_REGEX_MAX: f64 = 128.0;

/// The result of a function: its cost without the arguments, kind and size.
struct Called {
    cost: u64,
    kind: Kind,
    size: Option<Size>,
}

impl Called {
    fn new(cost: u64, kind: Kind) -> Self {
        Self {
            cost,
            kind,
            size: kind.is_scalar().then(|| Size::fixed(1)),
        }
    }

    fn sized(mut self, size: Size) -> Self {
        self.size = Some(size);
        self
    }
}

/// The node of a call.
pub(super) fn call<'d>(name: &str, target: Option<Node<'d>>, args: Vec<Node<'d>>) -> Node<'d> {
    let arguments = args
        .iter()
        .chain(&target)
        .fold(0u64, |sum, node| sum.saturating_add(node.cost));
    match (name, args.as_slice()) {
        ("_&&_" | "_||_" | "!_", _) => {
            // Conjunctions cost what their operands do.
            let own = u64::from(name == "!_");
            Node::of_kind(Kind::Bool).with_cost(arguments.saturating_add(own))
        }
        ("_?_:_", [condition, if_true, if_false]) => conditional(condition, if_true, if_false),
        ("_[_]", [container, _]) => {
            let element = container.decl.and_then(|d| d.element.as_deref());
            Node::part_of(container, element).with_cost(arguments.saturating_add(1))
        }
        ("dyn", [argument]) => argument.clone().with_cost(argument.cost.saturating_add(1)),
        _ => {
            let called = function(name, target.as_ref(), &args);
            Node {
                cost: arguments.saturating_add(called.cost),
                kind: called.kind,
                element: element_kind(name, target.as_ref(), &args),
                size: called.size,
                entry: args.iter().find_map(|a| a.entry),
                ..Node::default()
            }
        }
    }
}

/// The node of a call of a function of cel-go's `ext.Sets`.
pub(super) fn call_of_sets<'d>(name: &str, args: &[Node<'d>]) -> Node<'d> {
    let arguments = args.iter().map(|node| node.cost);
    let arguments = arguments.fold(0, u64::saturating_add);
    let sizes = args.iter().map(|node| node.size().max);
    let comparisons = sizes.fold(
        if name == "equivalent" { 2 } else { 1 },
        u64::saturating_mul,
    );
    let own = comparisons.saturating_add(1);
    Node::of_kind(Kind::Bool).with_cost(arguments.saturating_add(own))
}

fn conditional<'d>(condition: &Node<'d>, if_true: &Node<'d>, if_false: &Node<'d>) -> Node<'d> {
    let is_same = if_true.kind == if_false.kind;
    Node {
        cost: condition
            .cost
            .saturating_add(if_true.cost.max(if_false.cost)),
        kind: if is_same { if_true.kind } else { Kind::Dyn },
        element: if if_true.element == if_false.element {
            if_true.element
        } else {
            Kind::Dyn
        },
        size: Some(if_true.size().union(if_false.size())),
        entry: if_true.entry.or(if_false.entry),
        ..Node::default()
    }
}

/// The kind of the items of a list that a function returns.
fn element_kind(name: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Kind {
    match name {
        "split" | "findAll" => Kind::String,
        "_+_" => args
            .iter()
            .map(|a| a.element)
            .find(|k| *k != Kind::Dyn)
            .unwrap_or_default(),
        _ => target.map_or(Kind::Dyn, |t| t.element),
    }
}

fn function(name: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Called {
    let first = args.first();
    let size = |node: Option<&Node<'_>>| node.map_or(Size::UNKNOWN, Node::size);
    match name {
        "_==_" | "_!=_" => Called::new(comparison(args), Kind::Bool),
        "_<_" | "_<=_" | "_>_" | "_>=_" => {
            let has_length =
                |n: &Node<'_>| matches!(n.kind, Kind::String | Kind::Bytes | Kind::Dyn);
            let cost = match args.iter().all(has_length) {
                true => comparison(args).max(1),
                false => 1,
            };
            Called::new(cost, Kind::Bool)
        }
        "@in" | "_in_" => {
            let list = args.get(1);
            let cost = match list.map(|l| l.kind) {
                Some(Kind::Map) => 1,
                _ => size(list).max,
            };
            Called::new(cost, Kind::Bool)
        }
        "_+_" => addition(args),
        "startsWith" | "endsWith" => Called::new(size(first).traversal(), Kind::Bool),
        "contains" if target.is_some_and(|t| t.kind != Kind::List) => {
            let cost = size(target)
                .traversal()
                .saturating_mul(size(first).traversal());
            Called::new(cost, Kind::Bool)
        }
        "matches" => {
            let (text, regex) = match target {
                Some(_) => (size(target), size(first)),
                None => (size(first), size(args.get(1))),
            };
            Called::new(regex_cost(text, regex), Kind::Bool)
        }
        "find" | "findAll" => {
            let text = size(target);
            let kind = if name == "find" {
                Kind::String
            } else {
                Kind::List
            };
            Called::new(regex_cost(text, size(first)), kind).sized(Size::up_to(text.max))
        }
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => in_list(name, target),
        "lowerAscii" | "upperAscii" | "substring" | "trim" => {
            let text = size(target);
            Called::new(text.traversal(), Kind::String).sized(text)
        }
        "escapeKey" => Called::new(size(first).traversal(), Kind::String).sized(size(first)),
        "url" => Called::new(size(first).traversal(), Kind::Other).sized(size(first)),
        "replace" => replace(size(target), size(first), size(args.get(1))),
        "split" => {
            let text = size(target);
            let limit = args.get(1).and_then(|n| n.integer);
            let max = limit
                .and_then(|n| u64::try_from(n).ok())
                .unwrap_or(text.max);
            Called::new(times(text.max, 2.0 * STRING_TRAVERSAL), Kind::List).sized(Size::up_to(max))
        }
        "join" => join(target, first),
        "format" => Called::new(size(target).traversal(), Kind::String),
        "cidr" | "ip" | "quantity" | "semver" => Called::new(size(first).traversal(), Kind::Other),
        "isIP" | "isCIDR" | "isQuantity" | "isSemver" => {
            Called::new(size(first).traversal(), Kind::Bool)
        }
        "isCanonical" => Called::new(times(size(first).max, 2.0 * STRING_TRAVERSAL), Kind::Bool),
        "containsIP" | "containsCIDR" => {
            let text = match first.map(|f| f.kind) {
                Some(Kind::String) => size(first).traversal(),
                _ => 0,
            };
            // The addresses have up to 16 bytes each.
            let base = times(32, STRING_TRAVERSAL);
            let mask = match name {
                "containsCIDR" => times(16, STRING_TRAVERSAL) + 1,
                _ => 0,
            };
            Called::new(text.saturating_add(base + mask), Kind::Bool)
        }
        "validate" => {
            let cost = times(size(first).traversal(), FORMAT_REGEX_MAX * REGEX_LENGTH);
            Called::new(cost, Kind::Other)
        }
        "string" => match first.map(|f| f.kind) {
            Some(Kind::Bytes | Kind::Dyn) => {
                let bytes = size(first);
                let sized = Size {
                    min: bytes.min / 4,
                    max: bytes.max,
                };
                Called::new(bytes.traversal().max(1), Kind::String).sized(sized)
            }
            _ => Called::new(1, Kind::String),
        },
        "bytes" => {
            let text = size(first);
            let sized = Size {
                min: text.min,
                max: text.max.saturating_mul(4),
            };
            Called::new(text.traversal(), Kind::Bytes).sized(sized)
        }
        "size" | "int" | "uint" | "double" | "_-_" | "_*_" | "_/_" | "_%_" | "-_" => {
            Called::new(1, Kind::Number)
        }
        "bool" | "@not_strictly_false" | "isURL" | "hasValue" => Called::new(1, Kind::Bool),
        "timestamp" | "duration" => Called::new(1, Kind::Time),
        name if name.starts_with("is") => Called::new(1, Kind::Bool),
        _ => Called::new(1, Kind::Dyn),
    }
}

/// The cost of a comparison of two values.
fn comparison(args: &[Node<'_>]) -> u64 {
    let sizes = args.iter().map(|a| a.size().max);
    times(sizes.min().unwrap_or(0), STRING_TRAVERSAL)
}

fn addition(args: &[Node<'_>]) -> Called {
    let [left, right] = args else {
        return Called::new(1, Kind::Dyn);
    };
    let total = left.size().add(right.size());
    let kind = if left.kind == Kind::Dyn {
        right.kind
    } else {
        left.kind
    };
    match kind {
        Kind::List => Called::new(1, Kind::List).sized(total),
        Kind::String | Kind::Bytes | Kind::Dyn => {
            Called::new(total.traversal().max(1), kind).sized(total)
        }
        kind => Called::new(1, kind),
    }
}

fn regex_cost(text: Size, regex: Size) -> u64 {
    let text = text.add(Size::fixed(1)).traversal();
    text.saturating_mul(times(regex.max, REGEX_LENGTH))
}

/// Functions that compare all items of a list or all characters of a string.
fn in_list(name: &str, target: Option<&Node<'_>>) -> Called {
    let kind = match name {
        "isSorted" => Kind::Bool,
        "indexOf" | "lastIndexOf" => Kind::Number,
        _ => target.map_or(Kind::Dyn, |t| t.element),
    };
    let Some(target) = target else {
        return Called::new(1, kind);
    };
    if target.kind != Kind::List {
        return Called::new(target.size().traversal(), kind);
    }
    let each = match target.element {
        Kind::String | Kind::Bytes => target.element_size().traversal().saturating_add(1),
        _ => 1,
    };
    Called::new(target.size().max.saturating_mul(each), kind)
}

/// The cost and the size of the result of `replace`.
fn replace(text: Size, from: Size, to: Size) -> Called {
    let divided = |n: u64, by: u64| n.div_ceil(by.max(1));
    let (max_count, max_retained) = match from.min {
        0 => (text.max.saturating_add(1), text.max),
        min if to.max <= min => (0, text.max),
        min => (divided(text.max, min), 0),
    };
    let (min_count, min_retained) = match from.max {
        0 => (text.min.saturating_add(1), text.min),
        max if max <= to.min => (0, text.min),
        max => (divided(text.min, max), 0),
    };
    let count = Size {
        min: min_count,
        max: max_count,
    };
    let retained = Size {
        min: min_retained,
        max: max_retained,
    };
    Called::new(times(text.max, 2.0 * STRING_TRAVERSAL), Kind::String)
        .sized(count.multiply(to).add(retained))
}

fn join(target: Option<&Node<'_>>, separator: Option<&Node<'_>>) -> Called {
    let list = target.map_or(Size::UNKNOWN, Node::size);
    let mut size = list.multiply(target.map_or(Size::UNKNOWN, Node::element_size));
    if let Some(separator) = separator {
        let separators = Size {
            min: list.min.saturating_sub(1),
            max: list.max.saturating_sub(1),
        };
        size = size.add(separator.size().multiply(separators));
    }
    Called::new(size.traversal(), Kind::String).sized(size)
}
