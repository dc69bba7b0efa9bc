//! From a module's unwind tables (`.eh_frame_hdr`, `.eh_frame`) to one rule for one address.
//!
//! The tables can say more, but only this is needed: where the caller's frame begins (the CFA),
//! that the return address lies just below, and where the caller's `rbp` is. Compilers' tables fit;
//! at anything else the walk ends.

use super::module::Module;
use super::rule::{Base, Rule, Saved};

const RBP: u64 = 6;
const RSP: u64 = 7;
const RETURN: u64 = 16;

/// The rule for `pc` in `module`; `None` if its tables have none, or none that is understood.
pub(crate) fn rule_for(module: &Module, pc: usize) -> Option<Rule> {
    let description = search(module, pc)?;
    let length = |at: usize| -> Option<usize> {
        let length = u32::from_le_bytes(module.bytes(at, 4)?.try_into().ok()?);
        // 64-bit lengths are for tables beyond 4 GiB.
        (length != u32::MAX).then_some(length as usize)
    };
    let mut bytes = Bytes::of(module, description + 4, length(description)?)?;
    let pointer = bytes.at();
    let common = pointer.checked_sub(bytes.fixed::<4>().map(u32::from_le_bytes)? as usize)?;
    let common = Common::parse(Bytes::of(module, common + 4, length(common)?)?)?;
    let begin = bytes.pointer(common.encoding)?;
    // How many addresses: in the same form, but not relative.
    let count = bytes.pointer(common.encoding & 0x0f)?;
    if !(begin..begin.checked_add(count)?).contains(&pc) || common.signal {
        return None;
    }
    if common.augmented {
        let skip = bytes.unsigned()?;
        bytes.skip(skip as usize)?;
    }
    let mut row = Row::default();
    let mut machine =
        Machine { common, pc, row: &mut row, initial: Row::default(), kept: [Row::default(); 4], depth: 0 };
    machine.run(common.instructions, 0)?;
    machine.initial = *machine.row;
    machine.run(bytes, begin)?;
    row.rule()
}

/// The frame description that covers `pc`, by the sorted table of `.eh_frame_hdr`.
fn search(module: &Module, pc: usize) -> Option<usize> {
    // Version 1; relative 4-byte pointer to the tables; a 4-byte count; 4-byte offsets from this
    // header: as all linkers write it.
    let head = module.bytes(module.tables, 12).filter(|_| module.tables != 0)?;
    if head[0] != 1 || head[2] != 0x03 || head[3] != 0x3b {
        return None;
    }
    // The pointer to `.eh_frame` may have any of the encodings of four bytes.
    if !matches!(head[1] & 0x0f, 0x03 | 0x0b) {
        return None;
    }
    let count = u32::from_le_bytes(head[8..12].try_into().ok()?) as usize;
    let table = module.bytes(module.tables + 12, count.checked_mul(8)?)?;
    let place = |index: usize, field: usize| {
        let offset = table[index * 8 + field..][..4].try_into().map_or(0, i32::from_le_bytes);
        module.tables.wrapping_add_signed(offset as isize)
    };
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if place(middle, 0) <= pc { low = middle + 1 } else { high = middle }
    }
    (low > 0).then(|| place(low - 1, 4))
}

/// The part that frame descriptions share (the CIE).
#[derive(Clone, Copy)]
struct Common {
    code: u64,
    data: i64,
    encoding: u8,
    augmented: bool,
    signal: bool,
    instructions: Bytes,
}

impl Common {
    fn parse(mut bytes: Bytes) -> Option<Common> {
        if bytes.fixed::<4>()? != [0; 4] {
            return None;
        }
        let version = bytes.byte()?;
        let mut augmentation = [0; 8];
        let mut letters = 0;
        loop {
            match bytes.byte()? {
                0 => break,
                letter => *augmentation.get_mut(letters)? = letter,
            }
            letters += 1;
        }
        let (code, data) = (bytes.unsigned()?, bytes.signed()?);
        let column = if version == 1 { u64::from(bytes.byte()?) } else { bytes.unsigned()? };
        if !matches!(version, 1 | 3) || column != RETURN {
            return None;
        }
        let mut common = Common { code, data, encoding: 0, augmented: false, signal: false, instructions: bytes };
        for letter in &augmentation[..letters] {
            match letter {
                b'z' => {
                    common.augmented = true;
                    let len = bytes.unsigned()? as usize;
                    common.instructions = bytes;
                    common.instructions.skip(len)?;
                }
                b'R' => common.encoding = bytes.byte()?,
                b'P' => {
                    let encoding = bytes.byte()?;
                    bytes.pointer(encoding & 0x7f)?;
                }
                b'L' => drop(bytes.byte()?),
                b'S' => common.signal = true,
                b'B' => {}
                _ => return None,
            }
        }
        if !common.augmented {
            common.instructions = bytes;
        }
        Some(common)
    }
}

/// Where a register of the caller is.
#[derive(Clone, Copy, PartialEq, Default)]
enum Place {
    /// Unchanged.
    #[default]
    Same,
    /// At an offset from the CFA.
    Offset(i64),
    /// Where `rbp` points to, at an offset.
    AtBase(i64),
    /// Lost.
    Undefined,
    /// At a place that is not followed.
    Elsewhere,
}

/// Where the CFA is.
#[derive(Clone, Copy, Default)]
enum Frame {
    /// A register and an offset.
    Register(u64, i64),
    /// The word at `rbp` and an offset: frames whose stack was realigned.
    Deref(i64),
    #[default]
    Elsewhere,
}

/// The row of the table for one address.
#[derive(Clone, Copy, Default)]
struct Row {
    frame: Frame,
    bp: Place,
    back: Place,
}

impl Row {
    fn place(&mut self, register: u64) -> Option<&mut Place> {
        match register {
            RBP => Some(&mut self.bp),
            RETURN => Some(&mut self.back),
            _ => None,
        }
    }

    fn rule(&self) -> Option<Rule> {
        if self.back != Place::Offset(-8) {
            return None;
        }
        let (base, offset) = match self.frame {
            Frame::Register(RSP, offset) => (Base::Stack, offset),
            Frame::Register(RBP, offset) => (Base::Frame, offset),
            Frame::Deref(offset) => (Base::Deref, offset),
            _ => return None,
        };
        let (saved, at) = match self.bp {
            // Lost means that the caller does not need it.
            Place::Same | Place::Undefined => (Saved::Same, 0),
            Place::Offset(at) => (Saved::Frame, at),
            Place::AtBase(at) => (Saved::Base, at),
            Place::Elsewhere => return None,
        };
        Some(Rule::new(base, offset.try_into().ok()?, saved, at.try_into().ok()?))
    }
}

/// Runs the instructions of a table until the address of interest.
struct Machine<'a> {
    common: Common,
    pc: usize,
    row: &'a mut Row,
    initial: Row,
    kept: [Row; 4],
    depth: usize,
}

impl Machine<'_> {
    fn set(&mut self, register: u64, place: Place) {
        if let Some(of) = self.row.place(register) {
            *of = place;
        }
    }

    /// Runs `code`, which begins at address `at`. `None` if an instruction is not understood.
    fn run(&mut self, mut code: Bytes, mut at: usize) -> Option<()> {
        while let Some(instruction) = code.byte() {
            let low = u64::from(instruction & 0x3f);
            match instruction >> 6 {
                1 => at = at.checked_add(low.checked_mul(self.common.code)? as usize)?,
                2 => {
                    let offset = code.unsigned()?;
                    self.set(low, Place::Offset(self.scaled(offset)?));
                }
                3 => self.restore(low),
                _ => match instruction {
                    0x01 => at = code.pointer(self.common.encoding)?,
                    0x02 => at = self.advanced(at, u64::from(code.byte()?))?,
                    0x03 => at = self.advanced(at, u64::from(u16::from_le_bytes(code.fixed()?)))?,
                    0x04 => at = self.advanced(at, u64::from(u32::from_le_bytes(code.fixed()?)))?,
                    other => self.other(other, &mut code)?,
                },
            }
            if at > self.pc {
                return Some(());
            }
        }
        Some(())
    }

    fn advanced(&self, at: usize, by: u64) -> Option<usize> {
        at.checked_add(by.checked_mul(self.common.code)? as usize)
    }

    fn scaled(&self, offset: u64) -> Option<i64> {
        i64::try_from(offset).ok()?.checked_mul(self.common.data)
    }

    fn restore(&mut self, register: u64) {
        let place = self.initial.place(register).map(|place| *place);
        place.into_iter().for_each(|place| self.set(register, place));
    }

    /// The instructions that do not move on, by their numbers in DWARF §7.24.
    fn other(&mut self, instruction: u8, code: &mut Bytes) -> Option<()> {
        match instruction {
            0x00 => {}
            // remember_state, restore_state
            0x0a => {
                *self.kept.get_mut(self.depth)? = *self.row;
                self.depth += 1;
            }
            0x0b => {
                self.depth = self.depth.checked_sub(1)?;
                *self.row = self.kept[self.depth];
            }
            0x0c..=0x0f | 0x12 | 0x13 => self.row.frame = self.defined(instruction, code)?,
            // GNU_args_size
            0x2e => drop(code.unsigned()?),
            // restore_extended
            0x06 => {
                let register = code.unsigned()?;
                self.restore(register);
            }
            _ => {
                let register = code.unsigned()?;
                let place = self.placed(instruction, code)?;
                self.set(register, place);
            }
        }
        Some(())
    }

    /// The instructions that say where a register is saved, which they have named.
    fn placed(&self, instruction: u8, code: &mut Bytes) -> Option<Place> {
        Some(match instruction {
            // offset_extended, and its signed sibling
            0x05 => Place::Offset(self.scaled(code.unsigned()?)?),
            0x11 => Place::Offset(self.signed(code)?),
            // undefined, same_value
            0x07 => Place::Undefined,
            0x08 => Place::Same,
            // register; val_offset, val_offset_sf
            0x09 | 0x14 => code.unsigned().map(|_| Place::Elsewhere)?,
            0x15 => code.signed().map(|_| Place::Elsewhere)?,
            // expression, val_expression
            0x10 => code.expression()?.base().map_or(Place::Elsewhere, Place::AtBase),
            0x16 => code.expression().map(|_| Place::Elsewhere)?,
            _ => return None,
        })
    }

    /// The instructions that define the frame: def_cfa, def_cfa_register, def_cfa_offset, their
    /// signed siblings, and def_cfa_expression.
    fn defined(&self, instruction: u8, code: &mut Bytes) -> Option<Frame> {
        Some(match (instruction, self.row.frame) {
            (0x0c, _) => Frame::Register(code.unsigned()?, i64::try_from(code.unsigned()?).ok()?),
            (0x12, _) => Frame::Register(code.unsigned()?, self.signed(code)?),
            (0x0d, Frame::Register(_, offset)) => Frame::Register(code.unsigned()?, offset),
            (0x0e, Frame::Register(register, _)) => Frame::Register(register, i64::try_from(code.unsigned()?).ok()?),
            (0x13, Frame::Register(register, _)) => Frame::Register(register, self.signed(code)?),
            (0x0f, _) => code.expression()?.at_base().map_or(Frame::Elsewhere, Frame::Deref),
            _ => return None,
        })
    }

    fn signed(&self, code: &mut Bytes) -> Option<i64> {
        code.signed()?.checked_mul(self.common.data)
    }
}

/// A stretch of a module's tables that is read from the front.
#[derive(Clone, Copy)]
struct Bytes(&'static [u8]);

impl Bytes {
    fn of(module: &Module, at: usize, len: usize) -> Option<Bytes> {
        module.bytes(at, len).map(Bytes)
    }

    /// The address of the next byte.
    fn at(&self) -> usize {
        self.0.as_ptr() as usize
    }

    fn skip(&mut self, len: usize) -> Option<&'static [u8]> {
        let (front, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(front)
    }

    fn byte(&mut self) -> Option<u8> {
        self.skip(1).map(|byte| byte[0])
    }

    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.skip(N)?.try_into().ok()
    }

    /// LEB128; bits beyond 64 are dropped.
    fn unsigned(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
    }

    fn signed(&mut self) -> Option<i64> {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte()?;
            value |= i64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            shift += 7;
            if byte < 0x80 {
                let sign = if byte & 0x40 != 0 { (-1i64).checked_shl(shift).unwrap_or(0) } else { 0 };
                return Some(value | sign);
            }
        }
    }

    /// A pointer by its DW_EH_PE encoding: absolute or relative to its own address, not through
    /// another.
    fn pointer(&mut self, encoding: u8) -> Option<usize> {
        let base = match encoding & 0x70 {
            0x00 => 0,
            0x10 => self.at(),
            _ => return None,
        };
        let value = match encoding & 0x8f {
            0x00 | 0x04 | 0x0c => i64::from_le_bytes(self.fixed()?),
            0x01 => self.unsigned()? as i64,
            0x02 => i64::from(u16::from_le_bytes(self.fixed()?)),
            0x03 => i64::from(u32::from_le_bytes(self.fixed()?)),
            0x09 => self.signed()?,
            0x0a => i64::from(i16::from_le_bytes(self.fixed()?)),
            0x0b => i64::from(i32::from_le_bytes(self.fixed()?)),
            _ => return None,
        };
        Some(base.wrapping_add_signed(value as isize))
    }

    /// A DWARF expression, by its length.
    fn expression(&mut self) -> Option<Bytes> {
        let len = self.unsigned()?;
        self.skip(len as usize).map(Bytes)
    }

    /// `rbp + n`, if that is all the expression says (DW_OP_breg6).
    fn base(mut self) -> Option<i64> {
        let offset = (self.byte()? == 0x76).then(|| self.signed())??;
        self.0.is_empty().then_some(offset)
    }

    /// The word at `rbp + n`, if that is all the expression says (DW_OP_breg6, DW_OP_deref).
    fn at_base(self) -> Option<i64> {
        self.0.strip_suffix(&[0x06]).and_then(|rest| Bytes(rest).base())
    }
}
