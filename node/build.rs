//! Asks the linker for what a Node addon needs.

fn main() {
    napi_build::setup();
}
