//! Protobuf wire format: tags, varints and lengths.

use super::ProtobufError;

/// Payload of a field by wire type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum WireValue<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32(u32),
    Bytes(&'a [u8]),
}

/// Iterates over the fields of a message in encoded order, with their numbers.
pub(super) fn fields(
    mut rest: &[u8],
) -> impl Iterator<Item = Result<(u32, WireValue<'_>), ProtobufError>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let field = next(&mut rest);
        if field.is_none() {
            rest = &[];
        }
        Some(field.ok_or(ProtobufError::Truncated))
    })
}

fn next<'a>(rest: &mut &'a [u8]) -> Option<(u32, WireValue<'a>)> {
    let tag = varint(rest)?;
    let number = u32::try_from(tag >> 3).ok()?;
    let field = match tag & 7 {
        0 => WireValue::Varint(varint(rest)?),
        1 => WireValue::Fixed64(u64::from_le_bytes(take(rest, 8)?.try_into().ok()?)),
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            WireValue::Bytes(take(rest, length)?)
        }
        5 => WireValue::Fixed32(u32::from_le_bytes(take(rest, 4)?.try_into().ok()?)),
        _ => return None,
    };
    Some((number, field))
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

pub(super) fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, left) = rest.split_first()?;
        *rest = left;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Decodes a UTF-8 string.
pub(super) fn text(bytes: &[u8], field: &'static str) -> Result<String, ProtobufError> {
    String::from_utf8(bytes.to_vec()).map_err(|_| ProtobufError::Text(field))
}
