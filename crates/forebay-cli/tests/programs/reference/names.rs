//! The names that calls are tried on: of files, of folders, of neither.

/// Below the root of the tree. All are text, so the name that is not stands as a folder's entry.
pub(super) const NAMES: &[&str] = &[
    "empty",
    "one",
    "block",
    "linked",
    "large",
    "private",
    "closed",
    "program",
    "setuid",
    "write-only",
    ".hidden",
    "...",
    "with space",
    "new\nline",
    "back\\slash",
    "naïve",
    "folder",
    "folder/",
    "folder/.",
    "folder/..",
    "folder//inner",
    "folder/inner",
    "folder/inner/",
    "folder/inner/x",
    "folder/inner/..",
    "folder/missing",
    "folder/up",
    "folder/deep/inner",
    "own",
    "own/inner",
    "own/missing",
    "pass",
    "pass/inner",
    "list",
    "list/inner",
    "shut",
    "shut/inner",
    "sticky",
    "sticky/inner",
    "hollow",
    "hollow/missing",
    "to-file",
    "to-file/",
    "to-folder",
    "to-folder/",
    "to-folder/inner",
    "to-deep",
    "to-link",
    "to-slash",
    "to-private",
    "dangling",
    "dangling/x",
    "itself",
    "ping",
    "pipe",
    "socket",
    "character",
    "disk",
    "missing",
    "missing/inner",
    ".",
    "./one",
    LONGEST,
    TOO_LONG,
    TOO_DEEP,
];

/// The longest name that a file can have; the tree has it.
const LONGEST: &str = {
    const BYTES: [u8; 255] = [b'x'; 255];
    match str::from_utf8(&BYTES) {
        Ok(name) => name,
        Err(_) => unreachable!(),
    }
};

/// A byte more.
const TOO_LONG: &str = {
    const BYTES: [u8; 256] = [b'x'; 256];
    match str::from_utf8(&BYTES) {
        Ok(name) => name,
        Err(_) => unreachable!(),
    }
};

/// A path that no system call takes.
const TOO_DEEP: &str = {
    const BYTES: [u8; 4200] = {
        let mut bytes = [b'/'; 4200];
        let mut at = 0;
        while at < bytes.len() {
            bytes[at] = b'a';
            at += 2;
        }
        bytes
    };
    match str::from_utf8(&BYTES) {
        Ok(name) => name,
        Err(_) => unreachable!(),
    }
};
