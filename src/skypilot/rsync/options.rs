//! The command line of `rsync --server`, which a client writes.

use crate::error::RsyncError;

/// Options that consist of one letter and are supported. Others change the protocol.
const LETTERS: &str = "vqlogDtprdzWSkKuOJEi";
/// Long options that have no influence on the protocol.
const IGNORED: [&str; 9] = [
    "partial",
    "progress",
    "no-i-r",
    "no-inc-recursive",
    "log-format",
    "info",
    "debug",
    "timeout",
    "stats",
];

/// The options of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerOptions {
    /// The server sends files to the client.
    pub(crate) sender: bool,
    pub(crate) recursive: bool,
    pub(crate) directories: bool,
    pub(crate) links: bool,
    pub(crate) owner: bool,
    pub(crate) group: bool,
    pub(crate) times: bool,
    pub(crate) permissions: bool,
    /// File content is compressed.
    pub(crate) compress: bool,
    /// The client has chosen zlib, which is not negotiated then.
    pub(crate) zlib: bool,
    /// The capabilities of the client, one letter each.
    pub(crate) client: String,
    /// The paths: the source files, or the destination.
    pub(crate) paths: Vec<String>,
}

impl ServerOptions {
    /// The options of the arguments that follow `rsync`.
    ///
    /// # Errors
    /// It is not the command line of a server, or has an option that is not supported.
    pub fn parse(arguments: &[String]) -> Result<Self, RsyncError> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        if arguments.next().map(String::as_str) != Some("--server") {
            return Err(RsyncError::syntax("only --server is supported"));
        }
        let mut paths = Vec::new();
        for argument in arguments {
            match argument.strip_prefix('-') {
                _ if !paths.is_empty() => paths.push(argument.clone()),
                Some("-sender") => options.sender = true,
                Some(long) if long.starts_with('-') => {
                    let name = long.trim_start_matches('-');
                    let (name, value) = name.split_once('=').unwrap_or((name, ""));
                    match (name, value) {
                        ("compress-choice", "zlib" | "zlibx")
                        | ("old-compress" | "new-compress", _) => {
                            options.zlib = true;
                        }
                        (name, _) if IGNORED.contains(&name) => {}
                        _ => return Err(not_supported(argument)),
                    }
                }
                Some(letters) if !letters.is_empty() => options.add_letters(letters)?,
                _ => paths.push(argument.clone()),
            }
        }
        // The first path is always the working directory.
        match paths.split_first() {
            Some((first, rest)) if first == "." && !rest.is_empty() => {
                options.paths = rest.to_vec();
                Ok(options)
            }
            _ => Err(RsyncError::syntax("no path")),
        }
    }

    fn add_letters(&mut self, letters: &str) -> Result<(), RsyncError> {
        for (at, letter) in letters.char_indices() {
            match letter {
                'r' => self.recursive = true,
                'd' => self.directories = true,
                'l' => self.links = true,
                'o' => self.owner = true,
                'g' => self.group = true,
                't' => self.times = true,
                'p' => self.permissions = true,
                'z' => self.compress = true,
                'e' => {
                    // `e.` and the capabilities end the letters.
                    self.client = letters[at..].trim_start_matches(['e', '.']).to_owned();
                    return Ok(());
                }
                letter if LETTERS.contains(letter) => {}
                letter => return Err(not_supported(&format!("-{letter}"))),
            }
        }
        Ok(())
    }

    /// Whether the client has a capability.
    pub(crate) fn client_has(&self, capability: char) -> bool {
        self.client.contains(capability)
    }
}

fn not_supported(option: &str) -> RsyncError {
    RsyncError::syntax(format!("option {option} is not supported"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<ServerOptions, RsyncError> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        ServerOptions::parse(&words)
    }

    #[test]
    fn a_command_line_of_rsync() {
        let options = parse("--server --sender -vltDprze.iLsfxCIvu --partial . /a /b").unwrap();
        assert!(
            options.sender
                && options.recursive
                && options.times
                && options.compress
                && !options.zlib
        );
        assert!(!options.owner && !options.group);
        assert!(options.client_has('v') && !options.client_has('r'));
        assert_eq!(options.paths, ["/a", "/b"]);
    }

    #[test]
    fn options_that_change_the_protocol_are_refused() {
        for line in [
            "-a . /a",
            "--server -rH . /a",
            "--server --delete . /a",
            "--server -r",
        ] {
            assert_eq!(parse(line).unwrap_err().code, 4, "{line}");
        }
    }
}
