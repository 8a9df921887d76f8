//! Property tests of field sets, comparison and apply with arbitrary objects of a schema that
//! contains all container types.

use proptest::prelude::*;

use super::*;
use crate::fieldmanager::strip_meta::strip_meta;
use crate::schema::{
    AnyType, Field, ListSchema, ListType, MapSchema, Name, PatchStrategy, Presence, StructSchema,
    TypeRef, ValueType,
};

fn reference(value_type: ValueType) -> TypeRef {
    TypeRef::Inlined(Arc::new(Schema::of(value_type)))
}

fn object(fields: Vec<(&'static str, TypeRef)>) -> ValueType {
    let mut fields: Vec<Field> = fields
        .into_iter()
        .map(|(name, schema)| Field {
            name: Name::Borrowed(name),
            schema,
            presence: Presence::OmitZero,
            pointer: true,
            default: None,
            patch: PatchStrategy::default(),
            order: 0,
        })
        .collect();
    fields.sort_by(|a, b| a.name.cmp(&b.name));
    ValueType::Struct(StructSchema {
        fields: fields.into(),
        atomic: None,
        preserve_unknown: false,
        allows_unknown: false,
        embedded: false,
    })
}

fn text() -> TypeRef {
    reference(ValueType::String { enumeration: "" })
}

fn list(kind: ListType, item: TypeRef) -> TypeRef {
    reference(ValueType::List(ListSchema {
        item,
        list_type: kind,
        list_type_declared: true,
    }))
}

/// A schema with all container types.
fn schema() -> Schema {
    let keyed = ListType::Map(vec![Name::Borrowed("k")]);
    let item = reference(object(vec![
        ("k", text()),
        ("v", text()),
        ("in", list(ListType::Set, text())),
    ]));
    Schema::of(object(vec![
        ("apiVersion", text()),
        ("kind", text()),
        ("metadata", reference(object(vec![("name", text())]))),
        ("s", text()),
        ("atomic", list(ListType::Atomic, text())),
        ("set", list(ListType::Set, text())),
        (
            "map",
            reference(ValueType::Map(MapSchema {
                value: text(),
                atomic: None,
            })),
        ),
        (
            "whole",
            reference(ValueType::Map(MapSchema {
                value: text(),
                atomic: Some(true),
            })),
        ),
        ("items", list(keyed, item)),
        ("any", reference(ValueType::Any(AnyType::Granular))),
        (
            "deep",
            reference(object(vec![("a", text()), ("b", text())])),
        ),
    ]))
}

fn word() -> impl Strategy<Value = String> {
    "[xyz]"
}

fn maybe<S: Strategy<Value = Value> + 'static>(s: S) -> BoxedStrategy<Option<Value>> {
    proptest::option::of(s).boxed()
}

fn words(most: usize) -> impl Strategy<Value = Vec<String>> {
    proptest::collection::btree_set(word(), 1..=most).prop_map(|s| s.into_iter().collect())
}

fn mapping() -> impl Strategy<Value = Value> {
    proptest::collection::btree_map(word(), word(), 1..3).prop_map(|m| json!(m))
}

fn config() -> impl Strategy<Value = Value> {
    let item = (
        maybe(word().prop_map(Value::from)),
        maybe(words(2).prop_map(|w| json!(w))),
    );
    let items = proptest::collection::btree_map(word(), item, 1..3).prop_map(|m| {
        let items: Vec<Value> = m
            .into_iter()
            .map(|(k, (v, inner))| {
                let mut item = json!({"k": k});
                for (name, value) in [("v", v), ("in", inner)] {
                    if let Some(value) = value {
                        item[name] = value;
                    }
                }
                item
            })
            .collect();
        json!(items)
    });
    let fields = vec![
        maybe(word().prop_map(Value::from)),
        maybe(words(3).prop_map(|w| json!(w))),
        maybe(words(3).prop_map(|w| json!(w))),
        maybe(mapping()),
        maybe(mapping()),
        maybe(items),
        maybe(mapping().prop_map(|m| json!({"n": m, "l": [1]}))),
        maybe(proptest::collection::btree_map("[ab]", word(), 1..3).prop_map(|m| json!(m))),
    ];
    fields.prop_map(|values| {
        let names = ["s", "atomic", "set", "map", "whole", "items", "any", "deep"];
        let mut object = json!({"apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n"}});
        for (name, value) in names.into_iter().zip(values) {
            if let Some(value) = value {
                object[name] = value;
            }
        }
        object
    })
}

fn writer<'a>(manager: &'a str, schema: &'a Schema, none: &'a FieldSet) -> FieldManager<'a> {
    FieldManager {
        manager,
        api_version: "g/v1",
        kind: "K",
        subresource: "",
        schema,
        versions: &SingleVersion,
        reset_fields: none,
        now: Timestamp::UNIX_EPOCH,
    }
}

fn applied(schema: &Schema, manager: &str, live: Option<&Value>, config: &Value) -> Value {
    let none = FieldSet::default();
    apply(&writer(manager, schema, &none), live, config, true)
        .unwrap()
        .object
}

fn without_owners(mut object: Value) -> Value {
    object["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("managedFields");
    object
}

fn leaves(schema: &Schema, value: &Value) -> FieldSet {
    typed_value::to_field_set(schema, value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn sets_obey_their_algebra(a in config(), b in config()) {
        let schema = schema();
        let (a, b) = (leaves(&schema, &a), leaves(&schema, &b));
        let both = a.intersection(&b);
        prop_assert_eq!(&both, &b.intersection(&a));
        let mut union = a.clone();
        union.add(&b);
        let mut other = b.clone();
        other.add(&a);
        prop_assert_eq!(&union, &other);
        prop_assert_eq!(union.size() + both.size(), a.size() + b.size());
        let mut rest = a.clone();
        rest.subtract(&b);
        prop_assert!(rest.intersection(&b).is_empty());
        prop_assert_eq!(rest.size() + both.size(), a.size());
        prop_assert_eq!(a.paths().len(), a.size());
        for path in a.paths() {
            prop_assert!(a.has(path.iter().map(String::as_str)));
        }
        let mut again = FieldSet::default();
        for path in a.paths() {
            again.insert(path.iter().map(String::as_str));
        }
        prop_assert_eq!(&again, &a);
        prop_assert_eq!(FieldSet::from_fields_v1(&a.clone().into_value()).unwrap(), a);
    }

    #[test]
    fn comparison_is_symmetric(a in config(), b in config()) {
        let schema = schema();
        prop_assert!(compare::compare(&schema, &a, &a).is_same());
        let (there, back) = (compare::compare(&schema, &a, &b), compare::compare(&schema, &b, &a));
        prop_assert_eq!(&there.added, &back.removed);
        prop_assert_eq!(&there.removed, &back.added);
        prop_assert_eq!(&there.modified, &back.modified);
        prop_assert_eq!(there.is_same(), a == b);
    }

    #[test]
    fn apply_is_idempotent(a in config(), live in config()) {
        let schema = schema();
        let start = applied(&schema, "other", None, &live);
        let once = applied(&schema, "one", Some(&start), &a);
        let none = FieldSet::default();
        let twice = apply(&writer("one", &schema, &none), Some(&once), &a, false).unwrap();
        prop_assert!(!twice.changed);
        prop_assert_eq!(twice.object, once);
    }

    #[test]
    fn a_manager_owns_exactly_the_fields_of_its_last_apply(a in config(), b in config()) {
        let schema = schema();
        let first = applied(&schema, "one", None, &a);
        let second = applied(&schema, "one", Some(&first), &b);
        prop_assert_eq!(without_owners(second), without_owners(applied(&schema, "one", None, &b)));
    }

    #[test]
    fn fields_of_other_managers_are_kept(a in config(), b in config(), theirs in config()) {
        let schema = schema();
        let start = applied(&schema, "other", None, &theirs);
        let first = applied(&schema, "one", Some(&start), &a);
        let second = applied(&schema, "one", Some(&first), &b);
        // All fields of the object are owned, and all owned fields exist.
        let entries = managed_fields::decode(second.pointer("/metadata/managedFields").cloned(), true).unwrap();
        let mut owned = FieldSet::default();
        for entry in &entries {
            owned.add(&entry.fields);
        }
        let mut there = leaves(&schema, &without_owners(second.clone()));
        strip_meta(&mut there);
        let mut lost = owned.clone();
        lost.subtract(&there);
        prop_assert!(lost.is_empty(), "owned but absent: {:?}", lost.paths());
        there.subtract(&owned);
        prop_assert!(there.is_empty(), "there but not owned: {:?}", there.paths());
        // Fields that "one" never applied have the values of "other".
        let mut touched = leaves(&schema, &a);
        touched.add(&leaves(&schema, &b));
        let untouched = {
            let mut set = leaves(&schema, &theirs);
            set.subtract(&touched);
            set
        };
        let after = compare::compare(&schema, &theirs, &without_owners(second));
        prop_assert!(after.removed.intersection(&untouched).is_empty());
        prop_assert!(after.modified.intersection(&untouched).is_empty());
    }

    #[test]
    fn every_write_leaves_every_field_owned(a in config(), b in config()) {
        let schema = schema();
        let none = FieldSet::default();
        let mut first = a;
        update(&writer("one", &schema, &none), None, &mut first);
        // An object without `managedFields` is not tracked.
        prop_assume!(first.pointer("/metadata/managedFields").is_some());
        let mut second = b;
        update(&writer("two", &schema, &none), Some(&first), &mut second);
        let entries = managed_fields::decode(second.pointer("/metadata/managedFields").cloned(), true).unwrap();
        let mut there = leaves(&schema, &without_owners(second));
        strip_meta(&mut there);
        for entry in &entries {
            there.subtract(&entry.fields);
        }
        prop_assert!(there.is_empty(), "{:?}", there.paths());
    }
}
