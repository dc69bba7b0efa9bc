//! The syntax of DiskSim's parameter files: `type name { parameter = value, … }`, where a value is
//! a number, a word, a list `[ … ]`, a block `type { … }` or `source FILE`; `#` begins a comment.
//! Names contain spaces, dots and brackets; none crosses a line.

/// The contents of a file: named blocks.
pub(super) type File = Vec<Block>;

/// `type { … }`, `type name { … }`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Block {
    /// The first word: the kind of thing that the block describes.
    pub(super) kind: String,
    /// The words after it.
    pub(super) name: String,
    pub(super) line: u32,
    pub(super) parameters: Vec<(String, Node)>,
}

/// A value, and the line it begins on.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Node {
    pub(super) value: Value,
    pub(super) line: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Number(f64),
    Word(String),
    List(Vec<Node>),
    Block(Block),
    /// The value stands in another file.
    Source(String),
}

/// A fault, and its line.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Wrong {
    pub(super) line: u32,
    pub(super) reason: String,
}

/// Deeper nesting is no description of a disk.
const DEEPEST: u32 = 16;

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Text(String),
    Sign(char),
}

impl Block {
    /// The value of a parameter; the last one, if it is given more than once.
    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.parameters.iter().rev().find(|(given, _)| given == name).map(|(_, node)| node)
    }
}

/// Reads a file's blocks. Other statements at the top, `source FILE`, `instantiate [ … ] as …` and
/// `topology … [ … ]`, put a system together and are passed over.
pub(super) fn parse(text: &str) -> Result<File, Wrong> {
    let mut parser = Parser { tokens: tokens(text), at: 0 };
    let mut blocks = Vec::new();
    while parser.at < parser.tokens.len() {
        if !parser.eat(',') && !parser.statement()? {
            blocks.push(parser.block()?);
        }
    }
    Ok(blocks)
}

fn tokens(text: &str) -> Vec<(Token, u32)> {
    let mut tokens = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let code = line.split('#').next().unwrap_or_default();
        let mut rest = code;
        while !rest.is_empty() {
            let sign = rest.find(['{', '}', '[', ']', '=', ',']);
            let word = rest[..sign.unwrap_or(rest.len())].trim().trim_matches('"');
            if !word.is_empty() {
                // Blanks within a name are one.
                tokens.push((Token::Text(word.split_whitespace().collect::<Vec<_>>().join(" ")), number));
            }
            let Some(at) = sign else { break };
            tokens.push((Token::Sign(char::from(rest.as_bytes()[at])), number));
            rest = &rest[at + 1..];
        }
    }
    tokens
}

struct Parser {
    tokens: Vec<(Token, u32)>,
    at: usize,
}

impl Parser {
    fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |token| token.1)
    }

    fn wrong<T>(&self, expected: &str) -> Result<T, Wrong> {
        let found = match self.tokens.get(self.at) {
            Some((Token::Text(text), _)) => format!("`{text}`"),
            Some((Token::Sign(sign), _)) => format!("`{sign}`"),
            None => "the end of the file".into(),
        };
        Err(Wrong { line: self.line(), reason: format!("expected {expected}, found {found}") })
    }

    fn eat(&mut self, sign: char) -> bool {
        let there = matches!(self.tokens.get(self.at), Some((Token::Sign(found), _)) if *found == sign);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, sign: char) -> Result<(), Wrong> {
        if self.eat(sign) { Ok(()) } else { self.wrong(&format!("`{sign}`")) }
    }

    fn text(&mut self, expected: &str) -> Result<String, Wrong> {
        match self.tokens.get(self.at) {
            Some((Token::Text(text), _)) => {
                self.at += 1;
                Ok(text.clone())
            }
            _ => self.wrong(expected),
        }
    }

    /// Whether a statement that is no block was passed over.
    fn statement(&mut self) -> Result<bool, Wrong> {
        let Some((Token::Text(text), _)) = self.tokens.get(self.at) else { return Ok(false) };
        let word = text.split(' ').next().unwrap_or_default();
        if !["source", "instantiate", "topology", "as"].contains(&word) {
            return Ok(false);
        }
        self.at += 1;
        if self.eat('[') {
            let mut open = 1;
            while open > 0 {
                match self.tokens.get(self.at) {
                    Some((Token::Sign('['), _)) => open += 1,
                    Some((Token::Sign(']'), _)) => open -= 1,
                    Some(_) => {}
                    None => return self.wrong("`]`"),
                }
                self.at += 1;
            }
        }
        Ok(true)
    }

    /// `type name { … }`.
    fn block(&mut self) -> Result<Block, Wrong> {
        let line = self.line();
        let head = self.text("a block")?;
        self.expect('{')?;
        self.body(&head, line, 0)
    }

    /// The rest of a block, its head and `{` being read.
    fn body(&mut self, head: &str, line: u32, depth: u32) -> Result<Block, Wrong> {
        let (kind, name) = head.split_once(' ').unwrap_or((head, ""));
        let mut parameters = Vec::new();
        while !self.eat('}') {
            let parameter = self.text("a parameter or `}`")?;
            self.expect('=')?;
            parameters.push((parameter, self.value(depth + 1)?));
            if !self.eat(',') {
                self.expect('}')?;
                break;
            }
        }
        Ok(Block { kind: kind.into(), name: name.into(), line, parameters })
    }

    fn value(&mut self, depth: u32) -> Result<Node, Wrong> {
        let line = self.line();
        if depth > DEEPEST {
            return Err(Wrong { line, reason: format!("blocks and lists are more than {DEEPEST} deep") });
        }
        if self.eat('[') {
            return Ok(Node { value: Value::List(self.list(depth)?), line });
        }
        let text = self.text("a value")?;
        if self.eat('{') {
            return Ok(Node { value: Value::Block(self.body(&text, line, depth)?), line });
        }
        let value = match (number(&text), text.strip_prefix("source ")) {
            (Some(number), _) => Value::Number(number),
            (None, Some(file)) => Value::Source(file.trim_matches('"').into()),
            (None, None) => Value::Word(text),
        };
        Ok(Node { value, line })
    }

    fn list(&mut self, depth: u32) -> Result<Vec<Node>, Wrong> {
        let mut values = Vec::new();
        while !self.eat(']') {
            values.push(self.value(depth + 1)?);
            if !self.eat(',') {
                self.expect(']')?;
                break;
            }
        }
        Ok(values)
    }
}

fn number(text: &str) -> Option<f64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(|number| number as f64);
    }
    // "inf" and "nan" are words.
    let first = text.strip_prefix(['-', '+']).unwrap_or(text).chars().next()?;
    let looks = first.is_ascii_digit() || first == '.';
    looks.then(|| text.parse().ok()).flatten().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lists_words_and_sources() {
        let text = "# a disk\nkind A_1 {\n  Per-request overhead (ms.) = 0x10, # why\n  Model = source x.model,\n\
                    L = [ 1, -2.5e1, [ ], b { c = word } ],\n}\n";
        let file = parse(text).expect("it is well formed");
        assert_eq!((file[0].kind.as_str(), file[0].name.as_str(), file[0].line), ("kind", "A_1", 2));
        assert_eq!(file[0].get("Per-request overhead (ms.)").map(|n| &n.value), Some(&Value::Number(16.0)));
        assert_eq!(file[0].get("Model").map(|n| &n.value), Some(&Value::Source("x.model".into())));
        let Some(Node { value: Value::List(list), line: 5 }) = file[0].get("L") else { panic!("a list in line 5") };
        assert_eq!(list[1].value, Value::Number(-25.0));
        assert!(matches!(&list[3].value, Value::Block(b) if b.parameters.len() == 1));
    }

    #[test]
    fn statements_between_blocks_are_passed_over() {
        let text = "a b { c = 1 }\nsource x.diskspecs\ninstantiate [ d0, d1 ] as b\n\
                    topology e f [\n g h [ i j [] ] # deep\n]\nk l { m = 2 }";
        let kinds: Vec<String> = parse(text).expect("well formed").into_iter().map(|block| block.kind).collect();
        assert_eq!(kinds, ["a", "k"]);
        assert!(parse("topology a [ b").is_err());
    }

    #[test]
    fn mistakes_have_a_line() {
        for (text, line, said) in [
            ("a {\n b = 1\n c = 2 }", 3, "expected `}`, found `c`"),
            ("a {\n b 1 }", 2, "expected `=`, found `}`"),
            ("a { b = [ 1, \n", 1, "expected a value, found the end of the file"),
            ("a", 1, "expected `{`, found the end of the file"),
            ("}", 1, "expected a block, found `}`"),
        ] {
            let wrong = parse(text).expect_err(text);
            assert_eq!((wrong.line, wrong.reason.as_str()), (line, said), "{text}");
        }
        let deep = format!("a {{ b = {}", "[".repeat(100_000));
        assert!(parse(&deep).expect_err("too deep").reason.contains("deep"));
    }
}
