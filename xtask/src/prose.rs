//! The mechanical part of how the repository's pages are written: lines that fit, sentences that
//! are read at once, and subjects with a name.
//!
//! It reads paragraphs, list items and headings of a Markdown page. Code, tables and comments are
//! left out, and a piece of code within a sentence counts as one word.

use std::path::Path;

/// The most characters of a line of prose.
pub(crate) const WIDEST: usize = 100;

/// The most words of a sentence.
const LONGEST: usize = 35;

/// Words for a person where a thread or a program is meant.
const PERSONS: [&str; 4] = ["he", "him", "his", "himself"];

/// Beginnings that hide the subject of a sentence.
const NAMELESS: [&[&str]; 5] = [&["who"], &["whoever"], &["what"], &["of", "what"], &["of", "whom"]];

/// Words with a full stop that end no sentence.
const SHORTENED: [&str; 10] = ["e.g", "i.e", "vs", "cf", "etc", "Fig", "Figs", "Eq", "Sec", "St"];

/// Stands for a piece of code within a sentence; no page has this character.
const CODE: char = '\u{fffc}';

/// Pages with no author here or a rule of their own: `cli.md` is generated, and a note keeps the
/// words of its day.
const LEFT_OUT: [&str; 2] = ["docs/cli.md", "docs/notes"];

/// Whether the page at this path, from the repository's root on, keeps the rule.
pub(crate) fn covers(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md") && !LEFT_OUT.iter().any(|out| path.starts_with(out))
}

/// Everything in a page that breaks the rule: the line and the complaint, in the order of lines.
pub(crate) fn broken_in(page: &str) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    for unit in units(page) {
        broken.extend(unit.iter().filter_map(|&(number, line)| Some((number, too_wide(line)?))));
        broken.extend(sentences(&unit).iter().flat_map(Sentence::broken));
    }
    broken.sort_by_key(|&(number, _)| number);
    broken
}

/// The lines of a paragraph, a list item or a heading, with their numbers.
type Unit<'a> = Vec<(usize, &'a str)>;

/// The prose of a page, unit by unit.
fn units(page: &str) -> Vec<Unit<'_>> {
    let mut units = vec![Unit::new()];
    let (mut fenced, mut commented) = (false, false);
    for (number, line) in (1..).zip(page.lines()) {
        let text = line.trim_start();
        let fence = text.starts_with("```") || text.starts_with("~~~");
        fenced ^= fence;
        commented |= text.starts_with("<!--");
        let prose = !fence && !fenced && !commented && !text.is_empty() && !text.starts_with('|');
        commented &= !line.contains("-->");
        let heading = text.starts_with('#');
        if !prose || heading || begins_item(text) {
            units.push(Unit::new());
        }
        if prose {
            units.last_mut().expect("there is one from the beginning").push((number, line));
        }
        if heading {
            units.push(Unit::new());
        }
    }
    units.retain(|unit| !unit.is_empty());
    units
}

/// Whether a line begins an item of a list.
fn begins_item(text: &str) -> bool {
    let (mark, rest) = text.split_once(' ').unwrap_or((text, ""));
    let numbered = mark.strip_suffix('.').is_some_and(|number| number.parse::<u32>().is_ok());
    (numbered || ["-", "*", "+"].contains(&mark)) && !rest.is_empty()
}

/// Complains of a line that is too wide, unless it has no place to break at, as a long address has
/// none.
fn too_wide(line: &str) -> Option<String> {
    let width = line.chars().count();
    let pieces = line.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
    (width > WIDEST && pieces > 1).then(|| format!("{width} characters; a line of prose has at most {WIDEST}"))
}

/// A sentence: its words, the number of its first line, and whether it asks.
struct Sentence {
    line: usize,
    words: Vec<String>,
    asks: bool,
}

impl Sentence {
    fn broken(&self) -> Vec<(usize, String)> {
        let begins = |with: &&[&str]| {
            with.len() <= self.words.len()
                && with.iter().zip(&self.words).all(|(word, own)| own.eq_ignore_ascii_case(word))
        };
        let start = self.words.iter().take(4).map(String::as_str).collect::<Vec<_>>().join(" ").replace(CODE, "`…`");
        let mut broken = Vec::new();
        if self.words.len() > LONGEST {
            broken.push(format!("a sentence of {} words, at most {LONGEST}: \"{start} …\"", self.words.len()));
        }
        if !self.asks && NAMELESS.iter().any(begins) {
            broken.push(format!("a sentence without a named subject: \"{start} …\""));
        }
        for person in self.words.iter().filter(|word| PERSONS.contains(&word.to_lowercase().as_str())) {
            broken.push(format!("\"{person}\" in the sentence \"{start} …\": a thread or a program is `it`"));
        }
        broken.into_iter().map(|wrong| (self.line, wrong)).collect()
    }
}

/// The sentences of a unit. One ends with a full stop, a question mark or an exclamation mark, if
/// the next word looks like the beginning of another.
fn sentences(unit: &Unit<'_>) -> Vec<Sentence> {
    let text = masked(&unit.iter().map(|&(_, line)| line).collect::<Vec<_>>().join("\n"));
    let lines = unit.iter().map(|&(number, _)| number).zip(text.split('\n'));
    let pieces: Vec<(usize, &str)> =
        lines.flat_map(|(number, line)| line.split_whitespace().map(move |piece| (number, piece))).collect();
    let mut sentences = Vec::new();
    let mut open: Option<Sentence> = None;
    for (at, &(line, piece)) in pieces.iter().enumerate() {
        let word = piece.trim_matches(|letter: char| !letter.is_alphanumeric() && letter != CODE);
        let number_of_item = at == 0 && begins_item(&format!("{piece} x"));
        if !word.is_empty() && !number_of_item {
            let sentence = open.get_or_insert_with(|| Sentence { line, words: Vec::new(), asks: false });
            sentence.words.push(word.to_owned());
        }
        let end = piece.trim_end_matches(|letter: char| "*_)\"”’]".contains(letter)).chars().last();
        if !matches!(end, Some('.' | '?' | '!')) || end == Some('.') && shortened(word) {
            continue;
        }
        if pieces.get(at + 1).is_none_or(|&(_, next)| begins_sentence(next)) {
            sentences.extend(open.take().map(|sentence| Sentence { asks: end == Some('?'), ..sentence }));
        }
    }
    sentences.extend(open);
    sentences
}

/// Whether a full stop behind this word is part of it: an abbreviation, or the initial of a name.
fn shortened(word: &str) -> bool {
    SHORTENED.contains(&word) || word.chars().count() == 1 && word.chars().all(char::is_uppercase)
}

/// Whether a sentence may begin with this piece.
fn begins_sentence(piece: &str) -> bool {
    let first = piece.chars().find(|letter| letter.is_alphanumeric() || *letter == CODE);
    first.is_none_or(|letter| !letter.is_lowercase())
}

/// The text with each piece of code as one character, and without the targets of links. Line breaks
/// stay, so that a word still tells its line.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', ']']) {
        let (before, from) = rest.split_at(at);
        masked.push_str(before);
        let closed = if from.starts_with('`') { code(from) } else { target(from) };
        let length = closed.unwrap_or(1);
        match (from.starts_with('`'), closed) {
            (true, Some(_)) => masked.push(CODE),
            (true, None) | (false, Some(_)) => {}
            (false, None) => masked.push(']'),
        }
        masked.extend(from[..length].chars().filter(|&letter| letter == '\n'));
        rest = &from[length..];
    }
    masked + rest
}

/// The length of the code that begins this text, if it ends.
fn code(text: &str) -> Option<usize> {
    let marks = text.len() - text.trim_start_matches('`').len();
    let end = text[marks..].find(&text[..marks])?;
    Some(marks + end + marks)
}

/// The length of the link target that begins this text at the bracket before it.
fn target(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("](")?;
    Some(inside.find(')')? + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Complaints of a page, without the numbers of its lines.
    fn found(page: &str) -> Vec<String> {
        broken_in(page).into_iter().map(|(_, wrong)| wrong).collect()
    }

    /// The same without complaints of width, for sentences that would take several lines.
    fn read(page: &str) -> Vec<String> {
        found(page).into_iter().filter(|wrong| !wrong.contains("a line of prose has")).collect()
    }

    /// So many words, as one sentence.
    fn words(count: usize) -> String {
        format!("Blocks{}.", " wait".repeat(count - 1))
    }

    #[test]
    fn a_line_of_prose_fits_and_other_lines_need_not() {
        let wide = format!("{} a", "a".repeat(99));
        let fits = format!("{} é", "a".repeat(98));
        assert_eq!(found(&wide), ["101 characters; a line of prose has at most 100"]);
        assert_eq!(found(&format!("# {wide}")), ["103 characters; a line of prose has at most 100"]);
        assert_eq!(found(&fits), [""; 0]);
        let address = "https://host/".repeat(12);
        for page in [
            format!("```sh\n{wide}\n```"),
            format!("- item\n\n  ```text\n  {wide}\n  ```"),
            format!("| a | b |\n| --- | --- |\n| {wide} | b |"),
            format!("<!-- {wide}\n{wide} -->"),
            format!("- {address}"),
        ] {
            assert_eq!(found(&page), [""; 0], "{page}");
        }
    }

    #[test]
    fn what_follows_code_and_comments_is_prose_again() {
        let wide = format!("{} a", "a".repeat(99));
        for before in ["```sh\nls\n```\n", "<!-- a -->\n", "| a |\n", "~~~\nls\n~~~\n"] {
            assert_eq!(found(&format!("{before}{wide}")).len(), 1, "{before}");
        }
    }

    #[test]
    fn a_sentence_has_at_most_so_many_words() {
        assert_eq!(read(&words(35)), [""; 0]);
        assert_eq!(read(&words(36)), ["a sentence of 36 words, at most 35: \"Blocks wait wait wait …\""]);
        // Over several lines; the number is that of its first one.
        let long = words(36).replacen("wait wait", "wait\nwait", 2);
        let number =
            |page: &str| broken_in(page).iter().find(|(_, wrong)| wrong.contains("words")).map(|&(line, _)| line);
        assert_eq!(number(&format!("A block waits.\n\nIt comes.\n{long}")), Some(4));
        // Items, headings and paragraphs end a sentence without a full stop.
        let half = words(20).replace('.', "");
        for page in [
            format!("- {half}\n- {half}"),
            format!("# {half}\n{half}"),
            format!("{half}\n\n{half}"),
            format!("1. {half}\n2. {half}"),
        ] {
            assert_eq!(read(&page), [""; 0], "{page}");
        }
    }

    #[test]
    fn a_full_stop_within_a_sentence_does_not_end_it() {
        let half = words(20).replace('.', "");
        for middle in ["1.5", "e.g.", "Fig. 3", "(docs/auto.md)", "`a. B`", "E. Young", "… and", "a, i.e. a"] {
            assert_eq!(read(&format!("{half} {middle} {half}.")).len(), 1, "{middle}");
        }
        for end in ["it.", "it!", "(it.)", "**it.**", "`it`.", "[it](a.md)."] {
            assert_eq!(read(&format!("{half} {end} {half}.")), [""; 0], "{end}");
        }
        assert_eq!(read(&format!("{half}. `code` {half}.")), [""; 0]);
    }

    #[test]
    fn code_is_one_word_and_the_target_of_a_link_none() {
        let most = words(34);
        assert_eq!(read(&most.replace("Blocks", "Blocks `a b\nc d e`")), [""; 0]);
        assert_eq!(read(&most.replace("Blocks", "Blocks [page](a%20b.md)")), [""; 0]);
        assert_eq!(read(&most.replace("Blocks", "Blocks ``a ` b c``")), [""; 0]);
        // A mark that is never closed is read as text.
        assert_eq!(read(&words(36).replace("Blocks", "Blocks`")).len(), 1);
        assert_eq!(read("A list ] of blocks."), [""; 0]);
    }

    #[test]
    fn a_sentence_names_its_subject() {
        for page in [
            "What is not wanted goes.",
            "It comes. What is not wanted goes.",
            "Who reads waits.",
            "**Whoever reads** waits.",
            "Of what is kept some goes.",
            "## What it does",
            "- Of whom it is said.",
        ] {
            let broken = found(page);
            assert!(broken.len() == 1 && broken[0].contains("without a named subject"), "{page}: {broken:?}");
        }
        for page in
            ["What would more memory do?", "Whose memory it is.", "A reader sees what it wants.", "`what` is a word."]
        {
            assert_eq!(found(page), [""; 0], "{page}");
        }
    }

    #[test]
    fn a_program_is_it() {
        for page in
            ["A reader has his frames.", "(He waits.)", "It waits for\nhim.", "A reader has the disk to himself."]
        {
            assert!(found(page).len() == 1 && found(page)[0].contains("is `it`"), "{page}");
        }
        assert_eq!(found("This head is there; see `his` and [it](his.md)."), [""; 0]);
    }

    #[test]
    fn some_pages_are_left_out() {
        for path in ["README.md", "docs/auto.md", "docs/semantics.md", "crates/a/src/b.md"] {
            assert!(covers(Path::new(path)), "{path}");
        }
        for path in ["docs/cli.md", "docs/notes/2026-11-26-a.md", "docs/a.svg", "src/lib.rs"] {
            assert!(!covers(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn no_page_makes_it_panic() {
        for page in
            ["", "`", "``", "](", "](a", "# ", "-", "1.", "```", "<!--", "|", "é`é", "]\n(", "`\n", "a.\u{301} B"]
        {
            broken_in(page);
        }
    }
}
