//! Absolute paths.

/// An absolute path without `.`, `..` and double slashes, relative to `directory`.
pub(crate) fn normalize(directory: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let base = if path.starts_with('/') { "" } else { directory };
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The directory of a normalized path.
pub(crate) fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(at) => &path[..at],
    }
}

/// The last part of a path, without slashes at its end.
pub(crate) fn file_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    match path.rfind('/') {
        Some(at) => &path[at + 1..],
        None if path.is_empty() => "/",
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalized() {
        assert_eq!(normalize("/a/b", "c/../../d"), "/a/d");
        assert_eq!(normalize("/a", "/x//y/."), "/x/y");
        assert_eq!(normalize("/", "../.."), "/");
        assert_eq!(
            (parent("/a/b"), parent("/a"), parent("/")),
            ("/a", "/", "/")
        );
        assert_eq!((file_name("/a/b/"), file_name("/")), ("b", "/"));
    }
}
