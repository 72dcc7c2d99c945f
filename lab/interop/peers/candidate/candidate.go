// Package candidate makes a library's lock take part in a comparison like the candidates in the other folders, and
// prints what happens as one JSON object a line:
//
//	{"t":812345678901234,"wall":1767225600000000000,"name":"go-1","event":"elected"}
//
// t is the machine's suspend-aware clock in nanoseconds, wall the Unix time in nanoseconds. It reads commands from its
// standard input, a line each: "resign", "campaign" and "close", which releases the lock and ends the program, as does
// the end of its input.
//
// With a probe it also asks the lock at that interval whether it is held, and prints "led" with the time of the last
// question to which the answer was yes.
package candidate

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/incumbent-rs/incumbent/lab/interop/peers/boottime"
)

// Lock is the lock of a library.
type Lock interface {
	// Acquire blocks until the lock is held.
	Acquire(ctx context.Context) error
	// Release gives it up.
	Release(ctx context.Context) error
	// Held reports whether the lock that was acquired last is still held, as far as the library knows without a
	// request. It may be called by any goroutine.
	Held() bool
	// Lost is closed when the lock that was acquired last is no longer held. It is nil if the library does not
	// report that.
	Lost() <-chan struct{}
}

// event is one line of the output.
type event struct {
	T     int64  `json:"t"`
	Wall  int64  `json:"wall"`
	Name  string `json:"name"`
	Event string `json:"event"`
}

// Run competes for the lock until it is lost or closed. If probe is not 0, it is the interval between two
// questions whether the lock is held.
func Run(name string, lock Lock, probe time.Duration) error {
	out := json.NewEncoder(os.Stdout)
	var printing sync.Mutex
	sayAt := func(at int64, what string) {
		printing.Lock()
		defer printing.Unlock()
		if err := out.Encode(event{at, time.Now().UnixNano(), name, what}); err != nil {
			// The reader of the output has closed it.
			os.Exit(1)
		}
	}
	say := func(what string) { sayAt(boottime.Now(), what) }
	var probing sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	// The probe prints its last line before the program ends.
	defer func() {
		cancel()
		probing.Wait()
	}()
	lines := commands()
	acquired := make(chan error, 1)
	campaigning, leads := false, false
	campaign := func() {
		campaigning = true
		say("campaigning")
		go func() { acquired <- lock.Acquire(ctx) }()
	}
	campaign()
	for {
		var lost <-chan struct{}
		if leads {
			lost = lock.Lost()
		}
		select {
		case err := <-acquired:
			campaigning = false
			if err != nil {
				return fmt.Errorf("acquire: %w", err)
			}
			leads = true
			say("elected")
			if probe > 0 {
				probing.Go(func() { sayAt(untilLost(ctx, lock, probe), "led") })
			}
		case <-lost:
			say("lost")
			return nil
		case line, open := <-lines:
			switch {
			case !open || line == "close":
				say("closing")
				if leads {
					if err := lock.Release(ctx); err != nil {
						return fmt.Errorf("release: %w", err)
					}
				}
				say("closed")
				return nil
			case line == "resign" && leads:
				say("resigning")
				leads = false
				if err := lock.Release(ctx); err != nil {
					return fmt.Errorf("release: %w", err)
				}
				say("resigned")
			case line == "campaign" && !campaigning && !leads:
				campaign()
			default:
				return fmt.Errorf("not a command, or not possible now: %q", line)
			}
		}
	}
}

// untilLost asks repeatedly until the lock is not held, and returns the time of the last yes. The clock is read before
// each question, so the answer is at least as recent as the reported time, however long the program was stopped between
// reading and asking.
func untilLost(ctx context.Context, lock Lock, interval time.Duration) int64 {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	last := boottime.Now()
	for {
		at := boottime.Now()
		if !lock.Held() {
			return last
		}
		last = at
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return last
		}
	}
}

// commands are the lines of the standard input.
func commands() <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(os.Stdin); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}
