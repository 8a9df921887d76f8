//! Scalars, errors with their positions, and typed reading.

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;

use super::*;

fn all(text: &str) -> Result<Vec<Node>, Problem> {
    documents(text, Limits::default())
}

fn one(text: &str) -> Node {
    let mut all = all(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

fn refused(text: &str) -> String {
    all(text).unwrap_err().to_string()
}

#[test]
fn scalars_resolve_as_in_kubectl() {
    for (text, value) in [
        ("9", json!(9)),
        ("-9", json!(-9)),
        ("+9", json!(9)),
        ("1_000", json!(1000)),
        ("0777", json!(511)),
        ("0o17", json!(15)),
        ("0x1F", json!(31)),
        ("0b101", json!(5)),
        ("08", json!(8)),
        ("1.5", json!(1.5)),
        (".5", json!(0.5)),
        ("1e3", json!(1000)),
        ("1e30", json!(1e30)),
        ("18446744073709551615", json!(18_446_744_073_709_551_615u64)),
        ("yes", json!(true)),
        ("Off", json!(false)),
        ("truE", json!("truE")),
        ("~", json!(null)),
        ("36Gi", json!("36Gi")),
        ("1000000000Gi", json!("1000000000Gi")),
        ("2026-01-02", json!("2026-01-02")),
        ("1.2.3", json!("1.2.3")),
        ("--1", json!("--1")),
        ("0x", json!("0x")),
        ("-", json!([null])),
        ("\"9\"", json!("9")),
        ("'yes'", json!("yes")),
        ("!!str 9", json!("9")),
        ("team-a   # comment", json!("team-a")),
        ("\"\\u00e9\"", json!("é")),
    ] {
        let node = one(&format!("x: {text}\n").replace("x: -\n", "x:\n- \n"));
        assert_eq!(node.get("x").unwrap().to_json(), value, "{text}");
    }
    assert!(refused("x: .inf").contains("not a number JSON can hold"));
    assert!(refused("x: 1e999").contains("too large a number"));
    assert!(refused("x: !thing 1").contains("tag"));
}

#[test]
fn documents_line_ends_and_byte_order_marks() {
    let text = "\u{feff}# a comment\r\na: 1\r\n---\r\n---\r\nb: 2\r\n...\r\n# the end\r\n";
    let two = all(text).unwrap();
    assert_eq!(
        two.iter().map(Node::to_json).collect::<Vec<_>>(),
        [json!({"a": 1}), json!({"b": 2})]
    );
    assert_eq!(two[1].at, Position { line: 5, column: 1 });
    assert_eq!(all("").unwrap(), []);
    assert_eq!(all("# nothing\n---\n").unwrap(), []);
}

#[test]
fn syntax_errors_have_a_position() {
    // A comment of another language, as found in published examples.
    let flavor = "spec:\n  tolerations:\n  // extra tolerations\n  - key: a\n";
    let error = all(flavor).unwrap_err();
    assert!(error.at.line >= 3, "{error}");
    // All indentation is missing: a duplicate key.
    let lost = "metadata:\nname: a\nspec:\nname: b\n";
    let error = all(lost).unwrap_err();
    assert_eq!(
        error.to_string(),
        "4:1: the key \"name\" is given twice, first on line 2"
    );
    assert!(refused("a: [1, 2\nb: 3").starts_with("2:"));
    assert!(refused("a:\n\t- b").starts_with("2:"));
    assert!(refused("? [a]\n: b").contains("a key has to be a string"));
    assert!(refused("a: *undefined").starts_with("1:"));
}

#[test]
fn anchors_and_merges() {
    let text =
        "base: &b {cpu: 1, gpu: 2}\nmore: {<<: *b, gpu: 3}\nlist: [*b, {<<: [*b, {x: 1}]}]\n";
    assert_eq!(
        one(text).to_json(),
        json!({
            "base": {"cpu": 1, "gpu": 2}, "more": {"gpu": 3, "cpu": 1},
            "list": [{"cpu": 1, "gpu": 2}, {"cpu": 1, "gpu": 2, "x": 1}],
        })
    );
    assert!(refused("a: &x [*x]").contains("alias"));
    assert!(refused("a: {<<: 3}").contains("can be merged with <<"));
}

#[test]
fn limits_are_enforced() {
    let mut bomb = String::from("a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n");
    for i in 1..9 {
        let refs = vec![format!("*a{}", i - 1); 10].join(",");
        bomb.push_str(&format!("a{i}: &a{i} [{refs}]\n"));
    }
    assert!(refused(&bomb).contains("more than 500000 values"));
    let nested = (0..90).fold("[1,2,3,4,5,6,7,8,9]".to_owned(), |inner, i| {
        format!("&x{i} [{inner}]")
    });
    assert_eq!(all(&nested).unwrap().len(), 1);
    let wide = format!("[{}]", "1,".repeat(20_000));
    let nested = (0..60).fold(wide, |inner, i| format!("&x{i} [{inner}]"));
    assert!(refused(&nested).contains("more than 500000 values"));
    let deep = format!("{}1{}", "[".repeat(150), "]".repeat(150));
    assert!(refused(&deep).starts_with("1:"));
    assert!(refused(&"#".repeat(Limits::default().bytes + 1)).contains("bytes"));
}

#[test]
fn fields_are_located() {
    let node = one("spec:\n  groups:\n  - name: a\n    usage:\n      cpu: 1\n  - name: b\n");
    let at = |path: &str| (node.locate(path).line, node.locate(path).column);
    assert_eq!(at("spec.groups[0].usage[cpu]"), (5, 7));
    assert_eq!(at("spec.groups[b].name"), (6, 5));
    assert_eq!(at("spec.groups.1"), (6, 5));
    // For a missing field, the nearest ancestor that exists.
    assert_eq!(at("spec.groups[0].usage[memory].x"), (4, 5));
    assert_eq!(at("status.x"), (1, 1));
    assert_eq!(at(""), (1, 1));
}

#[derive(Debug, PartialEq, Deserialize)]
enum Size {
    Small,
    Large,
}

#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
struct Thing {
    name: String,
    size: Option<Size>,
    count: i32,
    parts: Vec<Thing>,
}

#[test]
fn typed_values_and_unknown_fields() {
    let node =
        one("name: a\nsize: Large\ncolour: red\nparts:\n- name: b\n  count: 2\n  colr: {x: 1}\n");
    let (thing, unknown) = read::<Thing>(&node).unwrap();
    assert_eq!((thing.name.as_str(), thing.size), ("a", Some(Size::Large)));
    assert_eq!(thing.parts[0].count, 2);
    let unknown: Vec<_> = unknown
        .iter()
        .map(|u| (u.path.as_str(), u.at.line, u.at.column))
        .collect();
    assert_eq!(unknown, [("colour", 3, 1), ("parts[0].colr", 7, 3)]);
}

#[test]
fn type_errors_have_a_position() {
    for (text, want) in [
        (
            "parts:\n- name: 3\n",
            "2:9: parts[0].name: expected a string, found the number 3; put quotes around it",
        ),
        (
            "count: many",
            "1:8: count: expected a whole number, found the string \"many\"",
        ),
        (
            "count: 3000000000",
            "1:8: count: expected a whole number, found the number 3000000000",
        ),
        (
            "size: Huge",
            "1:7: size: unknown value \"Huge\"; known are \"Small\", \"Large\"",
        ),
        (
            "parts: []\nsize: [Small]",
            "2:7: size: expected a name, found a list",
        ),
        (
            "parts: [[a]]",
            "1:9: parts[0]: expected a mapping, found a list",
        ),
    ] {
        assert_eq!(read::<Thing>(&one(text)).unwrap_err().to_string(), want);
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,60}|[-a:{}\\[\\]&*!#|>'\"\n \t,?%@`~0-9.]{0,80}") {
        if let Ok(all) = all(&text) {
            for node in all {
                let _ = (node.to_json(), node.locate(&text), read::<Thing>(&node));
            }
        }
    }

    #[test]
    fn json_is_valid_yaml(value in json_values()) {
        let node = all(&value.to_string()).unwrap();
        let read: Vec<_> = node.iter().map(Node::to_json).collect();
        let want = if value.is_null() { vec![] } else { vec![value] };
        prop_assert_eq!(read, want);
    }
}

fn json_values() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i64>().prop_map(|n| json!(n)),
        "[a-zA-Z0-9 .:#-]{0,12}".prop_map(|s| json!(s)),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::Array),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..5).prop_map(|m| json!(m)),
        ]
    })
}
