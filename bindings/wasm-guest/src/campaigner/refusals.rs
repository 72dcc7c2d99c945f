//! A component's refusals of its host, with their texts: from `bindings/schema/refusals.toml`.

use incumbent_core::campaign::InvalidSettings;
use incumbent_core::text::Text;

// generated: refusals
/// Refuses a host's clock that a leader cannot trust.
pub(crate) fn clock() -> InvalidSettings {
    InvalidSettings {
        setting: "clock",
        value: "a clock that may stop while the machine is suspended".into(),
        limit: Text::from("a clock that counts suspension"),
        remedy: Text::from("have the host read CLOCK_BOOTTIME on Linux, mach_continuous_time on macOS, or QueryPerformanceCounter on Windows, and answer counts-suspension with true"),
    }
}

// end of refusals
