// Command candidate campaigns in an election as nats-kv-leader-elect does, and prints what happens
// as one JSON object a line:
//
//	{"t":812345678901234,"name":"go-1","event":"won","revision":7}
//
// t is the machine's suspend-aware clock in nanoseconds. On SIGTERM it stops, prints "lost" if it leads, and
// leaves the key as it is: the library never deletes.
//
// With -candidates it runs many candidates, each on a connection of its own. With -probe it also asks at that interval
// whether "won" or "lost" was reported last, and prints "led" with the time of the last question that was answered with
// yes.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/incumbent-rs/incumbent/lab/interop/go/boottime"
	"github.com/incumbent-rs/incumbent/lab/interop/go/elect"
)

// led is the event that a probe prints; the other kinds come from package elect.
const led elect.Kind = "led"

type event struct {
	T        int64      `json:"t"`
	Name     string     `json:"name"`
	Event    elect.Kind `json:"event"`
	Revision uint64     `json:"revision"`
}

// printer prints whole lines, whichever candidate they come from.
type printer struct {
	lock sync.Mutex
	out  *json.Encoder
}

func (p *printer) print(line event) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if err := p.out.Encode(line); err != nil {
		// The reader of the output has closed it.
		os.Exit(1)
	}
}

// settings are shared by all candidates.
type settings struct {
	url, bucket, key string
	ttl, probe       time.Duration
	noSplay          bool
}

func main() {
	var s settings
	flag.StringVar(&s.url, "url", nats.DefaultURL, "servers, separated by commas")
	flag.StringVar(&s.bucket, "bucket", "", "the bucket; it must exist")
	flag.StringVar(&s.key, "key", "", "the election")
	name := flag.String("name", "", "the candidate's name")
	candidates := flag.Int("candidates", 1, "how many; if several, a hyphen and a number follow the name")
	flag.DurationVar(&s.ttl, "ttl", 0, "the lease; 0 for the bucket's own")
	flag.BoolVar(&s.noSplay, "no-splay", false, "start the first attempt at once")
	flag.DurationVar(&s.probe, "probe", 0, "the interval at which it is asked whether it leads; 0 for never")
	flag.Parse()

	names := []string{*name}
	if *candidates > 1 {
		names = nil
		for number := range *candidates {
			names = append(names, fmt.Sprintf("%s-%d", *name, number+1))
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	out := &printer{out: json.NewEncoder(os.Stdout)}
	failed := make(chan error, len(names))
	var running sync.WaitGroup
	for _, name := range names {
		running.Go(func() {
			if err := s.run(ctx, name, out); err != nil {
				failed <- err
				stop()
			}
		})
	}
	running.Wait()
	select {
	case err := <-failed:
		fmt.Fprintln(os.Stderr, "candidate:", err)
		os.Exit(1)
	default:
	}
}

func (s settings) run(ctx context.Context, name string, out *printer) error {
	connection, err := nats.Connect(s.url, nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", s.url, err)
	}
	defer connection.Close()
	js, err := jetstream.New(connection)
	if err != nil {
		return err
	}
	seats, err := js.KeyValue(ctx, s.bucket)
	if err != nil {
		return fmt.Errorf("bucket %q: %w", s.bucket, err)
	}
	ttl := s.ttl
	if ttl == 0 {
		status, err := seats.Status(ctx)
		if err != nil {
			return fmt.Errorf("bucket %q: %w", s.bucket, err)
		}
		ttl = status.TTL()
	}
	var leads atomic.Bool
	if s.probe > 0 {
		go ask(ctx, s.probe, leads.Load, func(at int64) { out.print(event{at, name, led, 0}) })
	}
	return elect.Campaign(ctx, elect.Config{
		Bucket:  seats,
		Key:     s.key,
		Name:    name,
		TTL:     ttl,
		NoSplay: s.noSplay,
		Told: func(kind elect.Kind, revision uint64) {
			switch kind {
			case elect.Won:
				leads.Store(true)
			case elect.Lost:
				leads.Store(false)
			}
			out.print(event{boottime.Now(), name, kind, revision})
		},
	})
}

// ask asks repeatedly whether a candidate leads. When a no follows a yes, it reports the time of the last yes. The
// clock is read before each question, so the answer is at least as recent as the reported time, however long the
// program was stopped between reading and asking.
func ask(ctx context.Context, interval time.Duration, leads func() bool, report func(last int64)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var last int64
	for {
		at := boottime.Now()
		if leads() {
			last = at
		} else if last != 0 {
			report(last)
			last = 0
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
