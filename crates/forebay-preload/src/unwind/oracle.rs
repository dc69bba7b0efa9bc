//! Our reading of unwind tables against gimli's, at both ends of every row of every table of the
//! modules that the tests run with.

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EndianSlice, NativeEndian, RegisterRule, UnwindContext, UnwindSection,
    X86_64,
};

use super::cfi::rule_for;
use super::module::{Module, module_of, prepare};
use super::rule::{Base, Rule, Saved};

type Tables = EhFrame<EndianSlice<'static, NativeEndian>>;
const ENCODING: gimli::Encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 4 };

type Row = gimli::UnwindTableRow<usize>;

/// A word at `rbp + n`, with or without being followed: the two expressions that compilers write.
fn expression(tables: &Tables, expression: gimli::UnwindExpression<usize>) -> Option<(i64, bool)> {
    let mut operations = expression.get(tables).unwrap().operations(ENCODING);
    let gimli::Operation::RegisterOffset { register: X86_64::RBP, offset, .. } = operations.next().unwrap()? else {
        return None;
    };
    match (operations.next().unwrap(), operations.next().unwrap()) {
        (None, None) => Some((offset, false)),
        (Some(gimli::Operation::Deref { space: false, size: 8, .. }), None) => Some((offset, true)),
        _ => None,
    }
}

/// The rule that a row of gimli's makes.
fn wanted(tables: &Tables, row: &Row) -> Option<Rule> {
    if row.register(X86_64::RA) != Some(RegisterRule::Offset(-8)) {
        return None;
    }
    let (base, offset) = match row.cfa() {
        CfaRule::RegisterAndOffset { register: X86_64::RSP, offset } => (Base::Stack, *offset),
        CfaRule::RegisterAndOffset { register: X86_64::RBP, offset } => (Base::Frame, *offset),
        CfaRule::Expression(code) => (Base::Deref, expression(tables, *code).filter(|(_, followed)| *followed)?.0),
        _ => return None,
    };
    let (saved, at) = match row.register(X86_64::RBP) {
        None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => (Saved::Same, 0),
        Some(RegisterRule::Offset(at)) => (Saved::Frame, at),
        Some(RegisterRule::Expression(code)) => {
            (Saved::Base, expression(tables, code).filter(|(_, followed)| !*followed)?.0)
        }
        _ => return None,
    };
    Some(Rule::new(base, i32::try_from(offset).ok()?, saved, i16::try_from(at).ok()?))
}

/// Compares all rows of a module; returns how many there are, and how many of them have a rule.
fn compare(module: &Module) -> (usize, usize) {
    let head = module.bytes(module.tables, 12).unwrap();
    assert_eq!(head[1], 0x1b, "an unusual .eh_frame_hdr");
    let begin =
        module.tables.wrapping_add(4).wrapping_add_signed(i32::from_le_bytes(head[4..8].try_into().unwrap()) as isize);
    let bytes = module.bytes(begin, module.end - begin).unwrap();
    let tables = EhFrame::new(bytes, NativeEndian);
    let bases = BaseAddresses::default().set_eh_frame(begin as u64);
    let (mut entries, mut context) = (tables.entries(&bases), UnwindContext::new());
    let (mut rows, mut ruled) = (0, 0);
    while let Some(entry) = entries.next().unwrap() {
        let CieOrFde::Fde(description) = entry else { continue };
        let description = description.parse(Tables::cie_from_offset).unwrap();
        let mut table = description.rows(&tables, &bases, &mut context).unwrap();
        while let Some(row) = table.next_row().unwrap() {
            let rule = wanted(&tables, row).filter(|_| !description.is_signal_trampoline());
            // The last row ends where the function does.
            let (first, last) = (row.start_address(), row.end_address().min(description.end_address()) - 1);
            if row.start_address() > last {
                continue;
            }
            for pc in [first, last] {
                assert_eq!(
                    rule_for(module, pc as usize),
                    rule,
                    "at {:#x} of {:?}",
                    pc as usize - module.base,
                    module.name()
                );
            }
            rows += 1;
            ruled += usize::from(rule.is_some());
        }
    }
    (rows, ruled)
}

#[test]
fn rules_are_those_that_gimli_reads() {
    prepare();
    // SAFETY: names of libraries, most of which every Debian has.
    let handles = [c"libstdc++.so.6", c"libm.so.6", c"libcrypto.so.3", c"libpython3.11.so.1.0"]
        .map(|name| unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) });
    let symbols = [c"__cxa_throw", c"cos", c"EVP_DigestUpdate", c"Py_Main"];
    let mut addresses =
        vec![rules_are_those_that_gimli_reads as *const () as usize, libc::getpid as *const () as usize];
    for (handle, symbol) in handles.into_iter().zip(symbols).filter(|(handle, _)| !handle.is_null()) {
        // SAFETY: an open library.
        addresses.push(unsafe { libc::dlsym(handle, symbol.as_ptr()) } as usize);
    }
    for address in addresses {
        let module = module_of(address).unwrap();
        let (rows, ruled) = compare(&module);
        println!("{:?}: {rows} rows, {ruled} with a rule", module.name());
        assert!(rows > 1000 && ruled * 100 > rows * 98, "{rows} rows, {ruled} with a rule in {:?}", module.name());
    }
}

/// Reading ends for any bytes in the tables, and gives some answer.
#[test]
fn damaged_tables_are_read_without_harm() {
    prepare();
    let module = module_of(libc::getpid as *const () as usize).unwrap();
    let tables = module.bytes(module.tables, module.end - module.tables).unwrap();
    // The parts of header and tables that belong to the first functions.
    let head = i32::from_le_bytes(tables[4..8].try_into().unwrap()) as usize + 4;
    let (mut copy, mut random) = (tables[..(head + 20_000).min(tables.len())].to_vec(), 7u64);
    let mut next = |below: usize| {
        random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (forebay_callers::mix(random) % below as u64) as usize
    };
    let start = copy.as_ptr() as usize;
    let copied = Module { start, end: start + copy.len(), base: start, tables: start, name: std::ptr::null() };
    // The table of functions is relative to itself, so that addresses moved with it.
    let moved = start.wrapping_sub(module.tables);
    let first = module.tables.wrapping_add_signed(i32::from_le_bytes(tables[12..16].try_into().unwrap()) as isize);
    let known = (0..5000).filter(|offset| rule_for(&copied, (first + offset).wrapping_add(moved)).is_some()).count();
    assert!(known > 1000, "{known} addresses have a rule");
    for _ in 0..200_000 {
        let at = if next(8) == 0 { next(12) } else { head + next(copy.len() - head) };
        let before = copy[at];
        // Through a pointer, since the copy is also read through one.
        // SAFETY: within the copy, which nothing else refers to at the moment.
        unsafe { copy.as_mut_ptr().add(at).write_volatile(next(256) as u8) };
        for _ in 0..4 {
            let _ = rule_for(&copied, (first + next(5000)).wrapping_add(moved));
        }
        if next(50) != 0 {
            // SAFETY: as above.
            unsafe { copy.as_mut_ptr().add(at).write_volatile(before) };
        }
    }
}
