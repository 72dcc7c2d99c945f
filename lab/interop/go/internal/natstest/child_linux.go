package natstest

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// dieWithParent makes the kernel kill the child when the thread that started the child ends.
func dieWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

type order struct {
	command *exec.Cmd
	started chan error
}

var nursery = sync.OnceValue(func() chan<- order {
	orders := make(chan order)
	go func() {
		// Starts children from a locked thread, which lives as long as the process; other threads may end earlier.
		runtime.LockOSThread()
		for order := range orders {
			order.started <- order.command.Start()
		}
	}()
	return orders
})

func spawn(command *exec.Cmd) error {
	order := order{command, make(chan error, 1)}
	nursery() <- order
	return <-order.started
}
