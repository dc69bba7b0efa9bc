//! Parameters with the file and line that they come from, so that an error names the place.

use std::io;
use std::path::PathBuf;
use std::rc::Rc;

use super::ImportError;
use super::syntax::{Block, Node, Value, parse};

/// The files of one import.
pub(super) struct Files<'a> {
    pub(super) origin: PathBuf,
    pub(super) open: &'a mut dyn FnMut(&str) -> io::Result<Vec<u8>>,
    /// How many may still be opened: a file may name itself.
    pub(super) left: u32,
}

impl Files<'_> {
    /// The blocks of a file.
    pub(super) fn parse(&mut self, bytes: &[u8], path: PathBuf) -> Result<Vec<Section>, ImportError> {
        let file = Rc::new(path);
        let text = String::from_utf8_lossy(bytes);
        let blocks = parse(&text);
        let blocks = blocks.map_err(|wrong| ImportError::Invalid {
            path: file.to_path_buf(),
            line: wrong.line,
            reason: wrong.reason,
        })?;
        Ok(blocks.into_iter().map(|block| Section { block, file: Rc::clone(&file) }).collect())
    }

    /// The bytes of a file that is named in `place`.
    pub(super) fn bytes(&mut self, name: &str, place: &Section, line: u32) -> Result<(Vec<u8>, PathBuf), ImportError> {
        if self.left == 0 {
            return place.wrong(line, "too many files name each other");
        }
        self.left -= 1;
        let path = self.origin.parent().map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
        match (self.open)(name) {
            Ok(bytes) => Ok((bytes, path)),
            Err(source) => Err(ImportError::Read { path, source }),
        }
    }
}

/// A block and the file that it stands in.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) block: Block,
    pub(super) file: Rc<PathBuf>,
}

impl Section {
    pub(super) fn wrong<T>(&self, line: u32, reason: impl Into<String>) -> Result<T, ImportError> {
        Err(ImportError::Invalid { path: self.file.to_path_buf(), line, reason: reason.into() })
    }

    fn missing<T>(&self, name: &str) -> Result<T, ImportError> {
        self.wrong(self.block.line, format!("`{}` has no parameter `{name}`", self.block.kind))
    }

    /// A number that is not negative; `default`, if it is not given.
    pub(super) fn number_or(&self, name: &str, default: f64) -> Result<f64, ImportError> {
        match self.block.get(name) {
            None => Ok(default),
            Some(Node { value: Value::Number(number), .. }) if *number >= 0.0 => Ok(*number),
            Some(node) => self.wrong(node.line, format!("`{name}` must be a number, not below zero")),
        }
    }

    /// A number of any sign; zero, if it is not given.
    pub(super) fn signed(&self, name: &str) -> Result<f64, ImportError> {
        match self.block.get(name) {
            None => Ok(0.0),
            Some(Node { value: Value::Number(number), .. }) => Ok(*number),
            Some(node) => self.wrong(node.line, format!("`{name}` must be a number")),
        }
    }

    pub(super) fn number(&self, name: &str) -> Result<f64, ImportError> {
        if self.block.get(name).is_none() {
            return self.missing(name);
        }
        self.number_or(name, 0.0)
    }

    /// A whole number; `default`, if it is not given.
    pub(super) fn count_or(&self, name: &str, default: u32) -> Result<u32, ImportError> {
        match self.number_or(name, default.into())? {
            number if number <= f64::from(u32::MAX) && number.fract() == 0.0 => Ok(number as u32),
            _ => self.wrong(self.line(name), format!("`{name}` must be a whole number below 2³²")),
        }
    }

    pub(super) fn count(&self, name: &str) -> Result<u32, ImportError> {
        if self.block.get(name).is_none() {
            return self.missing(name);
        }
        self.count_or(name, 0)
    }

    /// Whether a parameter is given and not zero.
    pub(super) fn flag(&self, name: &str) -> Result<bool, ImportError> {
        Ok(self.number_or(name, 0.0)? > 0.0)
    }

    pub(super) fn word(&self, name: &str) -> Result<Option<&str>, ImportError> {
        match self.block.get(name) {
            None => Ok(None),
            Some(Node { value: Value::Word(word), .. }) => Ok(Some(word)),
            Some(node) => self.wrong(node.line, format!("`{name}` must be a word")),
        }
    }

    pub(super) fn list(&self, name: &str) -> Result<&[Node], ImportError> {
        match self.block.get(name) {
            None => Ok(&[]),
            Some(Node { value: Value::List(list), .. }) => Ok(list),
            Some(node) => self.wrong(node.line, format!("`{name}` must be a list")),
        }
    }

    /// A list of numbers, not negative but for those that are exactly −1: DiskSim's "not given".
    pub(super) fn numbers(&self, name: &str) -> Result<Vec<f64>, ImportError> {
        let number = |node: &Node| match node.value {
            Value::Number(number) if number >= 0.0 || number == -1.0 => Ok(number),
            _ => self.wrong(node.line, format!("`{name}` must be a list of numbers")),
        };
        self.list(name)?.iter().map(number).collect()
    }

    /// A list of whole numbers.
    pub(super) fn counts(&self, name: &str) -> Result<Vec<u32>, ImportError> {
        let whole = |number: f64| number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0;
        let numbers = self.numbers(name)?;
        match numbers.iter().all(|&number| whole(number)) {
            true => Ok(numbers.into_iter().map(|number| number as u32).collect()),
            false => self.wrong(self.line(name), format!("`{name}` must be a list of whole numbers below 2³²")),
        }
    }

    /// The block of a parameter, here or in the file that is named here.
    pub(super) fn section(&self, name: &str, files: &mut Files<'_>) -> Result<Section, ImportError> {
        match self.block.get(name) {
            None => self.missing(name),
            Some(Node { value: Value::Block(block), .. }) => Ok(self.inside(block)),
            Some(Node { value: Value::Source(file), line }) => {
                let (bytes, path) = files.bytes(file, self, *line)?;
                match files.parse(&bytes, path)?.into_iter().next() {
                    Some(section) => Ok(section),
                    None => self.wrong(*line, format!("`{file}` describes nothing")),
                }
            }
            Some(node) => self.wrong(node.line, format!("`{name}` must be a block or a `source` file")),
        }
    }

    /// A block in this one.
    pub(super) fn inside(&self, block: &Block) -> Section {
        Section { block: block.clone(), file: Rc::clone(&self.file) }
    }

    /// The line of a parameter, or of the block.
    pub(super) fn line(&self, name: &str) -> u32 {
        self.block.get(name).map_or(self.block.line, |node| node.line)
    }
}
