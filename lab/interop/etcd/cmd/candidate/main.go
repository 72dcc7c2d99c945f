// Command candidate takes part in an election with etcd's own Go client, and prints what happens as
// one JSON object a line:
//
//	{"t":812345678901234,"wall":1767225600000000000,"name":"go-1","event":"elected","key":"jobs/694d71ddd4a2c9cb","revision":7}
//
// t is the machine's suspend-aware clock in nanoseconds, wall the Unix time in nanoseconds. It reads
// commands from its standard input, a line each: "resign", "campaign", "proclaim NAME", "leader", and
// "close", which revokes its lease and ends the program. The end of its input does the same.
//
// With -probe it also asks at that interval whether it leads, that is, whether its session still exists, and prints
// "led" with the time of the last question that was answered with yes.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/incumbent-rs/incumbent/lab/interop/etcd/boottime"
)

// event is one line of the output.
type event struct {
	T        int64  `json:"t"`
	Wall     int64  `json:"wall"`
	Name     string `json:"name"`
	Event    string `json:"event"`
	Key      string `json:"key,omitempty"`
	Revision int64  `json:"revision,omitempty"`
	Leader   string `json:"leader,omitempty"`
	Error    string `json:"error,omitempty"`
}

// printer prints whole lines, whichever goroutine they come from.
type printer struct {
	name string
	lock sync.Mutex
	out  *json.Encoder
}

func (p *printer) print(line event) {
	p.lock.Lock()
	defer p.lock.Unlock()
	line.T = boottime.Now()
	p.encode(line)
}

// printAt prints a line about an event at an earlier time.
func (p *printer) printAt(at int64, line event) {
	p.lock.Lock()
	defer p.lock.Unlock()
	line.T = at
	p.encode(line)
}

func (p *printer) encode(line event) {
	line.Name, line.Wall = p.name, time.Now().UnixNano()
	if err := p.out.Encode(line); err != nil {
		// The reader of the output is gone.
		os.Exit(1)
	}
}

func main() {
	endpoints := flag.String("endpoints", "127.0.0.1:2379", "addresses of the members, separated by commas")
	prefix := flag.String("prefix", "", "the election; a slash follows it in its keys")
	name := flag.String("name", "", "the value of the candidate's key")
	ttl := flag.Int("ttl", 5, "the lease of the session, in seconds")
	observe := flag.Bool("observe", false, "observe the election without taking part in it")
	probe := flag.Duration("probe", 0, "the interval at which it is asked whether it leads; 0 for never")
	flag.Parse()

	client, err := clientv3.New(clientv3.Config{
		Endpoints:   strings.Split(*endpoints, ","),
		DialTimeout: 10 * time.Second,
		Logger:      zap.NewNop(),
	})
	if err == nil {
		out := &printer{name: *name, out: json.NewEncoder(os.Stdout)}
		if *observe {
			err = watch(client, *prefix, out)
		} else {
			err = take(client, *prefix, *ttl, *probe, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "candidate:", err)
		os.Exit(1)
	}
}

// take takes part until the session is lost or closed.
func take(client *clientv3.Client, prefix string, ttl int, probe time.Duration, out *printer) error {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
	if err != nil {
		return fmt.Errorf("session: %w", err)
	}
	election := concurrency.NewElection(session, prefix)
	ctx, cancel := context.WithCancel(context.Background())
	var probing sync.WaitGroup
	// The probe prints its last line before the program ends.
	defer func() {
		cancel()
		probing.Wait()
	}()
	lines := commands()
	elected := make(chan error, 1)
	campaigning := false
	campaign := func() {
		campaigning = true
		out.print(event{Event: "campaigning"})
		go func() { elected <- election.Campaign(ctx, out.name) }()
	}
	campaign()
	for {
		select {
		case <-session.Done():
			out.print(event{Event: "session lost"})
			return nil
		case err := <-elected:
			campaigning = false
			select {
			case <-session.Done():
				// Campaign does not check its session, so a win after the session was lost does not count.
				continue
			default:
			}
			if err != nil {
				return fmt.Errorf("campaign: %w", err)
			}
			out.print(event{Event: "elected", Key: election.Key(), Revision: election.Rev()})
			if probe > 0 {
				probing.Go(func() { out.printAt(untilLost(ctx, session, probe), event{Event: "led"}) })
			}
		case line, open := <-lines:
			word, rest, _ := strings.Cut(line, " ")
			switch {
			case !open || word == "close":
				out.print(event{Event: "closing"})
				cancel()
				if err := session.Close(); err != nil {
					return fmt.Errorf("close: %w", err)
				}
				out.print(event{Event: "closed"})
				return nil
			case word == "resign":
				out.print(event{Event: "resigning"})
				if err := election.Resign(ctx); err != nil {
					return fmt.Errorf("resign: %w", err)
				}
				out.print(event{Event: "resigned"})
			case word == "campaign" && !campaigning:
				campaign()
			case word == "proclaim":
				if err := election.Proclaim(ctx, rest); err != nil {
					return fmt.Errorf("proclaim: %w", err)
				}
				out.print(event{Event: "proclaimed", Leader: rest})
			case word == "leader":
				leader(ctx, election, out)
			default:
				return fmt.Errorf("not a command: %q", line)
			}
		}
	}
}

// untilLost asks repeatedly until the session is lost, and returns the time of the last question after which it was
// not. The clock is read before each question, so the answer is at least as recent as the reported time, however long
// the program was stopped between reading and asking.
func untilLost(ctx context.Context, session *concurrency.Session, interval time.Duration) int64 {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	last := boottime.Now()
	for {
		at := boottime.Now()
		select {
		case <-session.Done():
			return last
		default:
			last = at
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return last
		}
	}
}

// watch prints every leader that Observe reports.
func watch(client *clientv3.Client, prefix string, out *printer) error {
	session, err := concurrency.NewSession(client)
	if err != nil {
		return fmt.Errorf("session: %w", err)
	}
	defer func() { _ = session.Close() }()
	election := concurrency.NewElection(session, prefix)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	observed, lines := election.Observe(ctx), commands()
	out.print(event{Event: "observing"})
	for {
		select {
		case seen, open := <-observed:
			if !open {
				return errors.New("the observation ended")
			}
			first := seen.Kvs[0]
			out.print(event{Event: "observed", Leader: string(first.Value), Key: string(first.Key), Revision: first.CreateRevision})
		case line, open := <-lines:
			if !open || line == "close" {
				return nil
			}
			leader(ctx, election, out)
		}
	}
}

// leader prints the answer of Leader.
func leader(ctx context.Context, election *concurrency.Election, out *printer) {
	found, err := election.Leader(ctx)
	if err != nil {
		out.print(event{Event: "leader", Error: err.Error()})
		return
	}
	first := found.Kvs[0]
	out.print(event{Event: "leader", Leader: string(first.Value), Key: string(first.Key), Revision: first.CreateRevision})
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
