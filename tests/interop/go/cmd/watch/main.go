// Command watch prints what the official client's watcher sees of a key, one JSON object a line:
//
//	{"t":812345678901234,"event":"update","key":"seat","operation":"put","revision":7,"value":"go-1"}
//
// The operation is put, delete or purge. The initial values are followed by a line whose event is "current".
// t is the machine's suspend-aware clock in nanoseconds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/incumbent-rs/incumbent/tests/interop/go/boottime"
)

type line struct {
	T         int64  `json:"t"`
	Event     string `json:"event"`
	Key       string `json:"key,omitempty"`
	Operation string `json:"operation,omitempty"`
	Revision  uint64 `json:"revision,omitempty"`
	Value     string `json:"value"`
}

var operations = map[jetstream.KeyValueOp]string{
	jetstream.KeyValuePut:    "put",
	jetstream.KeyValueDelete: "delete",
	jetstream.KeyValuePurge:  "purge",
}

func main() {
	url := flag.String("url", nats.DefaultURL, "servers, separated by commas")
	bucket := flag.String("bucket", "", "the bucket; it must exist")
	key := flag.String("key", ">", "the election, or a pattern")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *url, *bucket, *key); err != nil {
		fmt.Fprintln(os.Stderr, "watch:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, bucket, key string) error {
	connection, err := nats.Connect(url, nats.Name("watch"), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
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
	watcher, err := seats.Watch(ctx, key)
	if err != nil {
		return fmt.Errorf("watch %q: %w", key, err)
	}
	out := json.NewEncoder(os.Stdout)
	for {
		select {
		case entry, open := <-watcher.Updates():
			if !open {
				return stopped(ctx)
			}
			if err := out.Encode(described(entry)); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// A watcher that ends by itself has failed.
func stopped(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	return errors.New("the watcher has stopped")
}

func described(entry jetstream.KeyValueEntry) line {
	if entry == nil {
		return line{T: boottime.Now(), Event: "current"}
	}
	return line{
		T:         boottime.Now(),
		Event:     "update",
		Key:       entry.Key(),
		Operation: operations[entry.Operation()],
		Revision:  entry.Revision(),
		Value:     string(entry.Value()),
	}
}
