#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| incumbent_fuzz::secrets::url(data));
