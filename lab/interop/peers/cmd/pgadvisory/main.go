// Command pgadvisory competes for an advisory lock of a session on PostgreSQL, by the client pgx: a candidate waits in
// the call of pg_advisory_lock. The lock has no lease: it ends with the leader's connection, and the leader notices
// that only when it uses the connection. Package candidate describes its output and its commands.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/incumbent-rs/incumbent/lab/interop/peers/candidate"
)

func main() {
	url := flag.String("url", "", "the database")
	key := flag.String("key", "", "the lock's name; its hash is the number that PostgreSQL locks")
	name := flag.String("name", "", "the candidate's name")
	probe := flag.Duration("probe", 0, "the interval at which it is asked whether the lock is held; 0 for never")
	flag.Parse()
	if err := run(*url, *key, *name, *probe); err != nil {
		fmt.Fprintln(os.Stderr, "pgadvisory:", err)
		os.Exit(1)
	}
}

func run(url, key, name string, probe time.Duration) error {
	connection, err := pgx.Connect(context.Background(), url)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close(context.Background()) }()
	return candidate.Run(name, &lock{connection, key}, probe)
}

type lock struct {
	connection *pgx.Conn
	key        string
}

func (l *lock) Acquire(ctx context.Context) error {
	_, err := l.connection.Exec(ctx, "select pg_advisory_lock(hashtextextended($1, 0))", l.key)
	return err
}

func (l *lock) Release(ctx context.Context) error {
	var held bool
	row := l.connection.QueryRow(ctx, "select pg_advisory_unlock(hashtextextended($1, 0))", l.key)
	if err := row.Scan(&held); err != nil {
		return err
	}
	if !held {
		return errors.New("the lock was not held")
	}
	return nil
}

// Held is always true: without a request nothing shows that the connection, and with it the lock, is lost.
func (l *lock) Held() bool { return true }

func (l *lock) Lost() <-chan struct{} { return nil }
