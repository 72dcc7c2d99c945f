//! Records as messages: a written record reads back, and any message or answer is read.

mod answers;
mod found;
mod written;

/// The fuzz target. The first byte selects the meaning of the others.
pub fn run(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    match kind {
        b'w' => written::run(bytes),
        b'f' => found::run(bytes),
        b'a' => answers::of_a_write(bytes),
        b'r' => answers::of_a_roll_call(bytes),
        b's' => answers::of_an_inspection(bytes),
        _ => {}
    }
}
