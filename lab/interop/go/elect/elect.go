// Package elect is a candidate that follows the published rules of the Go library nats-kv-leader-elect, on the official
// NATS client. Incumbent has to share elections with such candidates. The rules are no example to follow: a candidate
// never releases, and takes every failure for a loss.
//
//   - A candidate wins by a Create of the key; the value is the candidate's bare name.
//   - The leader keeps the key by an Update with the last revision, every 0.75 TTL; candidates try to win as often.
//   - Any Update that fails is a loss. Nothing is ever deleted.
//   - Won is reported 0.75 TTL + 50 ms after the Create, so that a previous leader has noticed.
//   - Before its first attempt a candidate waits a random part of 0.75 TTL.
package elect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Kind is the kind of an event.
type Kind string

// The events of a candidate.
const (
	// Candidate: an attempt to win has failed.
	Candidate Kind = "candidate"
	// Leading: this candidate holds the key at this revision, by a Create or an Update.
	Leading Kind = "leading"
	// Won: leadership is reported. For the library's user, leading begins here.
	Won Kind = "won"
	// Lost: leadership is over, whether it had been reported or not.
	Lost Kind = "lost"
)

const (
	// The time that the library waits in addition to an interval before it reports a win.
	grace = 50 * time.Millisecond
	// The time limit of a client call, for the library's shortest TTL.
	callTimeout = 5 * time.Second
	shortestTTL = 30 * time.Second
)

// Config has the settings of a candidate.
type Config struct {
	Bucket jetstream.KeyValue
	Key    string
	Name   string
	// TTL is the bucket's TTL. Only tests may go below the library's 30 s.
	TTL time.Duration
	// NoSplay starts the first attempt at once.
	NoSplay bool
	// Told receives every event, in order, on the candidate's goroutine. The revision is 0 if this candidate does not
	// hold the key.
	Told func(kind Kind, revision uint64)
}

// Interval is the time between two attempts, of a leader and of a candidate.
func Interval(ttl time.Duration) time.Duration {
	return ttl * 3 / 4
}

// WinDelay is the time from a Create to the report of the win.
func WinDelay(ttl time.Duration) time.Duration {
	return Interval(ttl) + grace
}

// Campaign tries to win and keep the key until the context ends.
func Campaign(ctx context.Context, config Config) error {
	switch {
	case config.TTL <= 0:
		return fmt.Errorf("ttl %v: an election needs a bucket whose records expire", config.TTL)
	case config.Name == "":
		return fmt.Errorf("a candidate needs a name")
	}
	campaign := &campaign{Config: config}
	campaign.run(ctx)
	return nil
}

type campaign struct {
	Config
	leading  bool
	revision uint64
	// due fires when the win has to be reported; nil if there is none to report.
	due <-chan time.Time
}

func (c *campaign) run(ctx context.Context) {
	if !c.NoSplay {
		select {
		case <-time.After(rand.N(Interval(c.TTL))):
		case <-ctx.Done():
			return
		}
	}
	ticker := time.NewTicker(Interval(c.TTL))
	defer ticker.Stop()
	c.try(ctx)
	for {
		select {
		case <-ticker.C:
			c.try(ctx)
		case <-c.due:
			c.due = nil
			c.Told(Won, c.revision)
		case <-ctx.Done():
			if c.leading {
				c.lose()
			}
			return
		}
	}
}

func (c *campaign) try(ctx context.Context) {
	// The limit is the library's 5 s, scaled down if a test's TTL is shorter than the library allows.
	timeout := min(callTimeout, time.Duration(float64(callTimeout)*float64(c.TTL)/float64(shortestTTL)))
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if c.leading {
		c.renew(ctx)
	} else {
		c.acquire(ctx)
	}
}

func (c *campaign) acquire(ctx context.Context) {
	revision, err := c.Bucket.Create(ctx, c.Key, []byte(c.Name))
	if err != nil {
		c.Told(Candidate, 0)
		return
	}
	c.leading, c.revision = true, revision
	c.Told(Leading, revision)
	c.due = time.After(WinDelay(c.TTL))
}

func (c *campaign) renew(ctx context.Context) {
	revision, err := c.Bucket.Update(ctx, c.Key, []byte(c.Name), c.revision)
	if err != nil {
		c.lose()
		return
	}
	c.revision = revision
	c.Told(Leading, revision)
}

func (c *campaign) lose() {
	c.leading, c.revision, c.due = false, 0, nil
	c.Told(Lost, 0)
}
