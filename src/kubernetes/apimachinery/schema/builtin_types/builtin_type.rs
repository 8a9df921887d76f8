//! [`BuiltinType`]: one type of the tables, parsed to a schema on first use.

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::INDEX;
use crate::schema::{
    AnyType, Field, ListSchema, ListType, MapSchema, Name, PatchStrategy, Presence, Schema,
    StructSchema, TypeRef, ValueType, scalar,
};

/// One type of the tables.
pub struct BuiltinType {
    package: &'static str,
    name: &'static str,
    text: &'static str,
    schema: OnceLock<Arc<Schema>>,
}

impl BuiltinType {
    /// The type `name` of a package, declared by the lines of `text`.
    pub(super) fn new(package: &'static str, name: &'static str, text: &'static str) -> Self {
        Self {
            package,
            name,
            text,
            schema: OnceLock::new(),
        }
    }

    /// The table name of the type.
    pub fn table_name(&self) -> String {
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
            if let ValueType::String {
                enumeration: values,
            } = &mut schema.value_type
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
        let value_type = ValueType::Struct(StructSchema {
            fields: fields.into(),
            atomic: Flags::read(head).atomic,
            preserve_unknown: false,
            allows_unknown: false,
            embedded: false,
        });
        Schema {
            name,
            ..Schema::of(value_type)
        }
    }

    fn field(&self, order: usize, line: &'static str) -> Option<Field> {
        let mut words = line.trim_start().splitn(3, ' ');
        let (name, text) = (words.next()?, words.next()?);
        let flags = Flags::read(words.next().unwrap_or_default());
        let bare = text.trim_start_matches('*');
        let schema = self.resolve(bare, &flags);
        let default = flags.default.clone().or_else(|| {
            // In OpenAPI, the default of a field that is always encoded is its zero value.
            (flags.presence == Presence::Always && bare == text)
                .then(|| scalar::zero(&schema.value_type))
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

    /// Resolves a type expression; list and map flags apply to its outermost level.
    fn resolve(&self, text: &'static str, flags: &Flags) -> TypeRef {
        let nothing = Flags::default();
        // Items of lists and maps may be pointers.
        let text = text.trim_start_matches('*');
        let value_type = if let Some(item) = text.strip_prefix("[]") {
            ValueType::List(ListSchema {
                item: self.resolve(item, &nothing),
                list_type: flags.list_kind(),
                list_type_declared: flags.list.is_some(),
            })
        } else if let Some(value) = text.strip_prefix("{}") {
            let value = self.resolve(value, &nothing);
            ValueType::Map(MapSchema {
                value,
                atomic: flags.atomic,
            })
        } else {
            match text {
                "string" => ValueType::String { enumeration: "" },
                "bool" => ValueType::Bool,
                "int" | "int32" | "int64" | "uint16" | "uint32" | "uint64" => ValueType::Int(text),
                "float64" => ValueType::Float,
                "bytes" => ValueType::Bytes,
                "quantity" => ValueType::Quantity,
                "intorstring" => ValueType::IntOrString,
                "time" => ValueType::Time,
                "microtime" => ValueType::MicroTime,
                "raw" => ValueType::Any(AnyType::Atomic),
                "json" => ValueType::Any(AnyType::Granular),
                "schemaorbool" | "schemaorarray" | "schemaorstrings" => {
                    ValueType::Any(AnyType::HiddenSchema)
                }
                _ => return self.refer(text, flags),
            }
        };
        TypeRef::Inlined(Arc::new(Schema::of(value_type)))
    }

    fn refer(&self, text: &'static str, flags: &Flags) -> TypeRef {
        if let Some(name) = text.strip_prefix("string:") {
            let schema = Schema::of(ValueType::String { enumeration: "" });
            return TypeRef::Inlined(Arc::new(Schema {
                name: Name::Borrowed(name),
                ..schema
            }));
        }
        let (package, name) = text.rsplit_once('.').unwrap_or((self.package, text));
        let Some(entry) = INDEX.get(package).and_then(|types| types.get(name)) else {
            return TypeRef::Inlined(Arc::new(Schema::of(ValueType::Any(AnyType::Granular))));
        };
        if flags.atomic.is_none() && flags.list.is_none() {
            return TypeRef::Builtin(entry);
        }
        // The flags of the field override those of the type.
        let mut schema = (**entry.schema()).clone();
        match &mut schema.value_type {
            ValueType::Struct(s) => s.atomic = flags.atomic,
            ValueType::Map(m) => m.atomic = flags.atomic,
            ValueType::List(l) => {
                l.list_type = flags.list_kind();
                l.list_type_declared = flags.list.is_some();
            }
            _ => {}
        }
        TypeRef::Inlined(Arc::new(schema))
    }
}

/// The flags of a field line.
#[derive(Default)]
struct Flags {
    presence: Presence,
    list: Option<ListType>,
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
                flags.list = Some(ListType::Map(keys.collect()));
            } else {
                match word {
                    "?" => flags.presence = Presence::OmitEmpty,
                    "??" => flags.presence = Presence::OmitZero,
                    "@set" => flags.list = Some(ListType::Set),
                    "@granular" => flags.atomic = Some(false),
                    "@atomic" => {
                        flags.list = Some(ListType::Atomic);
                        flags.atomic = Some(true);
                    }
                    _ => {}
                }
            }
        }
        flags
    }

    /// The list type; if not declared, it is derived from the patch strategy.
    fn list_kind(&self) -> ListType {
        match (&self.list, &self.patch) {
            (Some(kind), _) => kind.clone(),
            (
                None,
                PatchStrategy {
                    merge: true,
                    key: Some(key),
                    ..
                },
            ) => ListType::Map(vec![Name::Borrowed(key)]),
            (
                None,
                PatchStrategy {
                    merge: true,
                    key: None,
                    ..
                },
            ) => ListType::Set,
            _ => ListType::Atomic,
        }
    }
}
