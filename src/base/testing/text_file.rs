//! Text files that may be packed.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;

/// The content of a text file; one with the extension `gz` is unpacked.
///
/// # Errors
/// The file cannot be read or unpacked.
pub fn read_text(path: &Path) -> io::Result<String> {
    let (mut file, mut text) = (File::open(path)?, String::new());
    match path.extension().is_some_and(|e| e == "gz") {
        true => GzDecoder::new(file).read_to_string(&mut text)?,
        false => file.read_to_string(&mut text)?,
    };
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn packed_text_is_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let (plain, packed) = (
            folder.path().join("a.yaml"),
            folder.path().join("a.yaml.gz"),
        );
        std::fs::write(&plain, "a: 1").unwrap();
        let mut encoder = GzEncoder::new(File::create(&packed).unwrap(), Compression::fast());
        encoder.write_all(b"a: 1").unwrap();
        encoder.finish().unwrap();
        assert_eq!(read_text(&plain).unwrap(), read_text(&packed).unwrap());
    }
}
