// Package boottime reads a clock that all programs of a machine share and that also counts the time of suspension. The
// Rust side reads the same clock, so events of both fit on one time line.
package boottime

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Now is the time since the machine started, in nanoseconds.
func Now() int64 {
	// CLOCK_BOOTTIME on Linux; on macOS CLOCK_MONOTONIC_RAW, which is mach_continuous_time.
	clock := int32(7)
	if runtime.GOOS == "darwin" {
		clock = 4
	}
	var now unix.Timespec
	if err := unix.ClockGettime(clock, &now); err != nil {
		panic("this system has no suspend-aware clock: " + err.Error())
	}
	return now.Nano()
}
