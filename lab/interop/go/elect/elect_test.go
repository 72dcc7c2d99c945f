package elect_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/incumbent-rs/incumbent/lab/interop/go/elect"
	"github.com/incumbent-rs/incumbent/lab/interop/go/internal/natstest"
)

// The TTL in tests: far below the library's 30 s, but long enough for a busy machine.
const ttl = 2 * time.Second

// Long enough for a crash to be noticed (1 TTL), the next attempt (0.75 TTL) and the win delay (0.75 TTL).
const failOver = 4*ttl + natstest.Timeout

type told struct {
	at       time.Time
	name     string
	kind     elect.Kind
	revision uint64
}

// history has the events of all candidates of a test, in order.
type history struct {
	mutex  sync.Mutex
	events []told
}

func (h *history) add(event told) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	event.at = time.Now()
	h.events = append(h.events, event)
}

func (h *history) all() []told {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return slices.Clone(h.events)
}

// first finds the first event of a kind from the named candidate, or from any candidate if name is empty.
func (h *history) first(name string, kind elect.Kind) *told {
	for _, event := range h.all() {
		if event.kind == kind && (name == "" || event.name == name) {
			return &event
		}
	}
	return nil
}

// await waits for an event of a kind.
func (h *history) await(t *testing.T, name string, kind elect.Kind) told {
	t.Helper()
	natstest.Until(t, fmt.Sprintf("%s of %q", kind, name), failOver, func() bool {
		return h.first(name, kind) != nil
	})
	return *h.first(name, kind)
}

func (h *history) campaign(t *testing.T, bucket jetstream.KeyValue, name string) context.CancelFunc {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	stop := func() { cancel(); <-done }
	t.Cleanup(stop)
	config := elect.Config{
		Bucket: bucket, Key: "seat", Name: name, TTL: ttl, NoSplay: true,
		Told: func(kind elect.Kind, revision uint64) { h.add(told{name: name, kind: kind, revision: revision}) },
	}
	go func() {
		defer close(done)
		if err := elect.Campaign(ctx, config); err != nil {
			t.Error(err)
		}
	}()
	return stop
}

func TestTheKeyHoldsTheBareNameAndIsRenewed(t *testing.T) {
	natstest.OnEach(t, func(t *testing.T, server *natstest.Server) {
		bucket, history := server.Bucket(t, ttl), &history{}
		history.campaign(t, bucket, "go-1")
		first := history.await(t, "go-1", elect.Leading)

		var entry jetstream.KeyValueEntry
		natstest.Until(t, "a renewal", failOver, func() bool {
			var err error
			entry, err = bucket.Get(t.Context(), "seat")
			return err == nil && entry.Revision() > first.revision
		})
		if string(entry.Value()) != "go-1" {
			t.Errorf("the value is %q", entry.Value())
		}
	})
}

func TestAWinIsToldNoSoonerThanThreeQuartersOfTheTTLAndFiftyMillisecondsLater(t *testing.T) {
	natstest.OnEach(t, func(t *testing.T, server *natstest.Server) {
		bucket, history := server.Bucket(t, ttl), &history{}
		history.campaign(t, bucket, "go-1")
		won := history.await(t, "go-1", elect.Won)
		took := won.at.Sub(history.first("go-1", elect.Leading).at)
		if least := ttl*3/4 + 50*time.Millisecond; took < least {
			t.Errorf("reported after %v, not %v", took, least)
		}
	})
}

func TestAnUpdateThatFailsIsALossAndTheCandidateGoesOn(t *testing.T) {
	natstest.OnEach(t, func(t *testing.T, server *natstest.Server) {
		bucket, history := server.Bucket(t, ttl), &history{}
		history.campaign(t, bucket, "go-1")
		history.await(t, "go-1", elect.Won)
		if _, err := bucket.Put(t.Context(), "seat", []byte("intruder")); err != nil {
			t.Fatal(err)
		}
		lost := history.await(t, "go-1", elect.Lost)
		natstest.Until(t, "a second win", failOver, func() bool {
			return slices.ContainsFunc(history.all(), func(event told) bool {
				return event.kind == elect.Won && event.at.After(lost.at)
			})
		})
	})
}

func TestALeaderThatStopsDeletesNothingAndIsFollowedAfterItsLease(t *testing.T) {
	natstest.OnEach(t, func(t *testing.T, server *natstest.Server) {
		bucket, history := server.Bucket(t, ttl), &history{}
		stop := history.campaign(t, bucket, "go-1")
		history.await(t, "go-1", elect.Won)
		history.campaign(t, bucket, "go-2")
		history.await(t, "go-2", elect.Candidate)
		stop()

		entry, err := bucket.Get(t.Context(), "seat")
		if err != nil || string(entry.Value()) != "go-1" {
			t.Errorf("after the stop the key holds %v, %v", entry, err)
		}
		lost, won := history.first("go-1", elect.Lost), history.await(t, "go-2", elect.Won)
		if !won.at.After(lost.at) {
			t.Errorf("go-2 won at %v, go-1 lost at %v", won.at, lost.at)
		}
	})
}

func TestTenCandidatesNeverHaveTwoLeaders(t *testing.T) {
	natstest.OnEach(t, func(t *testing.T, server *natstest.Server) {
		bucket, history := server.Bucket(t, ttl), &history{}
		stops := map[string]context.CancelFunc{}
		for at := range 10 {
			name := fmt.Sprintf("go-%d", at)
			stops[name] = history.campaign(t, bucket, name)
		}
		first := history.await(t, "", elect.Won)
		stops[first.name]()
		natstest.Until(t, "a second leader", failOver, func() bool {
			return slices.ContainsFunc(history.all(), func(event told) bool {
				return event.kind == elect.Won && event.name != first.name
			})
		})

		leader := ""
		for _, event := range history.all() {
			switch {
			case event.kind == elect.Won && leader != "":
				t.Errorf("%s won while %s led", event.name, leader)
			case event.kind == elect.Won:
				leader = event.name
			case event.kind == elect.Lost && event.name == leader:
				leader = ""
			}
		}
	})
}

func TestALeaderOverwrittenBeforeItIsToldIsNeverTold(t *testing.T) {
	natstest.OnEach(t, func(t *testing.T, server *natstest.Server) {
		bucket, history := server.Bucket(t, ttl), &history{}
		history.campaign(t, bucket, "go-1")
		leading := history.await(t, "go-1", elect.Leading)
		if _, err := bucket.Put(t.Context(), "seat", []byte("intruder")); err != nil {
			t.Fatal(err)
		}
		history.await(t, "go-1", elect.Lost)
		for _, event := range history.all() {
			if event.kind == elect.Won {
				t.Errorf("reported %v after its key had gone", event.at.Sub(leading.at))
			}
		}
	})
}

// release writes the same record as incumbent on a release: a tombstone of the kind PURGE, without a rollup, and with
// headers that the client does not know.
func release(t *testing.T, server *natstest.Server, expect uint64) uint64 {
	t.Helper()
	tombstone := nats.NewMsg("$KV.seats.seat")
	tombstone.Header.Set("KV-Operation", "PURGE")
	tombstone.Header.Set("Incumbent-Nonce", "0000000000000000000000000000feed.7")
	tombstone.Header.Set("Incumbent-Release", "0 1700000000000000000")
	tombstone.Header.Set("Incumbent-Successor", "rust-2")
	ack, err := server.JetStream.PublishMsg(t.Context(), tombstone, jetstream.WithExpectLastSequencePerSubject(expect))
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}

// live writes the same record as incumbent while it leads.
func live(t *testing.T, server *natstest.Server, expect uint64) uint64 {
	t.Helper()
	record := nats.NewMsg("$KV.seats.seat")
	record.Data = []byte("rust-1")
	record.Header.Set("Incumbent-Nonce", "0000000000000000000000000000feed.6")
	record.Header.Set("Incumbent-Lease", "2000")
	record.Header.Set("Incumbent-Meta-Host", "db-1:80")
	ack, err := server.JetStream.PublishMsg(t.Context(), record, jetstream.WithExpectLastSequencePerSubject(expect))
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}

func TestARecordWithHeadersIsTheSeatOfItsHolder(t *testing.T) {
	natstest.OnEach(t, func(t *testing.T, server *natstest.Server) {
		bucket := server.Bucket(t, time.Hour)
		revision := live(t, server, 0)
		if _, err := bucket.Create(t.Context(), "seat", []byte("go-1")); err == nil {
			t.Error("Create overwrote a live record")
		}
		entry, err := bucket.Get(t.Context(), "seat")
		if err != nil {
			t.Fatal(err)
		}
		if entry.Revision() != revision || string(entry.Value()) != "rust-1" {
			t.Errorf("the key holds %q at %d", entry.Value(), entry.Revision())
		}
	})
}

func TestAReleaseIsAnEmptySeatAndCanBeTakenAtOnce(t *testing.T) {
	natstest.OnEach(t, func(t *testing.T, server *natstest.Server) {
		bucket := server.Bucket(t, time.Hour)
		released := release(t, server, live(t, server, 0))
		if _, err := bucket.Get(t.Context(), "seat"); err != jetstream.ErrKeyNotFound {
			t.Errorf("Get over a release: %v", err)
		}
		revision, err := bucket.Create(t.Context(), "seat", []byte("go-1"))
		if err != nil || revision != released+1 {
			t.Errorf("Create over a release: revision %d, %v", revision, err)
		}
	})
}
