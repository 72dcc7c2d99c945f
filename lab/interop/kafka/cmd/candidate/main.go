// Command candidate takes part in a NELI group by the rules that goNELI publishes, on Confluent's Go client. It prints
// what happens as one JSON object a line:
//
//	{"t":812345678901234,"wall":1767225600000000000,"name":"go-1","event":"acquired"}
//
// t is the machine's suspend-aware clock in nanoseconds, wall the Unix time in nanoseconds. The candidate closes on
// SIGTERM, at the end of its standard input, and on the line "close" there. The line "busy" blocks its task, and so its
// polls, until the next line.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/confluentinc/confluent-kafka-go/kafka"

	"github.com/incumbent-rs/incumbent/lab/interop/kafka/boottime"
)

// The defaults of goNELI.
const (
	minPollInterval = 100 * time.Millisecond
	pollDuration    = time.Millisecond
	closeTimeout    = 10 * time.Second
)

// settings are a list of client settings, each NAME=VALUE.
type settings []string

func (s *settings) String() string { return strings.Join(*s, " ") }

func (s *settings) Set(setting string) error {
	if !strings.Contains(setting, "=") {
		return fmt.Errorf("%q is not NAME=VALUE", setting)
	}
	*s = append(*s, setting)
	return nil
}

// candidate has goNELI's state: whether it owns partition zero, and whether it counts as the leader.
type candidate struct {
	name     string
	topic    string
	timeout  time.Duration
	consumer *kafka.Consumer
	producer *kafka.Producer
	assigned bool
	leader   bool
	received time.Time
	lock     sync.Mutex
	out      *json.Encoder
}

type event struct {
	T     int64  `json:"t"`
	Wall  int64  `json:"wall"`
	Name  string `json:"name"`
	Event string `json:"event"`
	Value string `json:"value,omitempty"`
	Error string `json:"error,omitempty"`
}

func (c *candidate) print(line event) {
	c.lock.Lock()
	defer c.lock.Unlock()
	line.Name, line.T, line.Wall = c.name, boottime.Now(), time.Now().UnixNano()
	if err := c.out.Encode(line); err != nil {
		// The reader of the output has closed it.
		os.Exit(1)
	}
}

func main() {
	servers := flag.String("servers", "127.0.0.1:9092", "addresses of brokers, separated by commas")
	group := flag.String("group", "", "the leader group")
	topic := flag.String("topic", "", "the leader topic; by default the group followed by .neli")
	name := flag.String("name", "", "the name in its heartbeats")
	timeout := flag.Duration("timeout", 5*time.Second, "how long it leads without receiving a heartbeat")
	var more settings
	flag.Var(&more, "set", "a further setting of the client, NAME=VALUE; may be repeated")
	flag.Parse()
	if *topic == "" {
		*topic = *group + ".neli"
	}
	c := &candidate{name: *name, topic: *topic, timeout: *timeout, out: json.NewEncoder(os.Stdout)}
	if err := c.run(*servers, *group, more); err != nil {
		c.print(event{Event: "failed", Error: err.Error()})
		os.Exit(1)
	}
}

func (c *candidate) run(servers, group string, more settings) error {
	config := func(own kafka.ConfigMap) (*kafka.ConfigMap, error) {
		all := kafka.ConfigMap{"bootstrap.servers": servers}
		for _, setting := range more {
			if err := all.Set(setting); err != nil {
				return nil, err
			}
		}
		for key, value := range own {
			all[key] = value
		}
		return &all, nil
	}
	consuming, err := config(kafka.ConfigMap{
		"group.id":           group,
		"enable.auto.commit": false,
		"session.timeout.ms": int(c.timeout.Milliseconds()) * 3,
	})
	if err != nil {
		return err
	}
	producing, err := config(kafka.ConfigMap{
		"delivery.timeout.ms": int(c.timeout.Milliseconds()),
		"linger.ms":           0,
	})
	if err != nil {
		return err
	}
	if c.consumer, err = kafka.NewConsumer(consuming); err != nil {
		return fmt.Errorf("consumer: %w", err)
	}
	if err = c.consumer.Subscribe(c.topic, c.rebalanced); err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	if c.producer, err = kafka.NewProducer(producing); err != nil {
		return fmt.Errorf("producer: %w", err)
	}
	go func() {
		for delivered := range c.producer.Events() {
			if message, ok := delivered.(*kafka.Message); ok && message.TopicPartition.Error != nil {
				c.print(event{Event: "undelivered", Error: message.TopicPartition.Error.Error()})
			}
		}
	}()
	_, version := kafka.LibraryVersion()
	c.print(event{Event: "live", Value: "librdkafka " + version})
	orders := orders()
	// Each pulse is due a whole interval after the previous one began, like goNELI's deadline.
	for next := time.NewTimer(minPollInterval); ; {
		select {
		case order := <-orders:
			if order == "busy" {
				c.print(event{Event: "busy"})
				if <-orders != "close" {
					c.print(event{Event: "idle"})
					continue
				}
			}
			c.close()
			return nil
		case <-next.C:
			next.Reset(minPollInterval)
			c.pulse()
		}
	}
}

// pulse polls until there is nothing more to receive, updates the candidate's leadership, and sends a heartbeat if the
// candidate is the owner.
func (c *candidate) pulse() {
	received := false
	for {
		message, err := c.consumer.ReadMessage(pollDuration)
		if err == nil {
			received = message != nil
			continue
		}
		failure, ok := err.(kafka.Error)
		if !ok || failure.Code() != kafka.ErrTimedOut {
			received = false
			what := "error"
			if ok && failure.IsFatal() {
				what = "fatal"
			}
			c.print(event{Event: what, Error: err.Error()})
		}
		break
	}
	if !c.assigned {
		return
	}
	switch {
	case received:
		c.received = time.Now()
		if !c.leader {
			c.leader = true
			c.print(event{Event: "acquired", Value: "heartbeat"})
		} else {
			c.print(event{Event: "received"})
		}
	case c.leader && time.Since(c.received) > c.timeout:
		c.leader = false
		c.print(event{Event: "fenced"})
	}
	err := c.producer.Produce(&kafka.Message{
		TopicPartition: kafka.TopicPartition{Topic: &c.topic, Partition: 0},
		Value:          fmt.Appendf(nil, "%d%%%s", time.Now().UnixNano(), c.name),
	}, nil)
	if err != nil {
		c.print(event{Event: "error", Error: err.Error()})
	}
}

// rebalanced runs within ReadMessage and Close: the owner of partition zero counts as the leader at once.
func (c *candidate) rebalanced(_ *kafka.Consumer, change kafka.Event) error {
	switch change := change.(type) {
	case kafka.AssignedPartitions:
		if zero(change.Partitions) {
			c.assigned, c.leader, c.received = true, true, time.Now()
			c.print(event{Event: "acquired", Value: "assigned"})
		}
	case kafka.RevokedPartitions:
		if zero(change.Partitions) {
			c.assigned, c.leader = false, false
			c.print(event{Event: "revoked"})
		}
	}
	return nil
}

func zero(partitions []kafka.TopicPartition) bool {
	for _, partition := range partitions {
		if partition.Partition == 0 {
			return true
		}
	}
	return false
}

// close gives each client 10 s, and then abandons it.
func (c *candidate) close() {
	c.print(event{Event: "closing"})
	for _, end := range []func(){c.producer.Close, func() { _ = c.consumer.Close() }} {
		ended := make(chan struct{})
		go func() {
			end()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(closeTimeout):
		}
	}
	c.print(event{Event: "closed"})
}

func orders() <-chan string {
	orders := make(chan string)
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			orders <- lines.Text()
		}
		orders <- "close"
	}()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		orders <- "close"
	}()
	return orders
}
