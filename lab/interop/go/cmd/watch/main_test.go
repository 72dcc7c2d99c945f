package main

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/incumbent-rs/incumbent/lab/interop/go/internal/natstest"
)

func TestEachOperationIsNamed(t *testing.T) {
	natstest.OnEach(t, func(t *testing.T, server *natstest.Server) {
		bucket := server.Bucket(t, time.Hour)
		watcher, err := bucket.Watch(t.Context(), "seat")
		if err != nil {
			t.Fatal(err)
		}
		steps := []struct {
			do   func() error
			want line
		}{
			{func() error { return nil }, line{Event: "current"}},
			{
				func() error { _, err := bucket.Create(t.Context(), "seat", []byte("go-1")); return err },
				line{Event: "update", Key: "seat", Operation: "put", Revision: 1, Value: "go-1"},
			},
			{
				func() error { return bucket.Delete(t.Context(), "seat") },
				line{Event: "update", Key: "seat", Operation: "delete", Revision: 2},
			},
			{
				func() error { return bucket.Purge(t.Context(), "seat") },
				line{Event: "update", Key: "seat", Operation: "purge", Revision: 3},
			},
		}
		for _, step := range steps {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			if got := next(t, watcher); got != step.want {
				t.Errorf("got %+v, want %+v", got, step.want)
			}
		}
	})
}

func next(t *testing.T, watcher jetstream.KeyWatcher) line {
	t.Helper()
	select {
	case entry := <-watcher.Updates():
		got := described(entry)
		got.T = 0
		return got
	case <-time.After(natstest.Timeout):
		t.Fatal("the watcher is silent")
		return line{}
	}
}
