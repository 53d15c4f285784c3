// Saas is a service of many users, who each have MCP servers, logins and an agent of their own. Two
// replicas of it share one PostgreSQL behind a load balancer.
//
//	cd examples/saas
//	go run .         # and open the page that it names
//	go run . -demo   # it plays two users itself, kills a replica, and ends
//
// The replicas and the keeper of the database are this program itself, started again. They end with it,
// also when it is killed. README.md says which file shows what.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// What the program is told by the environment: the secrets are not on a command line.
const (
	keyEnv      = "SAAS_KEY"      // 32 random bytes in base64, the same for all replicas
	databaseEnv = "SAAS_DATABASE" // URL of the database
	urlEnv      = "SAAS_URL"      // of the service, as browsers see it
	nameEnv     = "SAAS_REPLICA"  // name of the replica
)

func main() {
	log.SetFlags(0)
	if len(os.Args) == 2 && (os.Args[1] == "database" || os.Args[1] == "replica") {
		ctx := untilStdinEnds()
		log.SetPrefix("saas " + os.Args[1] + " " + os.Getenv(nameEnv) + ": ")
		run := runReplica
		if os.Args[1] == "database" {
			run = runDatabase
		}
		if err := run(ctx, os.Stdout); err != nil {
			log.Fatal(err)
		}
		return
	}
	addr := flag.String("addr", "127.0.0.1:0", "loopback `address` of the page")
	demo := flag.Bool("demo", false, "play the story of two users, and end")
	database := flag.String("database", os.Getenv(databaseEnv), "`URL` of a PostgreSQL that runs (default: one is started, and removed at the end)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *addr, *database, *demo); err != nil {
		stop()
		log.Fatal("saas: ", err)
	}
}

// run runs the service until ctx ends, or the story does.
func run(ctx context.Context, out io.Writer, addr, database string, demo bool) error {
	if database != "" && os.Getenv(keyEnv) == "" {
		return errors.New("a database that stays needs a key that stays: set " + keyEnv + " to the output of openssl rand -base64 32")
	}
	key := os.Getenv(keyEnv)
	if key == "" {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // never fails
		key = base64.StdEncoding.EncodeToString(secret)
	}
	if database == "" {
		keeper, err := start(ctx, "database", nil)
		if err != nil {
			return err
		}
		defer keeper.stop()
		database = keeper.said
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	var replicas []*child
	b := &balancer{}
	for _, name := range []string{"A", "B"} {
		r, err := start(ctx, "replica", []string{keyEnv + "=" + key, databaseEnv + "=" + database, urlEnv + "=" + url, nameEnv + "=" + name})
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		defer r.stop()
		replicas = append(replicas, r)
		b.addrs = append(b.addrs, r.said)
	}
	web := &http.Server{Handler: b.handler(listener.Addr().String()), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	defer func() { _ = web.Close(); <-served }()

	play, err := newPlay(!demo)
	if err != nil {
		return err
	}
	defer play.close()
	fmt.Fprintf(out, "Open %s (two replicas, one PostgreSQL)\n", url)
	if demo {
		return play.run(ctx, out, url, replicas)
	}
	fmt.Fprintf(out, "Servers to add there: %s wants a login, as anyone; %s wants none. Ctrl-C ends it all.\n", play.notes, play.clock)
	select {
	case err := <-served:
		served <- err
		return err
	case <-ctx.Done():
		return nil
	}
}

// A child is this program, started again as another process.
type child struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	said   string        // its first line
	exited chan struct{} // closed when it has
}

// start starts a child, and waits for its first line. It ends when its standard input does, which it
// also does when this process is killed.
func start(ctx context.Context, role string, env []string) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, role)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, stdin: in, exited: make(chan struct{})}
	release := context.AfterFunc(ctx, func() { _ = in.Close() })
	line, err := bufio.NewReader(out).ReadString('\n')
	c.said = strings.TrimSpace(line)
	go func() {
		defer close(c.exited)
		_ = cmd.Wait()
	}()
	if !release() || err != nil {
		c.stop()
		return nil, fmt.Errorf("the %s did not start: %w", role, errors.Join(err, ctx.Err()))
	}
	return c, nil
}

// stop has the child end, and waits for that.
func (c *child) stop() {
	_ = c.stdin.Close()
	select {
	case <-c.exited:
	case <-time.After(20 * time.Second):
		c.kill()
	}
}

// kill kills the child, as a machine that breaks down does.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	<-c.exited
}

// untilStdinEnds returns a context that ends with the process that has started this one. Signals of the
// terminal, which all processes get, are left to that one.
func untilStdinEnds() context.Context {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE) // the last: nothing reads standard output any more
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return ctx
}
