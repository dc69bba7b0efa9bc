//! The parts of a request over any bytes, for `forebay-fuzz`.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, UNIX_EPOCH};

use hyper::Request;
use hyper::header::{HeaderName, HeaderValue};

use crate::conditions::{self, Validators, Verdict};
use crate::guard::Names;
use crate::hint::Asked;
use crate::propfind::Depth;
use crate::ranges::Wanted;
use crate::target::{Target, escape};
use crate::token::Token;
use crate::{guard, labels, propfind};

/// The path of an address; returns how many names it has. They come back from their own address,
/// and none leads out of its folder.
pub fn target(path: &[u8]) -> usize {
    let Ok(target) = Target::parse(&String::from_utf8_lossy(path)) else { return 0 };
    let mut address = String::new();
    for name in &target.names {
        let bytes = name.as_bytes();
        assert!(!bytes.is_empty() && bytes != b"." && bytes != b"..", "{name:?}");
        assert!(!bytes.contains(&b'/') && !bytes.contains(&0), "{name:?}");
        let _ = write!(address, "/{}", escape(name));
    }
    if target.slash {
        address.push('/');
    }
    assert_eq!(Target::parse(&address).ok().map(|again| again.names), Some(target.names.clone()));
    target.names.len()
}

/// The header `Range` for a file whose length is the first eight bytes; returns how many ranges it
/// has. All lie within the file.
pub fn range(bytes: &[u8]) -> usize {
    let Some((size, value)) = bytes.split_first_chunk() else { return 0 };
    let size = u64::from_le_bytes(*size);
    match Wanted::of(&String::from_utf8_lossy(value), size) {
        Wanted::Parts(parts) => {
            assert!(parts.iter().all(|part| part.start < part.end && part.end <= size), "{parts:?} of {size}");
            parts.len()
        }
        Wanted::Whole | Wanted::Nothing => 0,
    }
}

/// The headers of a request, a line each; returns a number for what they ask.
pub fn headers(lines: &[u8]) -> usize {
    let mut request = Request::new(());
    for line in lines.split(|&byte| byte == b'\n') {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let name = HeaderName::from_bytes(&line[..colon]);
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(line[colon + 1..].trim_ascii())) {
            let _ = request.headers_mut().try_append(name, value);
        }
    }
    let head = request.into_parts().0;
    let file = Validators { tag: "\"t\"".into(), modified: UNIX_EPOCH + Duration::from_secs(784_111_777) };
    let own = Names::Own("data.example".parse().into_iter().collect());
    let token = Token::new("0123456789abcdef");
    let label = labels::of(&head.headers, forebay_core::level::Labels::Hits, &(1000..2000));
    if let Ok(Some(label)) = &label {
        assert!(label.demand.start >= 1000 && label.demand.end <= 2000, "{label:?}");
    }
    let asked = [
        conditions::verdict(&head.headers, &file) == Verdict::Go,
        conditions::range(&head.headers, &file).is_some(),
        label.is_ok_and(|label| label.is_some()),
        Depth::of(&head.headers).is_ok(),
        own.admit(&head).is_ok(),
        guard::same_site(&head).is_ok(),
        token.is_ok_and(|token| token.shown_in(&head.headers)),
        propfind::listed_for(&head.headers)("a\n".as_ref()),
    ];
    asked.iter().fold(0, |number, &yes| number * 2 + usize::from(yes))
}

/// The query of told names; returns whether it names a list and a mode.
pub fn query(text: &[u8]) -> bool {
    Asked::of(&String::from_utf8_lossy(text)).is_ok()
}
