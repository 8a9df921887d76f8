//! One type of the tables: its lines become a schema on first use.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::INDEX;
use crate::schema::{
    AnyShape, Field, ListKind, ListShape, MapShape, Name, PatchStrategy, Presence, Schema, Shape,
    StructShape, TypeRef, scalar,
};

/// One type of the tables.
pub struct Entry {
    package: &'static str,
    name: &'static str,
    text: &'static str,
    schema: OnceLock<Arc<Schema>>,
}

impl Entry {
    /// The type `name` of a package, whose lines are `text`.
    pub(super) fn new(package: &'static str, name: &'static str, text: &'static str) -> Self {
        Self {
            package,
            name,
            text,
            schema: OnceLock::new(),
        }
    }

    /// The table name of the type.
    pub fn id(&self) -> String {
        format!("{}.{}", self.package, self.name)
    }

    /// The schema, built on first use.
    pub fn schema(&'static self) -> &'static Arc<Schema> {
        self.schema.get_or_init(|| Arc::new(self.build()))
    }

    fn build(&self) -> Schema {
        let go_package = self.package.rsplit('.').next().unwrap_or_default();
        let name = Name::Owned(format!("{go_package}.{}", self.name));
        let mut lines = self.text.lines();
        let head = lines.next().unwrap_or_default();
        if let Some((_, rest)) = head.split_once(" = ") {
            let (text, enumeration) = rest.split_once(" enum ").unwrap_or((rest, ""));
            let mut schema = (*self.resolve(text, &Flags::default())).clone();
            if let Shape::String {
                enumeration: values,
            } = &mut schema.shape
            {
                *values = enumeration;
            }
            return Schema { name, ..schema };
        }
        let mut fields: Vec<Field> = lines
            .enumerate()
            .filter_map(|(i, line)| self.field(i, line))
            .collect();
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        let shape = Shape::Struct(StructShape {
            fields: fields.into(),
            atomic: Flags::read(head).atomic,
            preserve_unknown: false,
            open: false,
            embedded: false,
        });
        Schema {
            name,
            ..Schema::of(shape)
        }
    }

    fn field(&self, order: usize, line: &'static str) -> Option<Field> {
        let mut words = line.trim_start().splitn(3, ' ');
        let (name, text) = (words.next()?, words.next()?);
        let flags = Flags::read(words.next().unwrap_or_default());
        let bare = text.trim_start_matches('*');
        let schema = self.resolve(bare, &flags);
        let default = flags.default.clone().or_else(|| {
            // OpenAPI gives a field that is always written its zero value as default
            (flags.presence == Presence::Always && bare == text)
                .then(|| scalar::zero(&schema.shape))
                .flatten()
        });
        Some(Field {
            name: Name::Borrowed(name),
            schema,
            presence: flags.presence,
            pointer: bare.len() < text.len(),
            default,
            patch: flags.patch,
            order: u16::try_from(order).unwrap_or(u16::MAX),
        })
    }

    /// The schema of a type text; list and map flags apply to its outermost level.
    fn resolve(&self, text: &'static str, flags: &Flags) -> TypeRef {
        let nothing = Flags::default();
        let shape = if let Some(item) = text.strip_prefix("[]") {
            Shape::List(ListShape {
                item: self.resolve(item, &nothing),
                kind: flags.list_kind(),
                kind_declared: flags.list.is_some(),
            })
        } else if let Some(value) = text.strip_prefix("{}") {
            let value = self.resolve(value, &nothing);
            Shape::Map(MapShape {
                value,
                atomic: flags.atomic,
            })
        } else {
            match text {
                "string" => Shape::String { enumeration: "" },
                "bool" => Shape::Bool,
                "int" | "int32" | "int64" | "uint16" | "uint32" | "uint64" => Shape::Int(text),
                "float64" => Shape::Float,
                "bytes" => Shape::Bytes,
                "quantity" => Shape::Quantity,
                "intorstring" => Shape::IntOrString,
                "time" => Shape::Time,
                "microtime" => Shape::MicroTime,
                "raw" => Shape::Any(AnyShape::Atomic),
                "json" => Shape::Any(AnyShape::Granular),
                "schemaorbool" | "schemaorarray" | "schemaorstrings" => {
                    Shape::Any(AnyShape::HiddenSchema)
                }
                _ => return self.refer(text, flags),
            }
        };
        TypeRef::Ready(Arc::new(Schema::of(shape)))
    }

    fn refer(&self, text: &'static str, flags: &Flags) -> TypeRef {
        if let Some(name) = text.strip_prefix("string:") {
            let schema = Schema::of(Shape::String { enumeration: "" });
            return TypeRef::Ready(Arc::new(Schema {
                name: Name::Borrowed(name),
                ..schema
            }));
        }
        let (package, name) = text.rsplit_once('.').unwrap_or((self.package, text));
        let Some(entry) = INDEX.get(package).and_then(|types| types.get(name)) else {
            return TypeRef::Ready(Arc::new(Schema::of(Shape::Any(AnyShape::Granular))));
        };
        if flags.atomic.is_none() && flags.list.is_none() {
            return TypeRef::Builtin(entry);
        }
        // the field overrides how the type is owned
        let mut schema = (**entry.schema()).clone();
        match &mut schema.shape {
            Shape::Struct(s) => s.atomic = flags.atomic,
            Shape::Map(m) => m.atomic = flags.atomic,
            Shape::List(l) => {
                l.kind = flags.list_kind();
                l.kind_declared = flags.list.is_some();
            }
            _ => {}
        }
        TypeRef::Ready(Arc::new(schema))
    }
}

/// The flags of a field line.
#[derive(Default)]
struct Flags {
    presence: Presence,
    list: Option<ListKind>,
    atomic: Option<bool>,
    patch: PatchStrategy,
    default: Option<Value>,
}

impl Flags {
    fn read(text: &'static str) -> Self {
        let mut flags = Self::default();
        for word in text.split(' ') {
            if let Some(strategy) = word.strip_prefix("patch=") {
                for part in strategy.split(',') {
                    flags.patch.merge |= part == "merge";
                    flags.patch.replace |= part == "replace";
                    flags.patch.retain_keys |= part == "retainKeys";
                }
            } else if let Some(key) = word.strip_prefix("key=") {
                flags.patch.key = Some(key);
            } else if let Some(json) = word.strip_prefix('=') {
                flags.default = serde_json::from_str(json).ok();
            } else if let Some(keys) = word.strip_prefix("@map(") {
                let keys = keys.trim_end_matches(')').split(',').map(Name::Borrowed);
                flags.list = Some(ListKind::Map(keys.collect()));
            } else {
                match word {
                    "?" => flags.presence = Presence::OmitEmpty,
                    "??" => flags.presence = Presence::OmitZero,
                    "@set" => flags.list = Some(ListKind::Set),
                    "@granular" => flags.atomic = Some(false),
                    "@atomic" => {
                        flags.list = Some(ListKind::Atomic);
                        flags.atomic = Some(true);
                    }
                    _ => {}
                }
            }
        }
        flags
    }

    /// The list type; one that is not declared follows from the patch strategy.
    fn list_kind(&self) -> ListKind {
        match (&self.list, &self.patch) {
            (Some(kind), _) => kind.clone(),
            (
                None,
                PatchStrategy {
                    merge: true,
                    key: Some(key),
                    ..
                },
            ) => ListKind::Map(vec![Name::Borrowed(key)]),
            (
                None,
                PatchStrategy {
                    merge: true,
                    key: None,
                    ..
                },
            ) => ListKind::Set,
            _ => ListKind::Atomic,
        }
    }
}
