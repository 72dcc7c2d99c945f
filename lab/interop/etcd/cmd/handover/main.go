// Command handover measures how long two candidates on etcd's own Go client take to hand an election over. Each line of
// its standard input is a number: the program hands over that many times, and prints the times of these hand-overs in
// nanoseconds as one line of JSON.
//
// A time begins with the call of Resign and ends with the return of the other's Campaign. Each candidate
// has a connection of its own.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// settled is the time between the arrival of a new waiter and the resignation. It lets the waiter's watch start: a
// server starts a watch from the present revision within 100 ms.
var settled time.Duration

type side struct {
	election *concurrency.Election
	name     string
	elected  chan error
}

func main() {
	endpoints := flag.String("endpoints", "127.0.0.1:2379", "addresses of the members, separated by commas")
	prefix := flag.String("prefix", "", "the election; a slash follows it in its keys")
	ttl := flag.Int("ttl", 15, "the lease of each session, in seconds")
	flag.DurationVar(&settled, "settled", 150*time.Millisecond, "the time between two hand-overs")
	flag.Parse()
	if err := run(strings.Split(*endpoints, ","), *prefix, *ttl); err != nil {
		fmt.Fprintln(os.Stderr, "handover:", err)
		os.Exit(1)
	}
}

func run(endpoints []string, prefix string, ttl int) error {
	ctx := context.Background()
	sides := make([]*side, 2)
	for at := range sides {
		client, err := clientv3.New(clientv3.Config{Endpoints: endpoints, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
		if err != nil {
			return err
		}
		session, err := concurrency.NewSession(client, concurrency.WithTTL(ttl))
		if err != nil {
			return err
		}
		defer func() { _ = session.Close() }()
		name := fmt.Sprintf("go-%d", at+1)
		sides[at] = &side{concurrency.NewElection(session, prefix), name, make(chan error, 1)}
	}
	leader, waiter := sides[0], sides[1]
	if err := leader.election.Campaign(ctx, leader.name); err != nil {
		return err
	}
	waiter.campaign(ctx)
	out := json.NewEncoder(os.Stdout)
	for scanner := bufio.NewScanner(os.Stdin); scanner.Scan(); {
		count, err := strconv.Atoi(scanner.Text())
		if err != nil {
			return err
		}
		times := make([]int64, 0, count)
		for range count {
			time.Sleep(settled)
			began := time.Now()
			left := make(chan error, 1)
			go func() { left <- leader.election.Resign(ctx) }()
			if err := <-waiter.elected; err != nil {
				return err
			}
			times = append(times, time.Since(began).Nanoseconds())
			if err := <-left; err != nil {
				return err
			}
			leader, waiter = waiter, leader
			waiter.campaign(ctx)
		}
		if err := out.Encode(times); err != nil {
			return err
		}
	}
	return nil
}

func (s *side) campaign(ctx context.Context) {
	go func() { s.elected <- s.election.Campaign(ctx, s.name) }()
}
