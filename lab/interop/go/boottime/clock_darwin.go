package boottime

import "golang.org/x/sys/unix"

// mach_continuous_time.
const clock = unix.CLOCK_MONOTONIC_RAW
