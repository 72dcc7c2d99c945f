// Command candidate campaigns in an election as nats-kv-leader-elect does, and prints what happens
// as one JSON object a line:
//
//	{"t":812345678901234,"name":"go-1","event":"won","revision":7}
//
// t is the machine's suspend-aware clock in nanoseconds. On SIGTERM it stops, says "lost" if it
// leads, and leaves the key as it is: the library never deletes.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/incumbent-rs/incumbent/tests/interop/go/boottime"
	"github.com/incumbent-rs/incumbent/tests/interop/go/elect"
)

type event struct {
	T        int64      `json:"t"`
	Name     string     `json:"name"`
	Event    elect.Kind `json:"event"`
	Revision uint64     `json:"revision"`
}

func main() {
	url := flag.String("url", nats.DefaultURL, "servers, separated by commas")
	bucket := flag.String("bucket", "", "the bucket; it must exist")
	key := flag.String("key", "", "the election")
	name := flag.String("name", "", "the candidate's name")
	ttl := flag.Duration("ttl", 0, "the lease; the bucket's own where it is 0")
	noSplay := flag.Bool("no-splay", false, "start the first attempt at once")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *url, *bucket, *key, *name, *ttl, *noSplay); err != nil {
		fmt.Fprintln(os.Stderr, "candidate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, bucket, key, name string, ttl time.Duration, noSplay bool) error {
	connection, err := nats.Connect(url, nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", url, err)
	}
	defer connection.Close()
	js, err := jetstream.New(connection)
	if err != nil {
		return err
	}
	seats, err := js.KeyValue(ctx, bucket)
	if err != nil {
		return fmt.Errorf("bucket %q: %w", bucket, err)
	}
	if ttl == 0 {
		status, err := seats.Status(ctx)
		if err != nil {
			return fmt.Errorf("bucket %q: %w", bucket, err)
		}
		ttl = status.TTL()
	}
	out := json.NewEncoder(os.Stdout)
	return elect.Campaign(ctx, elect.Config{
		Bucket:  seats,
		Key:     key,
		Name:    name,
		TTL:     ttl,
		NoSplay: noSplay,
		Told: func(kind elect.Kind, revision uint64) {
			if err := out.Encode(event{boottime.Now(), name, kind, revision}); err != nil {
				// Whoever reads us is gone.
				os.Exit(1)
			}
		},
	})
}
