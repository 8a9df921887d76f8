//! The estimated cost of an expression: cel-go's `coster`.

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, SelectExpr,
};

use super::decl_type::{DeclType, Kind};
use super::size::Size;
use kueue_lab_cel::is_qualified;

const LIST_BASE: u64 = 10;
const MAP_BASE: u64 = 30;
const STRUCT_BASE: u64 = 40;

/// The maximum cost of an expression over `self` and `oldSelf` of a type.
pub(super) fn estimate(expression: &IdedExpr, this: &DeclType, optional_old_self: bool) -> u64 {
    let old = match optional_old_self {
        true => Node::of_kind(Kind::Other),
        false => Node::of_decl(Some(this)),
    };
    let mut coster = Coster {
        variables: vec![
            ("self".into(), Node::of_decl(Some(this))),
            ("oldSelf".into(), old),
        ],
    };
    coster.node(expression).cost
}

/// The sizes of the keys and values of a container.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntrySize {
    is_list: bool,
    key: Size,
    value: Size,
}

/// An expression: its cost, type and size.
#[derive(Clone, Debug, Default)]
pub(super) struct Node<'d> {
    pub(super) cost: u64,
    pub(super) kind: Kind,
    /// The kind of the items of a list.
    pub(super) element: Kind,
    /// The declared type.
    pub(super) decl: Option<&'d DeclType>,
    /// Whether the declared limits do not apply, as below a field of a map.
    pub(super) is_unlimited: bool,
    pub(super) size: Option<Size>,
    pub(super) entry: Option<EntrySize>,
    /// The literal as an integer.
    pub(super) integer: Option<i64>,
}

impl<'d> Node<'d> {
    pub(super) fn of_kind(kind: Kind) -> Self {
        Self {
            kind,
            size: kind.is_scalar().then(|| Size::fixed(1)),
            ..Self::default()
        }
    }

    pub(super) fn of_decl(decl: Option<&'d DeclType>) -> Self {
        let Some(found) = decl else {
            return Self::default();
        };
        Self {
            kind: found.kind,
            element: found.element.as_ref().map_or(Kind::Dyn, |e| e.kind),
            decl,
            size: Some(Size::up_to(found.max_elements)),
            ..Self::default()
        }
    }

    /// The node of a part of `parent`, whose limits apply only if those of the parent do.
    pub(super) fn part_of(parent: &Self, decl: Option<&'d DeclType>) -> Self {
        Self::of_decl(decl).unlimited_if(parent.is_unlimited)
    }

    fn unlimited_if(mut self, is_unlimited: bool) -> Self {
        if is_unlimited {
            self.is_unlimited = true;
            self.size = self.kind.is_scalar().then(|| Size::fixed(1));
        }
        self
    }

    pub(super) fn with_cost(mut self, cost: u64) -> Self {
        self.cost = cost;
        self
    }

    pub(super) fn size(&self) -> Size {
        self.size.unwrap_or(Size::UNKNOWN)
    }

    /// The size of the items of a list, by their declared type.
    pub(super) fn element_size(&self) -> Size {
        let decl = self.decl.filter(|_| !self.is_unlimited);
        let element = decl.and_then(|d| d.element.as_deref());
        element.map_or(Size::UNKNOWN, |e| Size::up_to(e.max_elements))
    }
}

pub(super) struct Coster<'d> {
    variables: Vec<(String, Node<'d>)>,
}

impl<'d> Coster<'d> {
    pub(super) fn node(&mut self, e: &IdedExpr) -> Node<'d> {
        match &e.expr {
            Expr::Literal(value) => literal(value),
            Expr::Ident(name) => {
                let mut variables = self.variables.iter().rev();
                let found = variables.find(|(own, _)| own == name);
                let node = found.map_or_else(Node::default, |(_, node)| node.clone());
                node.with_cost(1)
            }
            Expr::Select(select) => self.select(select),
            Expr::Call(call) => {
                let namespace = self.namespace(call);
                let target = call.target.as_deref().filter(|_| namespace.is_none());
                let target = target.map(|t| self.node(t));
                let args: Vec<Node<'d>> = call.args.iter().map(|a| self.node(a)).collect();
                match namespace {
                    Some("sets") => super::function_cost::call_of_sets(&call.func_name, &args),
                    _ => super::function_cost::call(&call.func_name, target, args),
                }
            }
            Expr::List(list) => {
                let items: Vec<Node<'d>> = list.elements.iter().map(|e| self.node(e)).collect();
                let sizes = items.iter().map(Node::size);
                let value = sizes.reduce(Size::union).unwrap_or(Size::fixed(0));
                let kind = items.first().map_or(Kind::Dyn, |i| i.kind);
                let is_same = items.iter().all(|i| i.kind == kind);
                Node {
                    cost: items
                        .iter()
                        .fold(LIST_BASE, |sum, i| sum.saturating_add(i.cost)),
                    kind: Kind::List,
                    element: if is_same { kind } else { Kind::Dyn },
                    size: Some(Size::fixed(items.len() as u64)),
                    entry: Some(EntrySize {
                        is_list: true,
                        key: Size::fixed(1),
                        value,
                    }),
                    ..Node::default()
                }
            }
            Expr::Map(map) => self.entries(
                MAP_BASE,
                map.entries.iter().map(|e| &e.expr).collect(),
                Kind::Map,
            ),
            Expr::Struct(literal) => self.entries(
                STRUCT_BASE,
                literal.entries.iter().map(|e| &e.expr).collect(),
                Kind::Object,
            ),
            Expr::Comprehension(fold) => self.comprehension(fold),
            Expr::Unspecified => Node::default(),
        }
    }

    /// The namespace of a function such as `sets.contains`, which has no target.
    fn namespace<'e>(&self, call: &'e CallExpr) -> Option<&'e str> {
        let target = call.target.as_deref()?;
        let Expr::Ident(name) = &target.expr else {
            return None;
        };
        let is_variable = self.variables.iter().any(|(own, _)| own == name);
        (!is_variable && is_qualified(target, &call.func_name)).then_some(name)
    }

    fn select(&mut self, select: &SelectExpr) -> Node<'d> {
        let operand = self.node(&select.operand);
        if select.test {
            // `has` itself is free.
            return Node::of_kind(Kind::Bool).with_cost(operand.cost);
        }
        let step = u64::from(matches!(operand.kind, Kind::Map | Kind::Object));
        let found = operand.decl.and_then(|decl| match decl.kind {
            Kind::Map => decl.element.as_deref(),
            _ => decl.field(&select.field),
        });
        // cel-go finds the declared limits of values of maps by index only.
        Node::part_of(&operand, found)
            .unlimited_if(operand.kind == Kind::Map)
            .with_cost(operand.cost.saturating_add(step))
    }

    fn entries(&mut self, base: u64, entries: Vec<&EntryExpr>, kind: Kind) -> Node<'d> {
        let (mut cost, mut sizes) = (base, Vec::new());
        let count = entries.len() as u64;
        for entry in entries {
            match entry {
                EntryExpr::MapEntry(entry) => {
                    let (key, value) = (self.node(&entry.key), self.node(&entry.value));
                    cost = cost.saturating_add(key.cost).saturating_add(value.cost);
                    sizes.push((key.size(), value.size()));
                }
                EntryExpr::StructField(field) => {
                    cost = cost.saturating_add(self.node(&field.value).cost);
                }
            }
        }
        let union = |a: (Size, Size), b: (Size, Size)| (a.0.union(b.0), a.1.union(b.1));
        let (key, value) = sizes
            .into_iter()
            .reduce(union)
            .unwrap_or((Size::fixed(0), Size::fixed(0)));
        Node {
            cost,
            kind,
            size: (kind == Kind::Map).then(|| Size::fixed(count)),
            entry: (kind == Kind::Map).then_some(EntrySize {
                is_list: false,
                key,
                value,
            }),
            ..Node::default()
        }
    }

    fn comprehension(&mut self, fold: &ComprehensionExpr) -> Node<'d> {
        let range = self.node(&fold.iter_range);
        let init = self.node(&fold.accu_init);
        let depth = self.variables.len();
        self.variables.push((fold.accu_var.clone(), init.clone()));
        let item = iteration_variable(&range);
        self.variables.push((fold.iter_var.clone(), item));
        let condition = self.node(&fold.loop_cond);
        let step = self.node(&fold.loop_step);
        // The accumulator has the type of the step: a list starts empty.
        if let Some((_, accumulator)) = self.variables.get_mut(depth) {
            accumulator.element = step.element;
        }
        let result = self.node(&fold.result);
        self.variables.truncate(depth);
        let iterations = range.size();
        let once = step.cost.saturating_add(condition.cost);
        let cost = range
            .cost
            .saturating_add(init.cost)
            .saturating_add(result.cost)
            .saturating_add(iterations.max.saturating_mul(once));
        let is_container = matches!(init.kind, Kind::List | Kind::Map);
        Node {
            cost,
            kind: result.kind,
            element: result.element,
            size: if is_container {
                Some(iterations)
            } else {
                init.size
            },
            entry: if is_container { step.entry } else { None },
            ..Node::default()
        }
    }
}

/// The variable of a loop: an item of a list or a key of a map.
fn iteration_variable<'d>(range: &Node<'d>) -> Node<'d> {
    let is_list = match range.entry {
        Some(entry) => entry.is_list,
        None => range.kind == Kind::List,
    };
    let decl = range.decl.and_then(|decl| match is_list {
        true => decl.element.as_deref(),
        false => decl.key.as_deref(),
    });
    if decl.is_some() {
        return Node::part_of(range, decl);
    }
    let kind = if is_list { range.element } else { Kind::Dyn };
    let mut node = Node::of_kind(kind);
    if node.size.is_none() {
        node.size = range.entry.map(|e| if is_list { e.value } else { e.key });
    }
    node
}

fn literal<'d>(value: &LiteralValue) -> Node<'d> {
    let (kind, size) = match value {
        LiteralValue::String(text) => (Kind::String, text.inner().chars().count() as u64),
        LiteralValue::Bytes(bytes) => (Kind::Bytes, bytes.inner().len() as u64),
        LiteralValue::Boolean(_) => (Kind::Bool, 1),
        LiteralValue::Null => (Kind::Null, 1),
        _ => (Kind::Number, 1),
    };
    let integer = match value {
        LiteralValue::Int(value) => Some(*value.inner()),
        _ => None,
    };
    Node {
        kind,
        size: Some(Size::fixed(size)),
        integer,
        ..Node::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cel::program::compile;

    /// Estimates of cel-go for the type checked expressions.
    #[test]
    fn costs_are_those_of_cel_go() {
        let cases = [
            (
                json!({"type": "array", "items": {"type": "number"}}),
                "self.all(x, true)",
                4718591,
            ),
            (
                json!({"type": "array", "items": {"type": "boolean"}}),
                "self.all(x, true)",
                1887437,
            ),
            (
                json!({"type": "array", "items": {"type": "object", "properties": {"required": {"type": "string"}, "optional": {"type": "string"}}, "required": ["required"]}}),
                "self.all(x, true)",
                555128,
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                "self.all(x, true)",
                1179647,
            ),
            (json!({"type": "string"}), "self.contains('test')", 314574),
            (json!({"type": "string"}), "self.endsWith('test')", 2),
            (
                json!({"type": "array", "items": {"type": "number"}}),
                "self[1] == 0.0",
                2,
            ),
            (
                json!({"type": "array", "items": {"type": "number"}, "maxItems": 10}),
                "self.all(x, self.all(y, true))",
                352,
            ),
            (
                json!({"type": "string"}),
                "\"\".matches(\"(((((((((())))))))))[0-9]\")",
                7,
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": null}),
                "self.all(x, x.contains(self[x]))",
                2752507,
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "number"}}),
                "self[\"x\"] == 0.0",
                2,
            ),
            (
                json!({"type": "string", "format": "byte"}),
                "self == b\"x\"",
                2,
            ),
            (
                json!({"type": "array", "items": {"x-kubernetes-int-or-string": true}}),
                "self[0] == 5",
                3,
            ),
            (
                json!({"type": "array", "items": {"type": "object", "properties": {"required": {"type": "string"}, "optional": {"type": "string"}}, "required": ["required"]}}),
                "self[0] == null",
                2,
            ),
            (
                json!({"type": "array", "items": {"type": "string", "format": "duration"}}),
                "self.all(x, true)",
                2359295,
            ),
            (
                json!({"type": "array", "items": {"type": "string", "format": "date"}}),
                "self.all(x, true)",
                725936,
            ),
            (
                json!({"type": "array", "items": {"type": "string", "format": "date-time"}}),
                "self.all(x, true)",
                428963,
            ),
            (
                json!({"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": true}}),
                "self.all(x, true)",
                1348169,
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string", "format": "date"}}),
                "self.all(x, true)",
                524288,
            ),
            (
                json!({"type": "string"}),
                "self.find('[0-9]+') == ''",
                629147,
            ),
            (json!({"type": "integer"}), "sets.contains([self], [])", 22),
            (
                json!({"type": "integer"}),
                "sets.equivalent([self, 1], [2])",
                26,
            ),
            (json!({"type": "string"}), "ip.isCanonical('::1')", 1),
        ];
        for (schema, rule, expected) in cases {
            let decl = DeclType::of(&schema, false).unwrap();
            let program = compile(rule).unwrap();
            let cost = estimate(program.expression(), &decl, false);
            assert_eq!(cost, expected, "{rule}");
        }
    }
}
