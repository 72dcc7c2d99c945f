// Package natstest runs a test on a real nats-server of every installed version.
package natstest

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Servers is the environment variable that names the programs, separated as in PATH.
const Servers = "INCUMBENT_NATS_SERVERS"

// Timeout is how long a condition that should come true at once may take on a busy machine.
const Timeout = 20 * time.Second

// Server is a running nats-server with JetStream in a temporary folder.
type Server struct {
	URL       string
	JetStream jetstream.JetStream
	// Version of the server, such as 2.15.1.
	Version string
}

// OnEach runs the test on a fresh server of every version, in parallel.
func OnEach(t *testing.T, test func(t *testing.T, server *Server)) {
	t.Helper()
	programs := programs()
	if len(programs) == 0 {
		t.Fatalf("no nats-server: run `cargo xtask tools`, or set %s to the programs' paths", Servers)
	}
	t.Parallel()
	for _, program := range programs {
		t.Run(version(t, program), func(t *testing.T) {
			t.Parallel()
			test(t, start(t, program))
		})
	}
}

// Bucket makes a bucket whose records expire after ttl.
func (s *Server) Bucket(t *testing.T, ttl time.Duration) jetstream.KeyValue {
	t.Helper()
	return s.BucketWith(t, jetstream.KeyValueConfig{Bucket: "seats", TTL: ttl, Storage: jetstream.FileStorage})
}

// BucketWith makes a bucket.
func (s *Server) BucketWith(t *testing.T, config jetstream.KeyValueConfig) jetstream.KeyValue {
	t.Helper()
	bucket, err := s.JetStream.CreateKeyValue(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return bucket
}

// Until waits until the condition holds.
func Until(t *testing.T, what string, limit time.Duration, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain: %s", limit, what)
		}
	}
}

// programs returns the servers named in the environment, or those that `cargo xtask tools` installed.
func programs() []string {
	if named := filepath.SplitList(os.Getenv(Servers)); len(named) > 0 {
		return named
	}
	_, here, _, _ := runtime.Caller(0)
	installed, _ := filepath.Glob(filepath.Join(filepath.Dir(here), "../../../../target/tools/nats-server/*/nats-server"))
	return installed
}

func version(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.Command(program, "--version").Output()
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	_, number, _ := strings.Cut(strings.TrimSpace(string(out)), ": v")
	return number
}

func start(t *testing.T, program string) *Server {
	t.Helper()
	folder := t.TempDir()
	log := filepath.Join(folder, "log")
	command := exec.Command(program, "--addr", "127.0.0.1", "--port", "-1", "--jetstream",
		"--store_dir", filepath.Join(folder, "store"), "--ports_file_dir", folder, "--log", log)
	dieWithParent(command)
	if err := spawn(command); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if text, err := os.ReadFile(log); err == nil && t.Failed() {
			t.Logf("%s\n%s", program, text)
		}
	})
	server := &Server{Version: version(t, program)}
	Until(t, "the server's port", Timeout, func() bool {
		server.URL = url(folder)
		return server.URL != ""
	})
	connection, err := nats.Connect(server.URL, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(connection.Close)
	if server.JetStream, err = jetstream.New(connection); err != nil {
		t.Fatal(err)
	}
	Until(t, "JetStream", Timeout, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := server.JetStream.AccountInfo(ctx)
		return err == nil
	})
	return server
}

// url reads the server's address from the file in which the server writes it, once the file is complete.
func url(folder string) string {
	files, _ := filepath.Glob(filepath.Join(folder, "*.ports"))
	if len(files) == 0 {
		return ""
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return ""
	}
	var ports struct{ Nats []string }
	if json.Unmarshal(text, &ports) != nil || len(ports.Nats) == 0 {
		return ""
	}
	return ports.Nats[0]
}
