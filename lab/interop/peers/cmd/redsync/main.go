// Command redsync competes for a redlock-style lock on one Redis server, with the module redsync on the client
// go-redis, and extends the lock in the background, three times in the lock's expiry time. Package candidate describes
// its output and its commands.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/incumbent-rs/incumbent/lab/interop/peers/candidate"
)

func main() {
	address := flag.String("address", "127.0.0.1:6379", "the server")
	key := flag.String("key", "", "the key of the lock")
	name := flag.String("name", "", "the candidate's name")
	expiry := flag.Duration("expiry", 8*time.Second, "the lock's expiry; the module's default is 8s")
	retry := flag.Duration("retry", 0, "the time between two attempts; 0 is the module's default, 50 to 250 ms at random")
	probe := flag.Duration("probe", 0, "the interval at which it is asked whether the lock is held; 0 for never")
	flag.Parse()

	options := []redsync.Option{redsync.WithExpiry(*expiry)}
	if *retry > 0 {
		options = append(options, redsync.WithRetryDelay(*retry))
	}
	client := redis.NewClient(&redis.Options{Addr: *address})
	mutex := redsync.New(goredis.NewPool(client)).NewMutex(*key, options...)
	if err := candidate.Run(*name, &lock{mutex: mutex, expiry: *expiry}, *probe); err != nil {
		fmt.Fprintln(os.Stderr, "redsync:", err)
		os.Exit(1)
	}
}

type lock struct {
	mutex  *redsync.Mutex
	expiry time.Duration
	// until is the end of the lock's validity, as the module last reported it. The module's own field may not be read
	// while the module extends the lock.
	until atomic.Pointer[time.Time]
	// stop ends the extensions of the lock that is held, and ended follows their end.
	stop  context.CancelFunc
	ended chan struct{}
	lost  chan struct{}
}

func (l *lock) Acquire(ctx context.Context) error {
	// An error means that the lock is still taken after 32 attempts, the default, or that the server is not reachable.
	for l.mutex.LockContext(ctx) != nil {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	l.validUntil()
	extending, stop := context.WithCancel(ctx)
	l.stop, l.ended, l.lost = stop, make(chan struct{}), make(chan struct{})
	go l.extend(extending, l.ended, l.lost)
	return nil
}

func (l *lock) extend(ctx context.Context, ended, lost chan struct{}) {
	defer close(ended)
	ticker := time.NewTicker(l.expiry / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			// A failed attempt is repeated at the next tick, as long as the lock is valid.
			ok, _ := l.mutex.ExtendContext(ctx)
			if ok {
				l.validUntil()
			} else if ctx.Err() == nil && !l.Held() {
				close(lost)
				return
			}
		}
	}
}

func (l *lock) Release(ctx context.Context) error {
	l.stop()
	<-l.ended
	_, err := l.mutex.UnlockContext(ctx)
	return err
}

func (l *lock) validUntil() {
	until := l.mutex.Until()
	l.until.Store(&until)
}

// Held compares the clock with the end of the lock's validity.
func (l *lock) Held() bool { return time.Now().Before(*l.until.Load()) }

func (l *lock) Lost() <-chan struct{} { return l.lost }
