// Command write makes one attempt to write a key, with the official client's own Create or Update, and
// prints the outcome as one JSON object:
//
//	{"t":812345678901234,"event":"written","revision":8}
//	{"t":812345678901234,"event":"refused","revision":0,"error":"key exists"}
//
// A refusal is an answer, not a failure: the program then succeeds. t is the machine's suspend-aware clock in
// nanoseconds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/incumbent-rs/incumbent/tests/interop/go/boottime"
)

type outcome struct {
	T        int64  `json:"t"`
	Event    string `json:"event"`
	Revision uint64 `json:"revision"`
	Error    string `json:"error,omitempty"`
}

const timeout = 20 * time.Second

func main() {
	url := flag.String("url", nats.DefaultURL, "servers, separated by commas")
	bucket := flag.String("bucket", "", "the bucket; it must exist")
	key := flag.String("key", "", "the election")
	value := flag.String("value", "", "the value to write")
	revision := flag.Uint64("revision", 0, "Update this revision; 0 to Create")
	flag.Parse()

	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := run(ctx, *url, *bucket, *key, *value, *revision); err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, bucket, key, value string, revision uint64) error {
	connection, err := nats.Connect(url, nats.Name("write"))
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
	written, err := write(ctx, seats, key, value, revision)
	out := json.NewEncoder(os.Stdout)
	switch {
	case err == nil:
		return out.Encode(outcome{T: boottime.Now(), Event: "written", Revision: written})
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return out.Encode(outcome{T: boottime.Now(), Event: "refused", Error: err.Error()})
	default:
		return err
	}
}

func write(ctx context.Context, seats jetstream.KeyValue, key, value string, revision uint64) (uint64, error) {
	if revision == 0 {
		return seats.Create(ctx, key, []byte(value))
	}
	return seats.Update(ctx, key, []byte(value), revision)
}
